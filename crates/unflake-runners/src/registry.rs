//! All runners, and which of them a command belongs to.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use tracing::debug;
use unflake_model::{FactorDeclaration, PlanContext};
use unflake_observe::layers::TemporaryName;
use unflake_observe::trace::{CallTable, ToolHome};
use unflake_protocol::{InjectedAgent, MissedAgent};
use unflake_worlds::RuntimeSupport;

use crate::options::RunnerOptions;
use crate::runner::{
    AgentEntry, Capabilities, DefaultCommand, Demo, Driver, InProcessIsolation, OtherRuntimes, ProjectFiles, Runner,
    RunnerOption, TraceSupport, UnsupportedCommand,
};
use crate::{cargo, cpp, junit_xml, jvm, pytest};

/// One line for each runner. The first that recognizes a command or project has it.
static RUNNERS: &[&dyn Runner] = &[
    &pytest::runner::Pytest,
    &cargo::cargo_test::CargoTest,
    &cargo::nextest::Nextest,
    &jvm::maven::Maven,
    &jvm::gradle::Gradle,
    &jvm::class_path::ClassPath,
    &cpp::ctest::Ctest,
    &cargo::libtest::Libtest,
    &cpp::gtest::GoogleTest,
    &junit_xml::results_command::ResultsCommand,
    #[cfg(test)]
    &crate::script::Script,
];

pub(crate) fn all() -> impl Iterator<Item = &'static dyn Runner> {
    RUNNERS.iter().copied()
}

/// The runner of a command, as far as that is known before it starts.
#[derive(Clone)]
pub struct RunnerSelection {
    /// One, if its options or its command name it; otherwise every runner whose agent can be
    /// offered to an unknown command such as `make test`.
    candidates: Vec<&'static dyn Runner>,
}

/// Finds the runner of a command.
pub fn select(command: &[String], options: &RunnerOptions) -> RunnerSelection {
    let by_option = || all().find(|runner| runner.profile().options.iter().any(|one| options.has(one.name)));
    let by_command = || all().find(|runner| runner.profile().options.is_empty() && runner.recognizes(command));
    if let Some(runner) = by_option().or_else(by_command) {
        debug!(runner = runner.profile().name, ?command, "recognized the runner");
        return RunnerSelection { candidates: vec![runner] };
    }
    debug!(?command, "no runner recognized: offering every agent that can be injected");
    RunnerSelection { candidates: all().filter(|runner| agent(*runner).is_some()).collect() }
}

/// Whether a runner recognizes the command as its own.
pub fn recognizes(command: &[String]) -> bool {
    all().any(|runner| runner.recognizes(command))
}

fn agent(runner: &dyn Runner) -> Option<InjectedAgent> {
    match runner.entry() {
        AgentEntry::Injected(agent) => Some(agent),
        AgentEntry::Driven(_) => None,
    }
}

impl RunnerSelection {
    /// Whether the runner, or one that the command may lead to, can do something.
    pub fn can(&self, capability: impl Fn(&Capabilities) -> bool) -> bool {
        self.candidates.iter().any(|runner| capability(&runner.profile().capabilities))
    }

    /// The factors that the runner, or one that the command may lead to, declares.
    pub fn factors(&self) -> Vec<&'static FactorDeclaration> {
        self.candidates.iter().flat_map(|runner| runner.profile().factors).copied().collect()
    }

    /// Other runtimes than that of the command.
    pub fn other_runtimes(&self, context: &PlanContext) -> OtherRuntimes {
        match self.runner() {
            Some(runner) => (runner.profile().other_runtimes)(context),
            None => OtherRuntimes::none("the runner of the command is not known"),
        }
    }

    /// How tests can be isolated inside one process.
    pub fn in_process_isolation(&self) -> Option<InProcessIsolation> {
        self.candidates.iter().find_map(|runner| runner.profile().capabilities.in_process_isolation)
    }

    /// The agents to inject. None of them: unflake drives the runner.
    pub fn agents(&self) -> Vec<InjectedAgent> {
        self.candidates.iter().filter_map(|runner| agent(*runner)).collect()
    }

    /// Names of caches and build directories, of this runner and of others in the same project.
    pub fn caches(&self) -> Vec<&'static str> {
        let restored: Vec<&str> =
            self.candidates.iter().flat_map(|runner| runner.profile().files.restored_builds).copied().collect();
        let all = project_files().flat_map(|files| files.caches).copied();
        all.filter(|name| !restored.contains(name)).collect()
    }

    /// Directories outside of the project that the command needs on another machine.
    pub fn inputs(&self, command: &[String]) -> Vec<PathBuf> {
        self.candidates.iter().flat_map(|runner| runner.inputs(command)).collect()
    }

    /// The first runner that the command may lead to.
    pub fn runner(&self) -> Option<&'static dyn Runner> {
        self.candidates.first().copied()
    }

    pub(crate) fn driver(&self) -> Option<(&'static dyn Runner, Driver)> {
        let runner = self.runner()?;
        match runner.entry() {
            AgentEntry::Driven(driver) => Some((runner, driver)),
            AgentEntry::Injected(_) => None,
        }
    }
}

