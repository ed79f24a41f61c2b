//! Compiles the agent for JVMs: its sources are inside the binary, and the user's own JDK compiles
//! them once.

use std::env;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::captured_command;
use crate::process::files::{file_contains, find_program, relative};

type Sources = &'static [(&'static str, &'static str)];

macro_rules! sources {
    ($($path:literal)*) => { &[$(($path, include_str!(concat!("../../../../agents/jvm/", $path)))),*] };
}

const EXTENSION: Sources = sources!["maven/unflake/jvm/maven/SurefireHandoff.java"];
/// Types that Maven declares itself.
const STUBS: Sources = sources![
    "maven/stubs/org/apache/maven/execution/MojoExecutionEvent.java"
    "maven/stubs/org/apache/maven/execution/MojoExecutionListener.java"
    "maven/stubs/org/apache/maven/plugin/Mojo.java"
    "maven/stubs/org/apache/maven/plugin/MojoExecution.java"
    "maven/stubs/org/apache/maven/plugin/MojoExecutionException.java"
    "maven/stubs/org/apache/maven/project/MavenProject.java"
];
const COMPONENTS: &str = include_str!("../../../../agents/jvm/maven/META-INF/plexus/components.xml");
/// Takes the place of the java program that Surefire starts.
pub(crate) const JAVA: &str = include_str!("../../../../agents/jvm/maven/java.sh");

