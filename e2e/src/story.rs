use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;
use unflake_store::{Run, Store};

use crate::{Ran, Running, python, repository, unflake};

/// A project in a directory of its own, with a home and a place for temporary files beside it.
pub struct Story {
    pub(crate) place: TempDir,
}

impl Default for Story {
    fn default() -> Self {
        Self::new()
    }
}

impl Story {
    /// An empty project.
    pub fn new() -> Self {
        // Short, because the paths of sockets are; real, because a runner tells real paths.
        let base = fs::canonicalize(std::env::temp_dir()).expect("there is a directory for temporary files");
        let place = tempfile::Builder::new().prefix("story-").tempdir_in(base).expect("it can be written");
        for name in ["project", "home", "tmp"] {
            fs::create_dir(place.path().join(name)).expect("the new directory can be written");
        }
        Self { place }
    }

    /// A project of one file of tests.
    pub fn of(tests: &str) -> Self {
        Self::new().with("test_it.py", tests)
    }

    /// A copy of a project. What earlier runs have left in it stays behind.
    pub fn copy_of(project: &Path) -> Self {
        fn copy(from: &Path, to: &Path) {
            fs::create_dir_all(to).expect("the copy can be written");
            for entry in fs::read_dir(from).expect("the project can be read").flatten() {
                let (path, name) = (entry.path(), entry.file_name());
                let leftover = [".unflake", ".pytest_cache", "__pycache__", "target"].iter().any(|left| name == *left);
                if path.is_dir() && !leftover {
                    copy(&path, &to.join(name));
                } else if path.is_file() {
                    fs::copy(&path, to.join(name)).expect("the copy can be written");
                }
            }
        }
        let story = Self::new();
        copy(project, &story.project());
        story
    }

    pub fn of_specimen(name: &str) -> Self {
        Self::copy_of(&repository().join("specimens").join(name))
    }

    pub fn with(self, name: &str, text: impl AsRef<[u8]>) -> Self {
        let path = self.project().join(name);
        fs::create_dir_all(path.parent().expect("it is below the project")).expect("the project can be written");
        fs::write(path, text).expect("the project can be written");
        self
    }

    pub fn project(&self) -> PathBuf {
        self.place.path().join("project")
    }

    /// The directory above the project.
    pub fn place(&self) -> &Path {
        self.place.path()
    }

    /// `unflake run OPTIONS -- COMMAND`, both split at spaces.
    pub fn run(&self, options: &str, command: &str) -> Ran {
        self.running(options, command).end()
    }

    /// The same, not yet started.
    pub fn running(&self, options: &str, command: &str) -> Call<'_> {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let found = self.place.path().join("found.json");
        let call = self.unflake(["run", "--json"]).arg(found).args(words(options));
        if command.is_empty() { call } else { call.arg("--").args(words(command)) }
    }

    /// Any command of unflake, run in the project.
    pub fn unflake<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Call<'_> {
        let _ = fs::remove_file(self.place.path().join("found.json"));
        let mut command = self.command(unflake());
        command.args(arguments);
        Call { story: self, command }
    }

    /// A program run in the project, in a world of which everything is known.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let below = |name: &str| self.place.path().join(name);
        let mut path = vec![python().parent().expect("a Python is in a directory").to_owned()];
        path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
        let mut command = Command::new(program);
        command
            .current_dir(self.project())
            .stdin(Stdio::null())
            .env_clear()
            .env("PATH", std::env::join_paths(path).expect("it was a path before"))
            .env("HOME", below("home"))
            .env("XDG_CACHE_HOME", below("home/cache"))
            .env("XDG_STATE_HOME", below("home/state"))
            .env("TMPDIR", below("tmp"))
            .env("LC_ALL", "C.UTF-8")
            .env("PYTHONDONTWRITEBYTECODE", "1");
        // Rust's tools are found through the home that the tests have, and not the story's.
        for (name, place) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
            let home = || std::env::home_dir().map(|home| home.join(place).into_os_string());
            command.envs(std::env::var_os(name).or_else(home).map(|path| (name, path)));
        }
        command
    }

    /// The runs that the project's history has, the newest first.
    pub fn history(&self) -> Vec<Run> {
        let store = Store::open(self.project().join(".unflake")).expect("there is a history");
        store.runs(usize::MAX).expect("the history can be read")
    }

    /// Every attempt of the newest run, as `test outcome`.
    pub fn remembered(&self) -> Vec<String> {
        let store = Store::open(self.project().join(".unflake")).expect("there is a history");
        let newest = store.runs(1).expect("the history can be read").remove(0).id;
        let attempts = store.attempts_in(newest).expect("the history can be read");
        attempts.iter().map(|attempt| format!("{} {}", attempt.test, attempt.outcome.word())).collect()
    }

    /// `text` without what differs from run to run: paths, times, versions.
    pub fn plain(&self, text: &str) -> String {
        let text = text.replace(self.place.path().to_str().expect("a path of ours is Unicode"), "[PLACE]");
        let text = text.replace(python().to_str().expect("a path of ours is Unicode"), "[PYTHON]");
        let rules = [
            (r"\d+(\.\d+)? s\b( \(of which reruns \d+(\.\d+)? s\))?", "[TIME]"),
            (r"(pytest|CPython|git version|unflake) \d+(\.\d+)+", "$1 [VERSION]"),
            (r"state/unflake/[0-9a-f]{16}", "state/unflake/[HASH]"),
        ];
        let text = rules.iter().fold(text, |text, (pattern, with)| {
            let pattern = regex_lite::Regex::new(pattern).expect("the rules are regular expressions");
            pattern.replace_all(&text, *with).into_owned()
        });
        text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
    }
}

/// A command of unflake about to be given.
pub struct Call<'a> {
    pub(crate) story: &'a Story,
    pub(crate) command: Command,
}

impl<'a> Call<'a> {
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.command.arg(argument);
        self
    }

    pub fn args<S: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = S>) -> Self {
        self.command.args(arguments);
        self
    }

    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Given in a directory of the project.
    pub fn within(mut self, directory: &str) -> Self {
        self.command.current_dir(self.story.project().join(directory));
        self
    }

    pub fn start(self) -> Running<'a> {
        Running::new(self)
    }

    pub fn end(self) -> Ran {
        self.start().end()
    }
}