/// The runner that reports this name, possibly followed by a version.
pub fn reported_as(name: &str) -> Option<&'static dyn Runner> {
    let named = all().filter(|runner| name.starts_with(runner.profile().name));
    named.max_by_key(|runner| runner.profile().name.len())
}

/// The runner of a project and its default command.
pub fn default_command(project: &Path) -> Option<DefaultCommand> {
    all().find_map(|runner| runner.default_command(project))
}

/// The names of the runners with a capability, for a message: `a, b or c`.
pub fn names_with(capability: impl Fn(&Capabilities) -> bool, conjunction: &str) -> String {
    let able = all().map(|runner| runner.profile()).filter(|profile| capability(&profile.capabilities));
    joined(&able.map(|profile| profile.texts.called.unwrap_or(profile.name)).collect::<Vec<_>>(), conjunction)
}

/// Example commands, the most usual first.
pub fn examples() -> impl Iterator<Item = &'static str> {
    all().filter_map(|runner| runner.profile().texts.example)
}

/// Why unflake cannot use the command, where its words say so. Options of a runner make any command
/// usable.
pub fn explain_unsupported(command: &[String], options: &RunnerOptions) -> Option<UnsupportedCommand> {
    let is_usable = recognizes(command) || self::options().flatten().any(|option| options.has(option.name));
    let explain = || all().find_map(|runner| runner.explain_unsupported(command, &recognizes));
    if is_usable { None } else { explain() }
}

/// Why no agent connected while the command ran, and what to do.
pub fn explain_missed_agent(command: &[String], output: &str) -> MissedAgent {
    let by_runner = all().find_map(|runner| runner.explain_missed_agent(command, output));
    by_runner.unwrap_or_else(|| MissedAgent {
        why: "the command exited without starting a supported test runner".to_owned(),
        hint: no_runner_hint(),
    })
}

fn no_runner_hint() -> String {
    let starts_by = |injected: bool| -> Vec<&str> {
        let wanted = all().filter(|runner| agent(*runner).is_some() == injected);
        wanted.filter_map(|runner| runner.profile().texts.starts_by).collect()
    };
    let mut lines: Vec<String> = starts_by(true).iter().map(|text| format!("It must start {text}.")).collect();
    lines.push(format!("Or it must be {} itself.", joined(&starts_by(false), "or")));
    lines.push("For other runners, `--results` and `--one-test` tell unflake how to use them.".to_owned());
    lines.join("\n")
}

/// Why tests may use files outside of a worktree.
pub fn base_worktree_hint() -> String {
    let hints: Vec<&str> = all().filter_map(|runner| runner.profile().texts.base_worktree).collect();
    joined(&hints, "or")
}

fn joined(words: &[&str], conjunction: &str) -> String {
    match words {
        [first @ .., last] if !first.is_empty() => format!("{} {conjunction} {last}", first.join(", ")),
        words => words.concat(),
    }
}

/// Files of all runners in a project.
pub fn project_files() -> impl Iterator<Item = &'static ProjectFiles> {
    all().map(|runner| &runner.profile().files)
}

/// Settings of all runners, by runner: those of one are given together.
pub fn options() -> impl Iterator<Item = &'static [RunnerOption]> {
    all().map(|runner| runner.profile().options).filter(|options| !options.is_empty())
}

/// A runner's setting by its name.
pub fn option(name: &str) -> Option<&'static RunnerOption> {
    options().flatten().find(|option| option.name == name)
}

/// Globs of files that count for every test.
pub fn global_inputs() -> Vec<&'static str> {
    project_files().flat_map(|files| files.global_inputs).copied().collect()
}

/// Globs of files that count for every test which uses a file in their directory.
pub fn directory_inputs() -> impl Iterator<Item = &'static str> {
    project_files().flat_map(|files| files.directory_inputs).copied()
}

/// Configuration files with keys that only describe, by glob.
pub fn descriptions() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    project_files().flat_map(|files| files.descriptions).copied()
}

/// Globs of files that only say what is to be installed.
pub fn installation() -> impl Iterator<Item = &'static str> {
    project_files().flat_map(|files| files.installation).copied()
}

/// Globs of the files that count for every test of the runners whose agents say what is installed.
pub fn inputs_where_installed() -> impl Iterator<Item = &'static str> {
    let says = |files: &&ProjectFiles| !files.installation.is_empty();
    project_files().filter(says).flat_map(|files| files.global_inputs.iter().chain(files.directory_inputs)).copied()
}