const COMMON: Sources = sources![
    "agent/unflake/jvm/Main.java"
    "agent/unflake/jvm/Premain.java"
    "agent/unflake/jvm/bytecode/CatchAllBlock.java"
    "agent/unflake/jvm/bytecode/ClassFileReader.java"
    "agent/unflake/jvm/bytecode/ClassRewriter.java"
    "agent/unflake/jvm/bytecode/CodeAttribute.java"
    "agent/unflake/jvm/bytecode/CodeLayout.java"
    "agent/unflake/jvm/bytecode/ConstantPool.java"
    "agent/unflake/jvm/bytecode/EntryInstrumenter.java"
    "agent/unflake/jvm/bytecode/ExceptionHandlers.java"
    "agent/unflake/jvm/bytecode/Instructions.java"
    "agent/unflake/jvm/bytecode/LoaderVisibility.java"
    "agent/unflake/jvm/bytecode/MethodDescriptor.java"
    "agent/unflake/jvm/bytecode/MethodInfo.java"
    "agent/unflake/jvm/bytecode/MethodInstrumenter.java"
    "agent/unflake/jvm/bytecode/StackMapFrames.java"
    "agent/unflake/jvm/bytecode/UnsupportedCodeException.java"
    "agent/unflake/jvm/isolation/ClassPathCache.java"
    "agent/unflake/jvm/isolation/IsolatedRunner.java"
    "agent/unflake/jvm/isolation/JvmDefaults.java"
    "agent/unflake/jvm/isolation/MetaspaceBudget.java"
    "agent/unflake/jvm/isolation/ProjectClassLoader.java"
    "agent/unflake/jvm/protocol/AgentError.java"
    "agent/unflake/jvm/protocol/DriverOutput.java"
    "agent/unflake/jvm/protocol/FailureDescription.java"
    "agent/unflake/jvm/protocol/Json.java"
    "agent/unflake/jvm/protocol/JsonObject.java"
    "agent/unflake/jvm/run/CapturedOutput.java"
    "agent/unflake/jvm/run/RequestedTest.java"
    "agent/unflake/jvm/run/ResultReporter.java"
    "agent/unflake/jvm/run/SurefireScanner.java"
    "agent/unflake/jvm/run/TestFramework.java"
    "agent/unflake/jvm/run/TestModule.java"
    "agent/unflake/jvm/run/TestSelection.java"
    "agent/unflake/jvm/run/UniqueNames.java"
    "agent/unflake/jvm/run/UnsupportedProjectException.java"
    "agent/unflake/jvm/util/ProcessId.java"
    "agent/unflake/jvm/util/Streams.java"
    "agent/unflake/jvm/util/ValueFormatter.java"
];
/// Reports layer facts of tests.
const LAYERS: Sources = sources![
    "agent/unflake/jvm/layers/AssertionFilter.java"
    "agent/unflake/jvm/layers/AssertionInstrumenter.java"
    "agent/unflake/jvm/layers/AssertionRecorder.java"
    "agent/unflake/jvm/layers/AssertionSite.java"
    "agent/unflake/jvm/layers/FailureCatchers.java"
    "agent/unflake/jvm/layers/LayerFile.java"
    "agent/unflake/jvm/layers/LayerRecorder.java"
    "agent/unflake/jvm/layers/RecordedValue.java"
    "agent/unflake/jvm/layers/SourceIndex.java"
    "agent/unflake/jvm/layers/TearDownInstrumenter.java"
    "agent/unflake/jvm/layers/WindowSnapshot.java"
];
/// Records the lines that tests run through.
const LINES: Sources = sources![
    "agent/unflake/jvm/trace/LineInstrumenter.java"
    "agent/unflake/jvm/trace/LineTracer.java"
    "agent/unflake/jvm/trace/MappedFile.java"
    "agent/unflake/jvm/trace/NondeterministicCalls.java"
    "agent/unflake/jvm/trace/PlaceTable.java"
    "agent/unflake/jvm/trace/ProcessTrace.java"
    "agent/unflake/jvm/trace/ThreadTrace.java"
    "agent/unflake/jvm/trace/TraceProbe.java"
    "agent/unflake/jvm/trace/TracedMethod.java"
    "agent/unflake/jvm/trace/ValueInstrumenter.java"
];
/// Names the class that a JVM calls first when the agent is its `-javaagent`.
const MANIFEST: &str = include_str!("../../../../agents/jvm/agent/MANIFEST.MF");
const PLATFORM: Sources = sources![
    "agent/unflake/jvm/platform/DescriptorProxy.java"
    "agent/unflake/jvm/platform/JUnitPlatform.java"
    "agent/unflake/jvm/platform/PlatformListener.java"
    "agent/unflake/jvm/platform/ReorderingEngine.java"
];
const STATE: Sources = sources![
    "agent/unflake/jvm/state/AccessPath.java"
    "agent/unflake/jvm/state/ContainerDiff.java"
    "agent/unflake/jvm/state/FieldAccess.java"
    "agent/unflake/jvm/state/HeapDiff.java"
    "agent/unflake/jvm/state/HeapSnapshot.java"
    "agent/unflake/jvm/state/InternalsSnapshot.java"
    "agent/unflake/jvm/state/JvmAccess.java"
    "agent/unflake/jvm/state/ObjectShape.java"
    "agent/unflake/jvm/state/ObjectSnapshot.java"
    "agent/unflake/jvm/state/OpenDescriptors.java"
    "agent/unflake/jvm/state/ProcessSettings.java"
    "agent/unflake/jvm/state/ProjectFiles.java"
    "agent/unflake/jvm/state/StateCell.java"
    "agent/unflake/jvm/state/StateProbe.java"
    "agent/unflake/jvm/state/StaticFields.java"
    "agent/unflake/jvm/state/ThreadState.java"
];
const JUPITER: Sources = sources!["agent/unflake/jvm/warmup/JupiterWarmUp.java"];
const CLASSIC: Sources = sources![
    "agent/unflake/jvm/junit4/CategoryFilter.java"
    "agent/unflake/jvm/junit4/ChildOrder.java"
    "agent/unflake/jvm/junit4/JUnit3Suites.java"
    "agent/unflake/jvm/junit4/JUnit4.java"
    "agent/unflake/jvm/junit4/JUnit4Listener.java"
    "agent/unflake/jvm/warmup/JUnit4WarmUp.java"
];
const OLDEST: Sources = sources!["agent/unflake/jvm/junit3/JUnit3.java"];

/// Compiles into a cache and reuses what is there.
pub(crate) struct AgentBuild<'a> {
    pub(crate) cache: &'a Path,
}

/// The versions of JUnit in a project.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
pub(crate) struct JunitSupport {
    pub(crate) platform: bool,
    pub(crate) jupiter: bool,
    pub(crate) classic: bool,
    /// JUnit 3 without JUnit 4.
    pub(crate) oldest: bool,
}

