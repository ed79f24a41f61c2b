//! Programs with Rust's own test harness, or a compatible one: one process for each test.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use unflake_protocol::{Outcome, TestNeeds};

use crate::cargo;
use crate::cargo::libtest_sequence::{SequentialProcess, is_in_order};
use crate::cargo::libtest_shared::SharedProcess;
use crate::cargo::panics;
use crate::driver::list_context::ListContext;
use crate::driver::program::{OutputListener, Program, SingleTestListener};
use crate::driver::suite::{ListError, ListedSuite, TestCase};
use crate::driver::test_result::{TestResult, failed, signal_name};
use crate::process::captured_command;
use crate::process::files::{file_contains, find_program};
use crate::process::sanitizers;
use crate::process::spec::{EnvChanges, ExitKind, ProcessEnd, ProcessSpec, apply_env};
use crate::runner::{AgentEntry, Driver, Profile, ReplayedSession, Runner};

/// A test program, and how cargo would start it.
#[derive(Clone)]
pub(crate) struct TestBinary {
    pub(crate) path: PathBuf,
    pub(crate) harness: Harness,
    pub(crate) directory: Option<PathBuf>,
    pub(crate) variables: EnvChanges,
}

/// What runs the tests of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Harness {
    /// Rust's own. It prints a summary of what it ran.
    Libtest,
    /// One that takes the same arguments. Only its exit code is known to mean something.
    Alike,
    /// One that can only run as a whole.
    Own,
}

impl Harness {
    /// Decided by the content of the program, without starting it.
    pub(crate) fn of(path: &Path) -> Self {
        if is_one(path) {
            Self::Libtest
        } else if file_contains(path, &[b"terse"]) && file_contains(path, &[b": test"]) {
            Self::Alike
        } else {
            Self::Own
        }
    }
}

/// Whether a program has Rust's own harness.
pub(crate) fn is_one(path: &Path) -> bool {
    file_contains(path, &[b"RUST_TEST_THREADS"])
}

/// The arguments of a test program: which tests to run, and how.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct HarnessArgs {
    /// Words that select tests, passed on unchanged.
    pub(crate) choosing: Vec<String>,
    pub(crate) ignored: IgnoredTests,
    pub(crate) threads: Option<u32>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum IgnoredTests {
    #[default]
    Skipped,
    Only,
    Included,
}

/// The tests that a program lists.
pub(crate) struct LibtestListing {
    all: Vec<String>,
    /// Those that are listed and not run.
    ignored: BTreeSet<String>,
}

/// One test in one process.
pub(crate) struct OneTest {
    pub(crate) binary: Arc<TestBinary>,
    pub(crate) ignored: bool,
}

/// A program with its own harness, as one test: its exit code is the result.
pub(crate) struct WholeProgram {
    pub(crate) binary: Arc<TestBinary>,
    pub(crate) arguments: Vec<String>,
}

/// A test program that the user's command starts directly.
pub(crate) struct Libtest;

static PROFILE: Profile = Profile { name: "libtest", ..cargo::THREADED };

impl Runner for Libtest {
    fn profile(&self) -> &'static Profile {
        &PROFILE
    }

    fn entry(&self) -> AgentEntry {
        AgentEntry::Driven(Driver { list })
    }

    fn recognizes(&self, command: &[String]) -> bool {
        command.first().and_then(|program| find_program(program)).is_some_and(|program| is_one(&program))
    }

    fn reproduce(&self, session: &ReplayedSession<'_>) -> Option<Vec<String>> {
        reproduce(session)
    }
}

/// The command for one test, or for several of a program in one process: at the same time, or one
/// after the other in the order of the harness.
pub(crate) fn reproduce(session: &ReplayedSession<'_>) -> Option<Vec<String>> {
    let (Some(alone), [first, others @ ..]) = (session.alone, session.tests) else { return session.default_command() };
    if others.is_empty() && session.at_once < 2 {
        return session.default_command();
    }
    let (program, name) = first.split_once(' ')?;
    let name_in_program = |id: &&str| id.strip_prefix(program)?.strip_prefix(' ').map(str::to_owned);
    let others = others.iter().map(name_in_program).collect::<Option<Vec<_>>>()?;
    if session.at_once < 2 && !is_in_order(std::iter::once(name).chain(others.iter().map(String::as_str))) {
        return None;
    }
    let threads = format!("--test-threads={}", session.at_once.max(1));
    Some(alone.iter().cloned().chain(others).chain([threads]).collect())
}