/// Globs of the files that count for every test of the other runners.
pub fn inputs_of_others() -> impl Iterator<Item = &'static str> {
    let others = |files: &&ProjectFiles| files.installation.is_empty();
    project_files().filter(others).flat_map(|files| files.global_inputs.iter().chain(files.directory_inputs)).copied()
}

/// Configuration files with keys that only say what is to be installed, by glob.
pub fn installation_keys() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    project_files().flat_map(|files| files.installation_keys).copied()
}

/// Globs of code that counts by function although it is among the global inputs, and beginnings of
/// the names of functions with which it does not.
pub fn code_inputs() -> impl Iterator<Item = (&'static [&'static str], &'static [&'static str])> {
    project_files().map(|files| files.code_inputs).filter(|(globs, _)| !globs.is_empty())
}

pub fn never_excuse() -> impl Iterator<Item = &'static str> {
    all().flat_map(|runner| runner.profile().never_excuse).copied()
}

pub fn temporary_names() -> Vec<TemporaryName> {
    all().flat_map(|runner| runner.profile().temporary_names).copied().collect()
}

pub fn call_tables() -> Vec<CallTable> {
    all().flat_map(|runner| runner.profile().call_tables).copied().collect()
}

/// The factors that runners declare.
pub fn factors() -> impl Iterator<Item = &'static FactorDeclaration> {
    all().flat_map(|runner| runner.profile().factors).copied()
}

/// What the languages of a command load in a world with a seed or a schedule.
/// `cache`: a directory for files that stay.
pub fn runtime_support(command: &[String], cache: Option<&Path>) -> Vec<RuntimeSupport> {
    all().flat_map(|runner| runner.runtime_support(command, cache)).collect()
}

/// Beginnings of the names of the environment variables of all runners' tools.
pub fn tool_variables() -> Vec<&'static str> {
    all().flat_map(|runner| runner.profile().variables).copied().collect()
}

pub fn tool_homes() -> Vec<ToolHome> {
    all().flat_map(|runner| runner.profile().tool_homes).copied().collect()
}

/// How tests are traced on an interpreter, if its name and version decide that.
pub fn trace_support(language: &str) -> Option<TraceSupport> {
    all().find_map(|runner| runner.trace_support(language))
}

/// The sample project of `unflake demo`.
pub fn demo() -> Option<&'static Demo> {
    all().find_map(|runner| runner.demo())
}

/// The main function of a process that a build tool started in place of one of its own tools.
/// None: this process is not one.
pub fn run_as_shim() -> Option<ExitCode> {
    all().find_map(|runner| runner.run_as_shim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(command: &[&str], expected: &str) {
        let command: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
        let names: Vec<&str> =
            select(&command, &RunnerOptions::default()).candidates.iter().map(|one| one.profile().name).collect();
        assert_eq!(names.join(" "), expected);
    }

    #[test]
    fn commands_are_recognized_by_their_words() {
        check(&["cargo", "test", "--workspace"], "cargo test");
        check(&["cargo", "+nightly", "t"], "cargo test");
        check(&["/usr/bin/cargo", "nextest", "run"], "cargo nextest");
        check(&["ctest", "--test-dir", "build"], "CTest");
        check(&["./gradlew", "test"], "Gradle");
        check(&["./mvnw", "-q", "test"], "Maven");
        check(&["uv", "run", "pytest", "tests"], "pytest");
        check(&["python3", "-m", "pytest"], "pytest");
    }

    #[test]
    fn unknown_commands_are_offered_every_injectable_agent() {
        for command in [&["cargo", "build"][..], &["make", "test"], &[]] {
            check(command, "pytest");
        }
    }

    #[test]
    fn this_test_program_uses_libtest() {
        let myself = std::env::current_exe().unwrap();
        check(&[myself.to_str().unwrap()], "libtest");
    }

    #[test]
    fn options_select_their_runner_whatever_the_command_is() {
        let name = |option: &str| {
            let options = RunnerOptions::from([(option, "x")]);
            select(&["cargo".to_owned(), "test".to_owned()], &options).runner().unwrap().profile().name
        };
        assert_eq!((name("results"), name("classpath-file")), ("JUnit XML", "JUnit"));
    }

    #[test]
    fn runners_are_found_by_the_name_that_agents_report() {
        let name = |reported: &str| reported_as(reported).map(|runner| runner.profile().name);
        assert_eq!(name("pytest 8.3.4"), Some("pytest"));
        assert_eq!(name("JUnit XML"), Some("JUnit XML"));
        assert_eq!(name("JUnit"), Some("JUnit"));
        assert_eq!(name("other 1"), None);
    }

    #[test]
    fn every_profile_is_complete() {
        for profile in all().map(|runner| runner.profile()) {
            assert!(!profile.name.is_empty() && !profile.language.is_empty(), "{}", profile.name);
            let able = profile.capabilities;
            assert!(able.trace || !able.values, "{}: values are part of a trace", profile.name);
        }
    }
}
