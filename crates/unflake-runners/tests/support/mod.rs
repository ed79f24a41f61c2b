//! Helpers that build and run real programs.
#![allow(dead_code)] // Each test file uses its part.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use unflake_observe::trace::{Limits, Lines, Project, Symboliser, TraceRuntime, TracedAttempt, TracedLine};

/// A directory with the runtime, for one test file.
pub(crate) struct TestDirectory {
    pub(crate) root: PathBuf,
    pub(crate) runtime: TraceRuntime,
}

impl TestDirectory {
    /// Below cargo's directory for tests, emptied at the start; it remains after a failure for
    /// inspection.
    pub(crate) fn new(name: &str) -> TestDirectory {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(&root).unwrap();
        let runtime = TraceRuntime::lay_out(&root.join("cache")).unwrap();
        TestDirectory { root, runtime }
    }

    pub(crate) fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// A new path for an attempt.
    pub(crate) fn attempt(&self, name: &str) -> PathBuf {
        let attempts = self.root.join("attempts");
        fs::create_dir_all(&attempts).unwrap();
        attempts.join(name)
    }

    pub(crate) fn cache(&self) -> PathBuf {
        self.root.join("cache")
    }

    /// Reads and symbolises the attempt.
    pub(crate) fn read(&self, attempt: &Path) -> TracedAttempt {
        let read = TracedAttempt::open(attempt).unwrap();
        assert_eq!(read.problems, [""; 0]);
        Symboliser::new(&self.cache()).symbolise(&read).unwrap();
        read
    }
}

/// A command that is traced into `attempt`.
pub(crate) fn traced(program: &Path, attempt: &Path, limits: Limits) -> Command {
    let mut command = Command::new(program);
    command.envs(TraceRuntime::tracing(attempt, limits, None).unwrap());
    command
}

pub(crate) fn succeed(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{:?}: {error}", command.get_program()));
    assert!(output.status.success(), "{command:?}\n{}", text(&output));
    output
}

pub(crate) fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// The lines of every thread, by thread key.
pub(crate) fn lines(attempt: &TracedAttempt, project: &Project) -> BTreeMap<String, Vec<TracedLine>> {
    let mut all = BTreeMap::new();
    for process in &attempt.processes {
        let lines = Lines::new(&process.places().unwrap(), project);
        for thread in &process.threads {
            let own = lines.of(thread).unwrap().map(|line| line.unwrap().clone()).collect();
            assert!(all.insert(thread.key.clone(), own).is_none(), "two threads are called {}", thread.key);
        }
    }
    all
}

/// As `file:line`, which is more readable in a failure.
pub(crate) fn short(lines: &[TracedLine]) -> Vec<String> {
    lines.iter().map(|line| format!("{}:{}", line.file.display(), line.line)).collect()
}

/// The line that ends in this comment, as `file:line`.
pub(crate) fn marked(root: &Path, file: &str, mark: &str) -> String {
    let text = fs::read_to_string(root.join(file)).unwrap();
    let at = text.lines().position(|line| line.ends_with(&format!("// {mark}")));
    format!("{file}:{}", at.unwrap_or_else(|| panic!("{file} has no line marked {mark}")) + 1)
}

/// Checks that every line exists in its file and is not empty.
pub(crate) fn assert_lines_exist(attempt: &TracedAttempt, project: &Project, root: &Path) -> usize {
    let mut texts: BTreeMap<PathBuf, Vec<String>> = BTreeMap::new();
    let mut seen = 0;
    for process in &attempt.processes {
        for (_, place) in process.places().unwrap().iter() {
            for frame in place.iter() {
                let Some(file) = project.own(&frame.file) else { continue };
                let text = texts.entry(file.clone()).or_insert_with(|| {
                    fs::read_to_string(root.join(&file)).unwrap().lines().map(str::to_owned).collect()
                });
                let line = text.get(frame.line as usize - 1);
                let line = line.unwrap_or_else(|| panic!("{} has no line {}", file.display(), frame.line));
                assert!(!line.trim().is_empty(), "{}:{} is empty", file.display(), frame.line);
                assert!(!frame.function.is_empty(), "{}:{} is in no function", file.display(), frame.line);
                seen += 1;
            }
        }
    }
    seen
}
