//! The interface between unflake and a test runner.
//!
//! Everything that unflake knows about one runner is an implementation of [`Runner`]: plain data in
//! its [`Profile`], and the few questions that need code. Nothing outside of the runner's folder
//! names it; other code asks for capabilities. `docs/design/adding-a-runner.md` adds one, step by
//! step.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use unflake_model::{FactorDeclaration, PlanContext};
use unflake_observe::layers::TemporaryName;
use unflake_observe::trace::{CallTable, ToolHome};
use unflake_protocol::{InjectedAgent, MissedAgent};
use unflake_worlds::RuntimeSupport;

use crate::driver::list_context::ListContext;
use crate::driver::suite::{ListError, ListedSuite};

/// A test runner.
pub trait Runner: Sync {
    /// What is known of it without looking at a command or a project.
    fn profile(&self) -> &'static Profile;

    /// How unflake gets at its tests.
    fn entry(&self) -> AgentEntry;

    /// Whether this command starts the runner.
    fn recognizes(&self, command: &[String]) -> bool;

    /// The command for a project that configures none. None: the project does not use the runner.
    fn default_command(&self, _project: &Path) -> Option<DefaultCommand> {
        None
    }

    /// Why the runner ran without the agent, where the output of a command without an agent shows
    /// that it ran.
    fn explain_missed_agent(&self, _command: &[String], _output: &str) -> Option<MissedAgent> {
        None
    }

    /// What to say of a command that no runner recognizes and that starts a program of which this
    /// one knows that unflake cannot use it. `is_supported`: whether a runner recognizes a command.
    fn explain_unsupported(
        &self,
        _command: &[String],
        _is_supported: &dyn Fn(&[String]) -> bool,
    ) -> Option<UnsupportedCommand> {
        None
    }

    /// The plain runner's command that repeats a session, as words. None: the plain runner cannot
    /// run exactly these tests in this order in one process.
    fn reproduce(&self, session: &ReplayedSession<'_>) -> Option<Vec<String>> {
        session.default_command()
    }

    /// A test id as the runner accepts it when started in `here`; ids are relative to `root`.
    fn id_seen_from(&self, test: &str, _root: Option<&Path>, _here: &Path) -> String {
        test.to_owned()
    }

    /// How tests are traced on this interpreter, if its name and version decide that.
    fn trace_support(&self, _language: &str) -> Option<TraceSupport> {
        None
    }

    /// What its language loads in a world with a seed or a schedule, where the agent is not and this
    /// command starts. `cache`: a directory for files that stay.
    fn runtime_support(&self, _command: &[String], _cache: Option<&Path>) -> Vec<RuntimeSupport> {
        self.profile().runtime_support.to_vec()
    }

    /// Directories outside of the project that this command needs on another machine.
    fn inputs(&self, _command: &[String]) -> Vec<PathBuf> {
        Vec::new()
    }

    /// A sample project for `unflake demo`.
    fn demo(&self) -> Option<&'static Demo> {
        None
    }

    /// The main function of a process that a build tool started in place of one of its own tools.
    /// None: this process is not one.
    fn run_as_shim(&self) -> Option<ExitCode> {
        None
    }
}

/// How unflake gets at the tests of a runner.
pub enum AgentEntry {
    /// An agent enters the runner's own process through environment variables.
    Injected(InjectedAgent),
    /// unflake starts itself as the driver, which starts the tests as processes of its own.
    Driven(Driver),
}

/// Lists the tests of a driven runner; running them is the same for all.
pub struct Driver {
    pub(crate) list: fn(&ListContext<'_>) -> Result<ListedSuite, ListError>,
}

/// What is known of a runner without looking at a command or a project.
#[derive(Clone, Copy)]
pub struct Profile {
    /// Its name. An agent reports this name, possibly followed by a version.
    pub name: &'static str,
    /// The language of its tests, for a driver to report.
    pub language: &'static str,
    pub capabilities: Capabilities,
    /// Settings that select this runner whatever the command is. They are given together.
    pub options: &'static [RunnerOption],
    pub files: ProjectFiles,
    pub texts: Texts,
    /// Patterns of output that no later pass excuses.
    pub never_excuse: &'static [&'static str],
    /// Directories that it makes below the temporary directory, one for each run.
    pub temporary_names: &'static [TemporaryName],
    /// Calls in its language whose result varies from run to run.
    pub call_tables: &'static [CallTable],
    /// Factors that mean something in its language only.
    pub factors: &'static [&'static FactorDeclaration],
    /// Settings of the factor `interpreter` for other runtimes of its language.
    pub other_runtimes: fn(&PlanContext) -> OtherRuntimes,
    /// What its language loads in a world with a seed or a schedule, where the agent is not.
    pub runtime_support: &'static [RuntimeSupport],
    /// Beginnings of the names of its tools' environment variables: without them little works.
    pub variables: &'static [&'static str],
    /// Directories of its tools: what tests read there is no input of the project.
    pub tool_homes: &'static [ToolHome],
}