fn list(context: &ListContext<'_>) -> Result<ListedSuite, ListError> {
    let command = context.command;
    let parse_args = parse_args(&command[1..])?;
    let path = PathBuf::from(&command[0]);
    let binary = TestBinary { path, harness: Harness::Libtest, directory: None, variables: BTreeMap::new() };
    let name = binary.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let plain = |test: &str| vec![command[0].clone(), "--exact".to_owned(), test.to_owned()];
    let listing = binary.listing(&parse_args).map_err(ListError::collection)?;
    let tests = tests(binary, &parse_args, &name, None, true, listing, &plain);
    Ok(ListedSuite { root: context.here.clone(), tests, at_once: parse_args.threads, ..ListedSuite::default() })
}

/// The tests of a program. `name` is the first part of their ids; `plain` makes the command for
/// one; `in_one_process`: the user's command runs them all in one process.
pub(crate) fn tests(
    binary: TestBinary,
    parse_args: &HarnessArgs,
    name: &str,
    file: Option<&str>,
    in_one_process: bool,
    listing: LibtestListing,
    plain: &dyn Fn(&str) -> Vec<String>,
) -> Vec<TestCase> {
    let binary = Arc::new(binary);
    let LibtestListing { all, ignored } = listing;
    let shared: Option<Arc<dyn Program>> =
        (in_one_process && binary.harness == Harness::Libtest).then(|| -> Arc<dyn Program> {
            let choosing = parse_args.choosing.clone();
            Arc::new(SharedProcess { binary: binary.clone(), choosing, ignored: parse_args.ignored, all: all.len() })
        });
    let runs_ignored = parse_args.ignored != IgnoredTests::Skipped;
    let sequence = shared
        .as_ref()
        .map(|_| -> Arc<dyn Program> { Arc::new(SequentialProcess { binary: binary.clone(), ignored: runs_ignored }) });
    let test = |test: String| TestCase {
        id: format!("{name} {test}"),
        program: Arc::new(OneTest { binary: binary.clone(), ignored: runs_ignored }),
        shared: shared.clone(),
        sequence: sequence.clone(),
        file: file.map(str::to_owned),
        line: None,
        stage: 0,
        command: plain(&test).into_iter().chain(runs_ignored.then(|| "--include-ignored".to_owned())).collect(),
        skipped: ignored.contains(&test).then(|| "ignored".to_owned()),
        needs: TestNeeds::default(),
        name: test,
    };
    all.into_iter().map(test).collect()
}

impl TestBinary {
    /// Asks the program for its tests.
    pub(crate) fn listing(&self, parse_args: &HarnessArgs) -> Result<LibtestListing, String> {
        let all = self.list(parse_args)?;
        // libtest reports ignored tests itself. What a compatible harness prints of them is not
        // known.
        let ignored = match parse_args.ignored {
            IgnoredTests::Skipped if self.harness != Harness::Libtest => {
                let only =
                    HarnessArgs { choosing: parse_args.choosing.clone(), ignored: IgnoredTests::Only, threads: None };
                self.list(&only)?.into_iter().collect()
            }
            _ => BTreeSet::new(),
        };
        Ok(LibtestListing { all, ignored })
    }

    fn list(&self, parse_args: &HarnessArgs) -> Result<Vec<String>, String> {
        let only_ignored = (parse_args.ignored == IgnoredTests::Only).then_some("--ignored");
        let mut command = Command::new(&self.path);
        command.args(["--list", "--format", "terse"]).args(only_ignored).args(&parse_args.choosing);
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        apply_env(&mut command, &self.variables);
        let path = self.path.display();
        let output =
            captured_command::of(&mut command).map_err(|error| format!("{path} cannot be started: {error}"))?;
        if !output.status.success() {
            let stderr = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{path} does not list its tests ({}):\n{stderr}", output.status));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
    }

    pub(crate) fn start(&self, arguments: impl IntoIterator<Item = String>) -> ProcessSpec {
        let mut words = vec![self.path.to_string_lossy().into_owned()];
        words.extend(arguments);
        ProcessSpec {
            words,
            directory: self.directory.clone(),
            variables: self.variables.clone(),
            ..ProcessSpec::default()
        }
    }
}

impl Program for OneTest {
    fn start(&self, tests: &[&TestCase], _jobs: u32) -> Result<ProcessSpec, String> {
        let mut words = vec!["--exact".to_owned(), tests[0].name.clone(), "--nocapture".to_owned()];
        words.extend(self.ignored.then(|| "--include-ignored".to_owned()));
        Ok(self.binary.start(words))
    }