impl JunitSupport {
    /// Of a class path whose tests Surefire runs by this provider, or what it runs that unflake
    /// does not.
    pub(crate) fn of(provider: &str, class_path: &[String]) -> Result<Self, &'static str> {
        let has = |class: &str| class_path.iter().any(|path| file_contains(Path::new(path), &[class.as_bytes()]));
        let kind = provider.rsplit('.').nth(1).unwrap_or(provider);
        let platform = kind == "junitplatform";
        if platform && !has("org/junit/platform/launcher/core/LauncherConfig.class") {
            return Err("JUnit 5.0 to 5.2; JUnit 5.3 or later works");
        }
        let classic = has("org/junit/internal/runners/JUnit38ClassRunner.class");
        match kind {
            "junitplatform" | "junit" => {}
            "junit4" | "junitcore" if classic => {}
            "junit4" | "junitcore" => return Err("JUnit 4.0 to 4.3; JUnit 4.4 or later works"),
            "testng" | "testngprovider" => return Err("TestNG; JUnit 3, 4 and 5 work"),
            _ => return Err("this provider of Surefire; JUnit 3, 4 and 5 work"),
        }
        let jupiter = platform
            && has("org/junit/jupiter/api/Test.class")
            && has("org/junit/jupiter/engine/JupiterTestEngine.class");
        let oldest = kind == "junit" && !classic;
        Ok(Self { platform, jupiter, classic, oldest })
    }
}

impl AgentBuild<'_> {
    /// The extension that Maven loads, a directory of classes.
    pub(crate) fn extension(&self) -> Result<PathBuf, String> {
        let javac = javac(None)?;
        self.cached("maven", &[EXTENSION, STUBS], &COMPONENTS, |directory| {
            write(&directory.join("stubs"), "maven/stubs/", STUBS)?;
            let sources = write(&directory.join("sources"), "maven/", EXTENSION)?;
            let classes = directory.join("classes");
            let stubs = directory.join("stubs");
            compile(&javac, &["-implicit:none".as_ref(), "-sourcepath".as_ref(), stubs.as_ref()], &classes, &sources)?;
            let list = classes.join("META-INF/plexus/components.xml");
            put(&list, COMPONENTS)?;
            Ok(vec![list, classes.join("unflake/jvm/maven/SurefireHandoff.class")])
        })
        .map(|directory| directory.join("classes"))
    }

    /// The agent for a project with this class path, a jar.
    pub(crate) fn agent(&self, java: &Path, support: JunitSupport, class_path: &[String]) -> Result<PathBuf, String> {
        let mut parts = vec![COMMON, LAYERS, LINES, STATE];
        parts.extend(support.platform.then_some(PLATFORM));
        parts.extend(support.jupiter.then_some(JUPITER));
        parts.extend(support.classic.then_some(CLASSIC));
        parts.extend(support.oldest.then_some(OLDEST));
        let name = |path: &String| Path::new(path).file_name().map(|name| name.to_string_lossy().into_owned());
        // The versions that it is compiled against are part of its cache key.
        let against: Vec<String> = class_path
            .iter()
            .filter_map(name)
            .filter(|name| name.contains("junit") && name.ends_with(".jar"))
            .collect();
        let javac = javac(Some(java))?;
        self.cached("junit", &parts, &(MANIFEST, against), |directory| {
            let mut sources = Vec::new();
            for part in &parts {
                sources.extend(write(&directory.join("sources"), "agent/", part)?);
            }
            let classes = directory.join("classes");
            compile(&javac, &["-cp".as_ref(), class_path.join(":").as_ref()], &classes, &sources)?;
            let (jar, manifest) = (directory.join("agent.jar"), directory.join("MANIFEST.MF"));
            put(&manifest, MANIFEST)?;
            // Uncompressed: every JVM reads it at its start.
            let mut pack = Command::new(javac.with_file_name("jar"));
            run(pack.arg("c0fm").args([&jar, &manifest]).arg("-C").arg(&classes).arg("."))?;
            Ok(vec![jar])
        })
        .map(|directory| directory.join("agent.jar"))
    }

    /// The directory that `make` fills, now or earlier. `make` returns the files that matter; their
    /// checksums are verified before reuse.
    fn cached(
        &self,
        name: &str,
        parts: &[Sources],
        key: &dyn Keyed,
        make: impl FnOnce(&Path) -> Result<Vec<PathBuf>, String>,
    ) -> Result<PathBuf, String> {
        let mut hasher = DefaultHasher::new();
        parts.hash(&mut hasher);
        key.add_to(&mut hasher);
        let directory = self.cache.join("jvm").join(format!("{name}-{:016x}", hasher.finish()));
        if is_whole(&directory) {
            return Ok(directory);
        }
        let new = directory.with_extension(format!("{}", std::process::id()));
        let _ = fs::remove_dir_all(&new);
        let cannot = |error: std::io::Error| format!("{}: {error}", new.display());
        fs::create_dir_all(&new).map_err(cannot)?;
        let cached = make(&new).and_then(|files| {
            let below = files.iter().map(|file| relative(file, &new));
            let lines: Vec<String> =
                below.zip(&files).filter_map(|(name, file)| Some(format!("{:016x} {name}\n", sum(file)?))).collect();
            fs::write(new.join("sums"), lines.concat()).map_err(cannot)
        });
        if cached.is_ok() {
            let _ = fs::remove_dir_all(&directory);
            // Another process may have made the same first.
            if fs::rename(&new, &directory).is_ok() || is_whole(&directory) {
                let _ = fs::remove_dir_all(&new);
                return Ok(directory);
            }
        }
        let _ = fs::remove_dir_all(&new);
        cached.and_then(|()| Err(format!("{} cannot be written", directory.display())))
    }
}