/// Other runtimes than that of the tests, as settings of a factor, or why there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherRuntimes {
    /// Of the same version.
    pub vendor: Result<String, String>,
    pub version: Result<String, String>,
}

impl OtherRuntimes {
    pub fn none(why: &str) -> Self {
        Self { vendor: Err(why.to_owned()), version: Err(why.to_owned()) }
    }
}

impl Profile {
    /// A runner that can do nothing, to start from.
    pub const EMPTY: Self = Self {
        name: "",
        language: "",
        capabilities: Capabilities::NONE,
        options: &[],
        files: ProjectFiles::NONE,
        texts: Texts::NONE,
        never_excuse: &[],
        temporary_names: &[],
        call_tables: &[],
        factors: &[],
        other_runtimes: |_| OtherRuntimes::none("no other runtime is known here"),
        runtime_support: &[],
        variables: &[],
        tool_homes: &[],
    };
}

/// What a runner can do. Techniques and commands ask these and never the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// An environment that has listed the tests can be forked.
    pub fork: bool,
    /// One process runs its tests in any order.
    pub any_order: bool,
    /// One process runs several tests one after the other, in an order that the runner decides: any
    /// selection of tests is possible, no other order.
    pub own_order: bool,
    /// One process runs several tests at the same time, in threads.
    pub side_by_side: bool,
    /// One process runs a test twice.
    pub repeat_in_process: bool,
    /// The lines that a test runs through can be recorded.
    pub trace: bool,
    /// … with the values of variables.
    pub values: bool,
    /// The state that tests leave in memory can be compared and restored.
    pub state: bool,
    /// Assertions can be observed, and some let fail.
    pub assertions: bool,
    /// The files that a test uses can be recorded.
    pub dependencies: bool,
    /// Attempts can be compared layer by layer.
    pub layers: bool,
    /// A fresh environment takes about a second to start, so searches of few runs come first.
    pub slow_starts: bool,
    /// The tests are known only once all of them have run.
    pub lists_by_running: bool,
    /// Tests can be isolated from each other inside one process.
    pub in_process_isolation: Option<InProcessIsolation>,
}

impl Capabilities {
    pub const NONE: Self = Self {
        fork: false,
        any_order: false,
        own_order: false,
        side_by_side: false,
        repeat_in_process: false,
        trace: false,
        values: false,
        state: false,
        assertions: false,
        dependencies: false,
        layers: false,
        slow_starts: false,
        lists_by_running: false,
        in_process_isolation: None,
    };

    /// Whether tests can be searched for dependence on what ran before them.
    pub fn shares_processes(&self) -> bool {
        self.any_order || self.own_order
    }
}

/// An environment for each test that is cheaper than a process, and not as complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InProcessIsolation {
    /// What each test has for itself.
    pub name: &'static str,
    /// What to say of tests that ran in such an environment only.
    pub limits: &'static str,
}

/// A setting that belongs to one runner.
#[derive(Clone, Copy, Debug)]
pub struct RunnerOption {
    pub name: &'static str,
    /// What it is, for a message that it is missing.
    pub meaning: &'static str,
    /// The text of `--help`.
    pub help: &'static str,
    /// Why a value cannot be used.
    pub check: fn(&str) -> Result<(), String>,
}

