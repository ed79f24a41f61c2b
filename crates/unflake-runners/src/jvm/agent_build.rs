//! Compiles the agent for JVMs: its sources are inside the binary, and the user's own JDK compiles
//! them once.

use std::env;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::captured_command;
use crate::process::files::{file_contains, find_program, relative};

/// The path below `agents/jvm` and the contents of a source file.
type JavaSource = &'static (&'static str, &'static [u8]);

static SOURCES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/jvm_agent.rs"));
/// The parts of the agent that do not depend on the test framework.
const COMMON: [&str; 11] = [
    "Main.java",
    "Premain.java",
    "bytecode/",
    "isolation/",
    "layers/",
    "protocol/",
    "run/",
    "seeds/",
    "state/",
    "trace/",
    "util/",
];
const COMPONENTS: &str = include_str!("../../../../agents/jvm/maven/META-INF/plexus/components.xml");
/// Takes the place of the java program that Surefire starts.
pub(crate) const JAVA: &str = include_str!("../../../../agents/jvm/maven/java.sh");
/// Names the class that a JVM calls first when the agent is its `-javaagent`.
const MANIFEST: &str = include_str!("../../../../agents/jvm/agent/MANIFEST.MF");

/// … of the agent that only seeds random numbers.
const SEEDS_MANIFEST: &str = include_str!("../../../../agents/jvm/agent/SEEDS.MF");

/// The sources below a folder whose paths begin with one of these parts.
fn sources(folder: &str, parts: &[&str]) -> Vec<JavaSource> {
    let is_in =
        |name: &str| name.strip_prefix(folder).is_some_and(|path| parts.iter().any(|part| path.starts_with(part)));
    SOURCES.iter().filter(|(name, _)| is_in(name)).collect()
}

/// Compiles into a cache and reuses what is there.
pub(crate) struct AgentBuild<'a> {
    pub(crate) cache: &'a Path,
}

/// The test frameworks of a project.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
pub(crate) struct FrameworkSupport {
    pub(crate) platform: bool,
    pub(crate) jupiter: bool,
    pub(crate) classic: bool,
    /// JUnit 3 without JUnit 4.
    pub(crate) oldest: bool,
    /// Surefire's provider for JUnit 3 without JUnit 4: it also runs classes of no framework.
    pub(crate) plain: bool,
    pub(crate) testng: bool,
}

impl FrameworkSupport {
    /// Of a class path whose tests Surefire runs by this provider, or what it runs that unflake
    /// does not.
    pub(crate) fn of(provider: &str, class_path: &[String]) -> Result<Self, &'static str> {
        let has = |class: &str| class_path.iter().any(|path| has_class(Path::new(path), class));
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
            "testng" if has("org/testng/IConfigurable.class") => {}
            "testng" => return Err("TestNG before 5.14; TestNG 5.14 or later works"),
            _ => return Err("this provider of Surefire; JUnit and TestNG work"),
        }
        let jupiter = platform
            && has("org/junit/jupiter/api/Test.class")
            && has("org/junit/jupiter/engine/JupiterTestEngine.class");
        // Surefire takes this provider where it knows no framework on the class path, such as Jupiter
        // before version 2.22. Then JUnit 3 may be absent, too.
        let plain = kind == "junit" && !classic;
        let oldest = plain && has("junit/framework/TestCase.class");
        Ok(Self { platform, jupiter, classic, oldest, plain, testng: kind == "testng" })
    }

    /// What the user should know of the tests that run.
    pub(crate) fn note(&self) -> Option<&'static str> {
        let is_without = self.plain && !self.oldest;
        is_without.then_some(
            "Surefire found no test framework, so methods whose names start with `test` run without their annotations, as in Maven; Jupiter needs Surefire 2.22 or later",
        )
    }
}

/// Whether an entry of a class path, a jar or a directory, has a class, which is named by its path.
fn has_class(entry: &Path, class: &str) -> bool {
    if entry.is_dir() { entry.join(class).is_file() } else { file_contains(entry, &[class.as_bytes()]) }
}