    fn listener(&self, tests: &[&TestCase]) -> Box<dyn OutputListener> {
        let name = tests[0].name.clone();
        let harness = self.binary.harness;
        Box::new(SingleTestListener::new(move |end: &ProcessEnd| match harness {
            Harness::Libtest => judge(&name, end),
            Harness::Alike | Harness::Own => TestResult::of_whole_program(end),
        }))
    }
}

impl Program for WholeProgram {
    fn start(&self, _cases: &[&TestCase], _jobs: u32) -> Result<ProcessSpec, String> {
        Ok(self.binary.start(self.arguments.iter().cloned()))
    }

    fn listener(&self, _cases: &[&TestCase]) -> Box<dyn OutputListener> {
        Box::new(SingleTestListener::new(TestResult::of_whole_program))
    }
}

fn judge(name: &str, end: &ProcessEnd) -> TestResult {
    let result = end.stdout.lines().rev().find_map(|line| line.strip_prefix("test result: "));
    let output = own_output(name, &end.stdout);
    let result = match (end.exit, result) {
        (ExitKind::Exit(0), Some(result)) if result.starts_with("ok. 1 passed;") => {
            return TestResult::new(Outcome::Passed, end.seconds).with_output(output, end.stderr.as_str());
        }
        (ExitKind::Exit(0), Some(result)) if result.starts_with("ok. 0 passed; 0 failed; 1 ignored;") => {
            return TestResult::new(Outcome::Skipped, end.seconds).failed(failed("Skipped", "ignored"));
        }
        (ExitKind::Exit(0), Some(_)) => {
            let message = "the program ran no test of this name".to_owned();
            TestResult::crashed(end.exit, end.seconds, Some(message), &end.stdout)
        }
        (ExitKind::Exit(101), Some(_)) => match sanitizers::report(&end.stderr) {
            Some(report) => TestResult::crashed(end.exit, end.seconds, Some(report), &end.stderr),
            None => {
                let failure = panics::failure(name, &end.stdout, &end.stderr);
                let result = TestResult::new(Outcome::Failed, end.seconds).failed(failure);
                return result.with_output(output, panics::without_panics(&end.stderr).trim());
            }
        },
        (exit, _) => {
            let why = sanitizers::report(&end.stderr).or_else(|| last_words(exit, name, end));
            TestResult::crashed(exit, end.seconds, why, &end.stderr)
        }
    };
    result.with_output(output, end.stderr.as_str())
}

/// Why the process died, if it printed that.
fn last_words(exit: ExitKind, name: &str, end: &ProcessEnd) -> Option<String> {
    let overflow = |line: &&str| line.contains("has overflowed its stack") || line.starts_with("fatal runtime error");
    let output = end.stderr.lines().find(overflow).map(str::to_owned).or_else(|| {
        let panic = panics::failure(name, "", &end.stderr);
        (panic.kind == "panic").then_some(panic.message)
    })?;
    Some(match exit {
        ExitKind::Signal(number) => {
            format!("killed by {}: {output}", signal_name(number))
        }
        ExitKind::Exit(code) => format!("the process exited with code {code}: {output}"),
        ExitKind::TimedOut => output,
    })
}

/// The test's own output, without the lines of the harness around it.
fn own_output<'a>(name: &str, stdout: &'a str) -> &'a str {
    let rest = stdout.strip_prefix("\nrunning 1 test\n").unwrap_or(stdout);
    match rest.rfind(&format!("test {name} ")) {
        Some(at) => &rest[..at],
        None => rest,
    }
}

