//! Sandboxes: a project in a temporary directory with its own home, and unflake commands run in it.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;
use unflake_store::{Run, Store};

use crate::{RunOutput, RunningProcess, cache, python, python_with_plugins, reapi, repository, slurm, unflake};

const QUICK_JVM: &str = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC";

/// A project in a temporary directory, with its own `HOME` and `TMPDIR`. Nothing of the user's
/// environment is visible in it.
pub struct Sandbox {
    root: TempDir,
    has_plugins: bool,
}

impl Default for Sandbox {
    fn default() -> Self {
        Self::new()
    }
}

impl Sandbox {
    /// An empty project.
    pub fn new() -> Self {
        // Short, because paths of sockets must be; canonical, because runners report canonical
        // paths.
        let base = fs::canonicalize(std::env::temp_dir()).expect("there is a temporary directory");
        let root = tempfile::Builder::new().prefix("e2e-").tempdir_in(base).expect("it can be written");
        for name in ["project", "home", "tmp"] {
            fs::create_dir(root.path().join(name)).expect("the new directory can be written");
        }
        Self { root, has_plugins: false }
    }

    /// A project with one test file, `test_it.py`.
    pub fn with_tests(tests: &str) -> Self {
        Self::new().file("test_it.py", tests)
    }

    /// A copy of a project, without what earlier runs left in it.
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
        let sandbox = Self::new();
        copy(project, &sandbox.project());
        sandbox
    }

    /// A copy of a specimen, by its path below `specimens/`.
    pub fn specimen(path: &str) -> Self {
        Self::copy_of(&repository().join("specimens").join(path))
    }

    /// Has the plugins of pytest installed, where the tests install any.
    pub fn with_plugins(self) -> Self {
        Self { has_plugins: true, ..self }
    }

    fn python(&self) -> &'static Path {
        if self.has_plugins { python_with_plugins() } else { python() }
    }

    /// Adds or replaces a file of the project.
    pub fn file(self, name: &str, text: impl AsRef<[u8]>) -> Self {
        self.write(name, text);
        self
    }

    /// The same, later.
    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.project().join(name);
        fs::create_dir_all(path.parent().expect("it is below the project")).expect("the project can be written");
        fs::write(path, text).expect("the project can be written");
    }

    pub fn project(&self) -> PathBuf {
        self.root.path().join("project")
    }

    /// The directory above the project.
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// Where `Invocation::json` has the report written.
    pub(crate) fn json_report(&self) -> PathBuf {
        self.root.path().join("report.json")
    }

    /// Runs `unflake run OPTIONS -- COMMAND`, both split at spaces.
    pub fn run(&self, options: &str, command: &str) -> RunOutput {
        self.run_invocation(options, command).finish()
    }

    /// The same, not started yet.
    pub fn run_invocation(&self, options: &str, command: &str) -> Invocation<'_> {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let report = self.json_report().to_string_lossy().into_owned();
        // The options may end with the command.
        let arguments = ["run".to_owned(), "--json".to_owned(), report].into_iter().chain(words(options));
        let invocation = self.unflake(arguments);
        if command.is_empty() { invocation } else { invocation.arg("--").args(words(command)) }
    }

    /// An unflake command in the project directory. Failures of `run` repeat in one new process only,
    /// unless these arguments say otherwise: each is a start of the runner.
    pub fn unflake<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Invocation<'_> {
        let _ = fs::remove_file(self.json_report());
        let mut arguments: Vec<_> = arguments.into_iter().map(|one| one.as_ref().to_owned()).collect();
        if arguments.first().is_some_and(|first| first == "run") && !arguments.contains(&"--new-processes".into()) {
            arguments.splice(1..1, ["--new-processes".into(), "1".into()]);
        }
        let mut command = self.command(unflake());
        command.args(arguments);
        let invocation = Invocation { sandbox: self, command };
        match std::env::var("UNFLAKE_TEST_ENGINE").as_deref() {
            Ok("slurm") => invocation.on(slurm()),
            Ok("reapi") => invocation.on_server(reapi()),
            _ => invocation,
        }
    }

    /// A program in the project directory, with a fixed environment.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let below = |name: &str| self.root.path().join(name);
        let mut path = vec![self.python().parent().expect("the Python is in a directory").to_owned()];
        path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
        let mut command = Command::new(program);
        command
            .current_dir(self.project())
            .stdin(Stdio::null())
            .env_clear()
            .env("PATH", std::env::join_paths(path).expect("it was a path before"))
            .env("HOME", below("home"))
            .env("XDG_CACHE_HOME", cache())
            .env("XDG_STATE_HOME", below("home/state"))
            .env("TMPDIR", below("tmp"))
            .env("LC_ALL", "C.UTF-8")
            .env("PYTHONDONTWRITEBYTECODE", "1")
            // Build tools run for seconds: optimizing their code costs more than it saves.
            .env("MAVEN_OPTS", QUICK_JVM)
            .env("GRADLE_OPTS", format!("{QUICK_JVM} -Dorg.gradle.daemon=false"));
        // The Rust toolchain is found through the home of the user, not of the sandbox.
        for (name, directory) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
            let home = || std::env::home_dir().map(|home| home.join(directory).into_os_string());
            command.envs(std::env::var_os(name).or_else(home).map(|path| (name, path)));
        }
        command
    }

    /// Runs git with a fixed identity and default branch, and returns its output.
    #[track_caller]
    pub fn git(&self, arguments: &[&str]) -> String {
        let mut git = self.command("git");
        git.args(["-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "init.defaultBranch=main"]);
        let output = git.args(arguments).output().expect("git is installed");
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("git writes UTF-8").trim_end().to_owned()
    }

    /// Commits everything in the project, and initializes the repository if there is none.
    #[track_caller]
    pub fn commit(&self, message: &str) {
        self.git(&["init", "-q"]);
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
    }

    /// The runs in the history of the project, newest first.
    pub fn history(&self) -> Vec<Run> {
        let store = Store::open(self.project().join(".unflake")).expect("there is a history");
        store.runs(usize::MAX).expect("the history can be read")
    }

    /// Every stored attempt of the newest run, as `test outcome`.
    pub fn stored_attempts(&self) -> Vec<String> {
        let store = Store::open(self.project().join(".unflake")).expect("there is a history");
        let newest = store.runs(1).expect("the history can be read").remove(0).id;
        let attempts = store.attempts_in(newest).expect("the history can be read");
        attempts.iter().map(|attempt| format!("{} {}", attempt.test, attempt.outcome.word())).collect()
    }

    /// `text` with placeholders for what differs from run to run: paths, times, versions.
    pub fn redact(&self, text: &str) -> String {
        let text = text.replace(self.root.path().to_str().expect("temporary paths are Unicode"), "[PLACE]");
        let text = text.replace(self.python().to_str().expect("the path of the Python is Unicode"), "[PYTHON]");
        let rules = [
            (r"(\d+\smin\s)?\d+(\.\d+)?\ss\b(\s\((\d+\smin\s)?\d+(\.\d+)?\ss\sretries\))?", "[TIME]"),
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

/// An unflake command that has not been started yet.
pub struct Invocation<'a> {
    pub(crate) sandbox: &'a Sandbox,
    pub(crate) command: Command,
}

impl<'a> Invocation<'a> {
    /// Has the JSON report written to where `RunOutput` reads it.
    pub fn json(self) -> Self {
        let file = self.sandbox.json_report();
        self.arg("--json").arg(file)
    }

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

    /// Starts it in this directory of the project.
    pub fn in_directory(mut self, directory: &str) -> Self {
        self.command.current_dir(self.sandbox.project().join(directory));
        self
    }

    pub fn start(self) -> RunningProcess<'a> {
        RunningProcess::new(self)
    }

    pub fn finish(self) -> RunOutput {
        self.start().finish()
    }
}
