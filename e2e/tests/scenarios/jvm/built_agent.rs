//! The agent for JVMs, built as unflake builds it for a project, with a test program beside it.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use e2e::repository;
use tempfile::TempDir;

pub(super) struct BuiltAgent {
    place: TempDir,
    /// Of the agent and of the test program.
    pub(super) classes: PathBuf,
    pub(super) jar: PathBuf,
    jars: Vec<PathBuf>,
}

impl BuiltAgent {
    /// `program`: a test program below `agents/jvm/tests`.
    pub(super) fn with(program: &str) -> BuiltAgent {
        let place = tempfile::tempdir().unwrap();
        let (classes, jar) = (place.path().join("agent"), place.path().join("agent.jar"));
        let agent = BuiltAgent { place, classes, jar, jars: jars() };
        let sources = sources();
        let mut files = Vec::new();
        java_files(&sources.join("agent"), &mut files);
        files.push(sources.join("tests").join(program));
        // As unflake compiles it for a project without TestNG.
        files.retain(|path| !path.starts_with(sources.join("agent/unflake/jvm/testng")));
        agent.javac("-nowarn", &agent.classes, &files);
        let manifest = sources.join("agent/MANIFEST.MF");
        run(Command::new("jar").arg("cfm").args([&agent.jar, &manifest]).arg("-C").arg(&agent.classes).arg("."));
        agent
    }

    pub(super) fn place(&self) -> &Path {
        self.place.path()
    }

    /// With JUnit 4, Jupiter and Vintage.
    pub(super) fn class_path(&self, more: &[&Path]) -> OsString {
        let paths = more.iter().map(|path| path.to_path_buf()).chain(self.jars.iter().cloned());
        std::env::join_paths(paths).unwrap()
    }

    /// Compiles tests; their classes.
    pub(super) fn compiled(&self, files: &[PathBuf]) -> PathBuf {
        let tests = self.place().join("tests");
        self.javac("-g", &tests, files);
        tests
    }

    fn javac(&self, option: &str, target: &Path, files: &[PathBuf]) {
        let mut javac = Command::new("javac");
        run(javac.args([option, "-cp"]).arg(self.class_path(&[])).arg("-d").arg(target).args(files));
    }
}

pub(super) fn sources() -> PathBuf {
    repository().join("agents/jvm")
}

pub(super) fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let printed = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{printed}");
    printed
}

/// JUnit 4, Jupiter and Vintage in the local Maven repository.
fn jars() -> Vec<PathBuf> {
    let maven = std::env::home_dir().unwrap().join(".m2/repository");
    let jar = |group: &str, name: &str, version: &str| {
        maven.join(group).join(name).join(version).join(format!("{name}-{version}.jar"))
    };
    let jupiter = ["api", "engine", "params"].map(|part| format!("junit-jupiter-{part}"));
    let platform = ["commons", "engine", "launcher"].map(|part| format!("junit-platform-{part}"));
    let jupiter = jupiter.iter().map(|name| jar("org/junit/jupiter", name, "5.10.2"));
    let platform = platform.iter().map(|name| jar("org/junit/platform", name, "1.10.2"));
    let others = [
        jar("junit", "junit", "4.13.2"),
        jar("org/hamcrest", "hamcrest-core", "1.3"),
        jar("org/junit/vintage", "junit-vintage-engine", "5.10.2"),
        jar("org/opentest4j", "opentest4j", "1.3.0"),
        jar("org/apiguardian", "apiguardian-api", "1.1.2"),
    ];
    let found: Vec<PathBuf> = jupiter.chain(platform).chain(others).collect();
    found.iter().for_each(|jar| assert!(jar.is_file(), "{} is missing", jar.display()));
    found
}

pub(super) fn java_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for path in fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            java_files(&path, found);
        } else if path.extension().is_some_and(|kind| kind == "java") {
            found.push(path);
        }
    }
}