impl AgentBuild<'_> {
    /// The extension that Maven loads, a directory of classes.
    pub(crate) fn extension(&self) -> Result<PathBuf, String> {
        let javac = javac(None)?;
        // Types that Maven declares itself.
        let declared = sources("maven/stubs/", &[""]);
        let own = sources("maven/", &["unflake/"]);
        self.cached("maven", &[&declared[..], &own].concat(), &COMPONENTS, |directory| {
            write(&directory.join("stubs"), "maven/stubs/", &declared)?;
            let sources = write(&directory.join("sources"), "maven/", &own)?;
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
    pub(crate) fn agent(
        &self,
        java: &Path,
        support: FrameworkSupport,
        class_path: &[String],
    ) -> Result<PathBuf, String> {
        let mut parts = COMMON.to_vec();
        parts.extend(support.platform.then_some("platform/"));
        parts.extend(support.jupiter.then_some("warmup/Jupiter"));
        parts.extend(support.classic.then_some(["junit4/", "warmup/JUnit4"]).into_iter().flatten());
        parts.extend(support.oldest.then_some("junit3/"));
        parts.extend(support.plain.then_some("plain/"));
        parts.extend(support.testng.then_some("testng/"));
        let sources = sources("agent/unflake/jvm/", &parts);
        let name = |path: &String| Path::new(path).file_name().map(|name| name.to_string_lossy().into_owned());
        // The versions that it is compiled against are part of its cache key.
        let against: Vec<String> = class_path
            .iter()
            .filter_map(name)
            .filter(|name| (name.contains("junit") || name.contains("testng")) && name.ends_with(".jar"))
            .collect();
        let javac = javac(Some(java))?;
        let options = ["-cp".to_owned(), class_path.join(":")];
        self.jar("junit", &javac, &sources, MANIFEST, &options, &against)
    }

    /// The agent that seeds random numbers in any JVM, a jar.
    pub(crate) fn seeds(&self) -> Result<PathBuf, String> {
        let sources = sources("agent/unflake/jvm/", &["bytecode/", "seeds/", "util/JvmAccess"]);
        self.jar("seeds", &javac(None)?, &sources, SEEDS_MANIFEST, &[], &())
    }

    fn jar(
        &self,
        name: &str,
        javac: &Path,
        sources: &[JavaSource],
        manifest: &str,
        options: &[String],
        key: &dyn Keyed,
    ) -> Result<PathBuf, String> {
        let mut hasher = DefaultHasher::new();
        key.add_to(&mut hasher);
        self.cached(name, sources, &(manifest, hasher.finish()), |directory| {
            let sources = write(&directory.join("sources"), "agent/", sources)?;
            let classes = directory.join("classes");
            compile(javac, &options.iter().map(AsRef::as_ref).collect::<Vec<_>>(), &classes, &sources)?;
            let (jar, file) = (directory.join("agent.jar"), directory.join("MANIFEST.MF"));
            put(&file, manifest)?;
            // Uncompressed: every JVM reads it at its start.
            let mut pack = Command::new(javac.with_file_name("jar"));
            run(pack.arg("c0fm").args([&jar, &file]).arg("-C").arg(&classes).arg("."))?;
            Ok(vec![jar])
        })
        .map(|directory| directory.join("agent.jar"))
    }

    /// The directory that `make` fills, now or earlier. `make` returns the files that matter; their
    /// checksums are verified before reuse.
    fn cached(
        &self,
        name: &str,
        sources: &[JavaSource],
        key: &dyn Keyed,
        make: impl FnOnce(&Path) -> Result<Vec<PathBuf>, String>,
    ) -> Result<PathBuf, String> {
        let mut hasher = DefaultHasher::new();
        sources.hash(&mut hasher);
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

fn write(directory: &Path, prefix: &str, sources: &[JavaSource]) -> Result<Vec<PathBuf>, String> {
    let one = |(name, text): &JavaSource| {
        let path = directory.join(name.strip_prefix(prefix).unwrap_or(name));
        put(&path, text).map(|()| path)
    };
    sources.iter().map(one).collect()
}

fn put(path: &Path, text: impl AsRef<[u8]>) -> Result<(), String> {
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
    Err(format!("`{program}` could not compile unflake's Java agent ({}):\n{}", output.status, stderr.trim()))
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
    fn plain_classes_run_where_surefire_finds_no_framework() {
        let directory = tempfile::tempdir().unwrap();
        let jar = |name: &str, class: &str| {
            let path = directory.path().join(name);
            fs::write(&path, class).unwrap();
            path.to_string_lossy().into_owned()
        };
        let of = |jar| FrameworkSupport::of("org.apache.maven.surefire.junit.JUnit3Provider", &[jar]).unwrap();
        let without = of(jar("jupiter.jar", "org/junit/jupiter/api/Test.class"));
        assert!(without.plain && !without.oldest && without.note().is_some_and(|note| note.contains("Jupiter needs")));
        let with = of(jar("junit3.jar", "junit/framework/TestCase.class"));
        assert!(with.plain && with.oldest && with.note().is_none());
    }

    #[test]
    fn directories_of_a_class_path_have_classes() {
        let directory = tempfile::tempdir().unwrap();
        let class = directory.path().join("junit/framework/TestCase.class");
        put(&class, "").unwrap();
        assert!(has_class(directory.path(), "junit/framework/TestCase.class"));
        assert!(!has_class(directory.path(), "org/junit/Test.class"));
    }

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
        let common = sources("agent/unflake/jvm/", &COMMON);
        let directory = kit.cached("x", &common, &1, make).unwrap();
        assert_eq!((kit.cached("x", &common, &1, make).unwrap(), cached.get()), (directory.clone(), 1));
        assert_ne!(kit.cached("x", &common, &2, make).unwrap(), directory);
        fs::write(directory.join("it"), "bad").unwrap();
        assert_eq!(kit.cached("x", &common, &1, make).unwrap(), directory);
        assert_eq!((fs::read_to_string(directory.join("it")).unwrap().as_str(), cached.get()), ("good", 3));
        assert!(kit.cached("x", &common, &3, |_| Err("no".to_owned())).is_err());
        assert_eq!(fs::read_dir(cache.path().join("jvm")).unwrap().count(), 2);
    }
}