/// Files and directories of a runner and its build tool in a project.
#[derive(Clone, Copy, Debug)]
pub struct ProjectFiles {
    /// Files that mark the top of a project.
    pub root_markers: &'static [&'static str],
    /// A file with settings of many tools, and the table in it that is unflake's.
    pub settings: Option<SettingsTable>,
    /// Globs of files that build, install and configure: a change of one can affect every test.
    pub global_inputs: &'static [&'static str],
    /// Globs of files that do so for the directory that they are in: a change of one can affect
    /// every test that uses a file in it or below it. They count before `global_inputs`.
    pub directory_inputs: &'static [&'static str],
    /// Globs among `global_inputs` of code that counts like other code where functions are compared,
    /// and beginnings of the names of functions with which it does not.
    pub code_inputs: (&'static [&'static str], &'static [&'static str]),
    /// Globs of configuration files, and beginnings of the keys that only describe the project or
    /// configure tools that run no tests.
    pub descriptions: &'static [(&'static str, &'static [&'static str])],
    /// Globs of files that only say what is to be installed, or how a tool is to start the runner: while
    /// the same is installed, a change of one matters to tests that read it.
    pub installation: &'static [&'static str],
    /// Globs of `descriptions`, and beginnings of the keys that do so.
    pub installation_keys: &'static [(&'static str, &'static [&'static str])],
    /// Names of caches and build directories. Nothing in them is part of the project.
    pub caches: &'static [&'static str],
    /// Those of them that add nothing to the sources next to them.
    pub derived: &'static [&'static str],
    /// Build directories from which tests read and into which they write. They are restored like
    /// the rest of the project, even where they are a cache of another runner.
    pub restored_builds: &'static [&'static str],
}

impl ProjectFiles {
    pub const NONE: Self = Self {
        root_markers: &[],
        settings: None,
        global_inputs: &[],
        directory_inputs: &[],
        code_inputs: (&[], &[]),
        descriptions: &[],
        installation: &[],
        installation_keys: &[],
        caches: &[],
        derived: &[],
        restored_builds: &[],
    };
}

/// A table in a settings file that several tools share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SettingsTable {
    pub file: &'static str,
    /// The keys that lead to the table.
    pub table: &'static [&'static str],
}

/// Texts for users.
#[derive(Clone, Copy, Debug)]
pub struct Texts {
    /// What to call it in a list of runners, where that is not its name.
    pub called: Option<&'static str>,
    /// A command to show as an example.
    pub example: Option<&'static str>,
    /// How its command has to look so that unflake finds the runner.
    pub starts_by: Option<&'static str>,
    /// Why tests may use files outside of a worktree.
    pub base_worktree: Option<&'static str>,
}

impl Texts {
    pub const NONE: Self = Self { called: None, example: None, starts_by: None, base_worktree: None };
}

/// A command that unflake cannot use, known before it starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsupportedCommand {
    pub why: String,
    /// What the user can do.
    pub hint: String,
}

/// A command for a project that configures none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefaultCommand {
    pub words: Vec<String>,
    pub reason: String,
}

impl DefaultCommand {
    pub(crate) fn new(words: &[&str], reason: impl Into<String>) -> Option<Self> {
        Some(Self { words: words.iter().map(|word| (*word).to_owned()).collect(), reason: reason.into() })
    }
}

/// A session to reproduce with the plain runner.
pub struct ReplayedSession<'a> {
    /// The user's command.
    pub command: &'a [String],
    /// In this order. Empty: the user's command as it is.
    pub tests: &'a [&'a str],
    /// Whether the runner lists them in this order, each once.
    pub in_listed_order: bool,
    /// How many of them run at the same time in one process. 0: one after the other.
    pub at_once: u32,
    /// The command for the first test alone, where the agent reported one.
    pub alone: Option<&'a [String]>,
    /// The directory that test ids are relative to.
    pub root: Option<&'a Path>,
    /// The directory that the command runs in.
    pub here: &'a Path,
}

impl ReplayedSession<'_> {
    /// The user's own command, or the reported command of a single test.
    pub(crate) fn default_command(&self) -> Option<Vec<String>> {
        match self.tests {
            [] => Some(self.command.to_vec()),
            _ if self.at_once > 1 => None,
            [_] => self.alone.map(<[String]>::to_vec),
            _ => None,
        }
    }
}

/// How tests are traced on one interpreter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceSupport {
    /// False: it works, and is slow or in the way of other tools.
    pub good: bool,
    pub description: &'static str,
}

/// A sample project that shows `unflake run`.
pub struct Demo {
    /// Relative path and content of each file.
    pub files: &'static [(&'static str, &'static str)],
    /// What the sample is, before it is set up.
    pub introduction: &'static str,
    /// Programs to run in the sample first. `{program}` stands for the one the user chose.
    pub set_up: &'static [SetUpStep],
    /// The directory of the sample's programs.
    pub programs: &'static str,
    pub command: &'static [&'static str],
    /// Variables that would change the run.
    pub unset: &'static [&'static str],
    pub afterword: &'static str,
}

/// One program that sets up a sample project.
pub struct SetUpStep {
    /// Relative to the sample, unless it is `{program}`.
    pub program: &'static str,
    pub arguments: &'static [&'static str],
    pub hint: &'static str,
}
