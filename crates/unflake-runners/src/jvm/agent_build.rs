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
    ($($path:literal)*) => { &[$(($path, include_str!(concat!("../../../../agents/junit/", $path)))),*] };
}

const EXTENSION: Sources = sources!["maven/unflake/maven/HandOver.java"];
/// Types that Maven declares itself.
const STUBS: Sources = sources![
    "maven/stubs/org/apache/maven/execution/MojoExecutionEvent.java"
    "maven/stubs/org/apache/maven/execution/MojoExecutionListener.java"
    "maven/stubs/org/apache/maven/plugin/Mojo.java"
    "maven/stubs/org/apache/maven/plugin/MojoExecution.java"
    "maven/stubs/org/apache/maven/plugin/MojoExecutionException.java"
    "maven/stubs/org/apache/maven/project/MavenProject.java"
];
const COMPONENTS: &str = include_str!("../../../../agents/junit/maven/META-INF/plexus/components.xml");
/// Takes the place of the java program that Surefire starts.
pub(crate) const JAVA: &str = include_str!("../../../../agents/junit/maven/java.sh");

const COMMON: Sources = sources![
    "agent/common/unflake/junit/Failure.java"
    "agent/common/unflake/junit/Framework.java"
    "agent/common/unflake/junit/Loader.java"
    "agent/common/unflake/junit/Loaders.java"
    "agent/common/unflake/junit/Main.java"
    "agent/common/unflake/junit/Message.java"
    "agent/common/unflake/junit/Module.java"
    "agent/common/unflake/junit/Outputs.java"
    "agent/common/unflake/junit/Premain.java"
    "agent/common/unflake/junit/Report.java"
    "agent/common/unflake/junit/Room.java"
    "agent/common/unflake/junit/Settings.java"
    "agent/common/unflake/junit/Shelf.java"
    "agent/common/unflake/junit/Wanted.java"
    "agent/common/unflake/junit/Wire.java"
];
/// Reports layer facts of tests.
const LAYERS: Sources = sources![
    "agent/layers/unflake/layers/Filter.java"
    "agent/layers/unflake/layers/Layers.java"
    "agent/layers/unflake/layers/Line.java"
    "agent/layers/unflake/layers/Names.java"
    "agent/layers/unflake/layers/Place.java"
    "agent/layers/unflake/layers/Process.java"
    "agent/layers/unflake/layers/Screen.java"
    "agent/layers/unflake/layers/Seen.java"
    "agent/layers/unflake/layers/Sheet.java"
    "agent/layers/unflake/layers/Sources.java"
    "agent/layers/unflake/layers/TearDowns.java"
    "agent/layers/unflake/layers/Value.java"
    "agent/layers/unflake/layers/Waiting.java"
    "agent/layers/unflake/layers/Watched.java"
];
/// Records the lines that tests run through.
const LINES: Sources = sources![
    "agent/lines/unflake/lines/Around.java"
    "agent/lines/unflake/lines/Beginnings.java"
    "agent/lines/unflake/lines/Bytes.java"
    "agent/lines/unflake/lines/Code.java"
    "agent/lines/unflake/lines/Frames.java"
    "agent/lines/unflake/lines/Handlers.java"
    "agent/lines/unflake/lines/Head.java"
    "agent/lines/unflake/lines/Instruction.java"
    "agent/lines/unflake/lines/Layout.java"
    "agent/lines/unflake/lines/Lines.java"
    "agent/lines/unflake/lines/Loaders.java"
    "agent/lines/unflake/lines/Method.java"
    "agent/lines/unflake/lines/Part.java"
    "agent/lines/unflake/lines/Places.java"
    "agent/lines/unflake/lines/Pool.java"
    "agent/lines/unflake/lines/Probe.java"
    "agent/lines/unflake/lines/Probes.java"
    "agent/lines/unflake/lines/Reaches.java"
    "agent/lines/unflake/lines/Refused.java"
    "agent/lines/unflake/lines/Rewriter.java"
    "agent/lines/unflake/lines/Sheet.java"
    "agent/lines/unflake/lines/Shown.java"
    "agent/lines/unflake/lines/Strand.java"
    "agent/lines/unflake/lines/Tail.java"
    "agent/lines/unflake/lines/Watch.java"
];
/// Names the class that a JVM calls first when the agent is its `-javaagent`.
const MANIFEST: &str = include_str!("../../../../agents/junit/agent/MANIFEST.MF");
const PLATFORM: Sources = sources![
    "agent/platform/unflake/junit/Follower.java"
    "agent/platform/unflake/junit/Platform.java"
    "agent/platform/unflake/junit/Shadow.java"
    "agent/platform/unflake/junit/Stage.java"
];
const STATE: Sources = sources![
    "agent/state/unflake/junit/Cell.java"
    "agent/state/unflake/junit/Contents.java"
    "agent/state/unflake/junit/Descriptors.java"
    "agent/state/unflake/junit/Differences.java"
    "agent/state/unflake/junit/Disk.java"
    "agent/state/unflake/junit/Fields.java"
    "agent/state/unflake/junit/Heap.java"
    "agent/state/unflake/junit/Kept.java"
    "agent/state/unflake/junit/Opened.java"
    "agent/state/unflake/junit/Raw.java"
    "agent/state/unflake/junit/Shapes.java"
    "agent/state/unflake/junit/State.java"
    "agent/state/unflake/junit/Statics.java"
    "agent/state/unflake/junit/Step.java"
    "agent/state/unflake/junit/Surroundings.java"
    "agent/state/unflake/junit/Threads.java"
];
const JUPITER: Sources = sources!["agent/warm/unflake/junit/Warm.java"];
const CLASSIC: Sources = sources![
    "agent/classic/unflake/junit/Arrangement.java"
    "agent/classic/unflake/junit/Classic.java"
    "agent/classic/unflake/junit/Groups.java"
    "agent/classic/unflake/junit/Listener.java"
    "agent/classic/unflake/junit/Oldest.java"
    "agent/classic/unflake/junit/WarmClassic.java"
];

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
}

impl JunitSupport {
    /// Of a class path whose tests Surefire runs by this provider. None: neither JUnit 4 nor 5.
    pub(crate) fn of(provider: &str, class_path: &[String]) -> Option<Self> {
        let has = |class: &str| class_path.iter().any(|path| file_contains(Path::new(path), &[class.as_bytes()]));
        let platform = provider.contains("junitplatform");
        let classic = has("org/junit/runners/ParentRunner.class");
        let jupiter = platform
            && has("org/junit/jupiter/api/Test.class")
            && has("org/junit/jupiter/engine/JupiterTestEngine.class");
        (platform || provider.contains("junit4") && classic || provider.contains("junitcore") && classic)
            .then_some(Self { platform, jupiter, classic })
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
            Ok(vec![list, classes.join("unflake/maven/HandOver.class")])
        })
        .map(|directory| directory.join("classes"))
    }

    /// The agent for a project with this class path, a jar.
    pub(crate) fn agent(&self, java: &Path, support: JunitSupport, class_path: &[String]) -> Result<PathBuf, String> {
        let mut parts = vec![COMMON, LAYERS, LINES, STATE];
        parts.extend(support.platform.then_some(PLATFORM));
        parts.extend(support.jupiter.then_some(JUPITER));
        parts.extend(support.classic.then_some(CLASSIC));
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