/// Parses the arguments of a test program.
pub(crate) fn parse_args(arguments: &[String]) -> Result<HarnessArgs, ListError> {
    let mut parse_args = HarnessArgs::default();
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        let (name, value) = word.split_once('=').map_or((word.as_str(), None), |(name, value)| (name, Some(value)));
        let mut value = || value.map(str::to_owned).or_else(|| rest.next().cloned());
        match name {
            "--ignored" => parse_args.ignored = IgnoredTests::Only,
            "--include-ignored" => parse_args.ignored = IgnoredTests::Included,
            "--test-threads" => parse_args.threads = value().and_then(|number| number.parse().ok()),
            "--skip" => {
                parse_args.choosing.push("--skip".to_owned());
                parse_args.choosing.extend(value());
            }
            "--exact" => parse_args.choosing.push(word.clone()),
            "--nocapture" | "--no-capture" | "--show-output" | "--quiet" | "-q" | "--test" | "--report-time"
            | "--ensure-time" => {}
            "--fail-fast" => {
                return Err(ListError::refused("--fail-fast is not supported: unflake runs all tests", "leave it out"));
            }
            "--format" | "--color" | "--logfile" | "-Z" => drop(value()),
            "--list" | "--bench" | "--help" | "-h" | "--shuffle" | "--shuffle-seed" => {
                let why = format!("{name} of the test binary is not supported: unflake lists and orders tests itself");
                return Err(ListError::refused(why, "leave it out"));
            }
            _ if name.starts_with("-Z") => {}
            _ => parse_args.choosing.push(word.clone()),
        }
    }
    Ok(parse_args)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(exit: ExitKind, stdout: &str, stderr: &str) -> ProcessEnd {
        ProcessEnd { exit, stdout: stdout.to_owned(), stderr: stderr.to_owned(), seconds: 0.5 }
    }

    #[test]
    fn a_pass_needs_the_result_of_the_harness() {
        let ok = "\nrunning 1 test\ntest x ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored\n\n";
        assert_eq!(judge("x", &end(ExitKind::Exit(0), ok, "")).outcome, Outcome::Passed);
        let left = judge("x", &end(ExitKind::Exit(0), "\nrunning 1 test\n", ""));
        assert_eq!(left.outcome, Outcome::Crashed(ExitKind::Exit(0).death()));
        let none = "\nrunning 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored\n";
        assert_eq!(judge("x", &end(ExitKind::Exit(0), none, "")).outcome, Outcome::Crashed(ExitKind::Exit(0).death()));
    }

    #[test]
    fn a_death_has_its_signal_or_exit_code() {
        let overflow = "\nthread 'x' (7) has overflowed its stack\nfatal runtime error: stack overflow, aborting\n";
        let result = judge("x", &end(ExitKind::Signal(6), "\nrunning 1 test\n", overflow));
        assert_eq!(result.failure.unwrap().message, "killed by SIGABRT: thread 'x' (7) has overflowed its stack");
        let result = judge("x", &end(ExitKind::Signal(11), "", ""));
        assert_eq!(result.failure.unwrap().message, "killed by SIGSEGV");
    }

    #[test]
    fn what_the_harness_prints_is_not_the_tests() {
        let stdout = "\nrunning 1 test\nouttest bad ... FAILED\n\nfailures:\n";
        assert_eq!(own_output("bad", stdout), "out");
    }

    #[test]
    fn several_tests_at_the_same_time_are_one_command() {
        let command = ["cargo", "test"].map(str::to_owned);
        let alone = ["cargo", "test", "--lib", "--", "--exact", "a"].map(str::to_owned);
        let reproduced = |tests: &[&str], at_once| {
            let here = Path::new("/");
            let (alone, in_listed_order) = (Some(&alone[..]), false);
            let session =
                ReplayedSession { command: &command, tests, in_listed_order, at_once, alone, root: None, here };
            reproduce(&session).map(|words| words.join(" "))
        };
        assert_eq!(reproduced(&["p a"], 0).as_deref(), Some("cargo test --lib -- --exact a"));
        let both = "cargo test --lib -- --exact a m::b --test-threads=2";
        assert_eq!(reproduced(&["p a", "p m::b"], 2).as_deref(), Some(both));
        assert_eq!(reproduced(&["p a", "other b"], 2), None);
        assert_eq!(
            reproduced(&["p a", "p m::b"], 0).as_deref(),
            Some("cargo test --lib -- --exact a m::b --test-threads=1")
        );
        assert_eq!(reproduced(&["p b", "p a"], 0), None, "the harness sorts them");
        assert_eq!(reproduced(&["p a", "p a"], 0), None, "the harness runs each once");
    }

    #[test]
    fn arguments_are_sorted() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let found =
            parse_args(&words(&["parse", "--skip", "slow", "--nocapture", "--test-threads=1", "--ignored"])).unwrap();
        assert_eq!(
            found,
            HarnessArgs {
                choosing: words(&["parse", "--skip", "slow"]),
                ignored: IgnoredTests::Only,
                threads: Some(1)
            }
        );
        for refused in ["--list", "--shuffle", "--fail-fast"] {
            assert!(parse_args(&words(&[refused])).is_err(), "{refused}");
        }
    }
}