trait Keyed {
    fn add_to(&self, hasher: &mut DefaultHasher);
}

impl<T: Hash> Keyed for T {
    fn add_to(&self, hasher: &mut DefaultHasher) {
        self.hash(hasher);
    }
}

/// Whether every file that matters is unchanged.
fn is_whole(directory: &Path) -> bool {
    let Ok(sums) = fs::read_to_string(directory.join("sums")) else { return false };
    let is_same = |line: &str| {
        line.split_once(' ')
            .is_some_and(|(hash, name)| sum(&directory.join(name)).is_some_and(|is| format!("{is:016x}") == hash))
    };
    !sums.is_empty() && sums.lines().all(is_same)
}

fn sum(file: &Path) -> Option<u64> {
    let mut hasher = DefaultHasher::new();
    fs::read(file).ok()?.hash(&mut hasher);
    Some(hasher.finish())
}

fn write(directory: &Path, prefix: &str, sources: Sources) -> Result<Vec<PathBuf>, String> {
    let one = |(name, text): &(&str, &str)| {
        let path = directory.join(name.strip_prefix(prefix).unwrap_or(name));
        put(&path, text).map(|()| path)
    };
    sources.iter().map(one).collect()
}

fn put(path: &Path, text: &str) -> Result<(), String> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(path, text))
        .map_err(|error| format!("{}: {error}", path.display()))
}

/// For every Java from 8 on.
fn compile(javac: &Path, options: &[&std::ffi::OsStr], classes: &Path, sources: &[PathBuf]) -> Result<(), String> {
    let mut command = Command::new(javac);
    command.args(["-source", "8", "-target", "8", "-encoding", "UTF-8", "-nowarn", "-Xlint:-options", "-proc:none"]);
    run(command.args(options).arg("-d").arg(classes).args(sources))
}

fn run(command: &mut Command) -> Result<(), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = captured_command::of(command).map_err(|error| format!("`{program}` cannot be started: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    Err(format!("`{program}` could not compile unflake's part for Java ({}):\n{}", output.status, stderr.trim()))
}

/// The compiler beside this java, in JAVA_HOME, or in PATH.
fn javac(java: Option<&Path>) -> Result<PathBuf, String> {
    let beside = |java: PathBuf| fs::canonicalize(java).ok().map(|java| java.with_file_name("javac"));
    let home = env::var_os("JAVA_HOME").map(|home| Path::new(&home).join("bin/javac"));
    let places = [
        java.and_then(|java| beside(java.to_owned())),
        home,
        find_program("javac"),
        find_program("java").and_then(beside),
    ];
    let found = places.into_iter().flatten().find(|path| path.is_file());
    found.ok_or_else(|| "no javac was found: unflake needs a JDK, in JAVA_HOME or in PATH".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_made_is_used_again_until_it_is_damaged() {
        let cache = tempfile::tempdir().unwrap();
        let kit = AgentBuild { cache: cache.path() };
        let cached = std::cell::Cell::new(0);
        let make = |directory: &Path| {
            cached.set(cached.get() + 1);
            let file = directory.join("it");
            fs::write(&file, "good").unwrap();
            Ok(vec![file])
        };
        let directory = kit.cached("x", &[COMMON], &1, make).unwrap();
        assert_eq!((kit.cached("x", &[COMMON], &1, make).unwrap(), cached.get()), (directory.clone(), 1));
        assert_ne!(kit.cached("x", &[COMMON], &2, make).unwrap(), directory);
        fs::write(directory.join("it"), "bad").unwrap();
        assert_eq!(kit.cached("x", &[COMMON], &1, make).unwrap(), directory);
        assert_eq!((fs::read_to_string(directory.join("it")).unwrap().as_str(), cached.get()), ("good", 3));
        assert!(kit.cached("x", &[COMMON], &3, |_| Err("no".to_owned())).is_err());
        assert_eq!(fs::read_dir(cache.path().join("jvm")).unwrap().count(), 2);
    }
}
