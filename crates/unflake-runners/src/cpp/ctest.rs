//! CTest: a list of commands, each one test. A test that needs a feature of CTest itself runs
//! through it.

use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use regex_lite::Regex;
use serde::Deserialize;
use serde_json::Value;
use tracing::debug;
use unflake_observe::trace::TraceRuntime;
use unflake_protocol::{Failure, Outcome, TestNeeds};

use crate::cpp::{self, gtest_output, traced_build};
use crate::driver::list_context::ListContext;
use crate::driver::program::{OutputListener, Program, SingleTestListener};
use crate::driver::suite::{ListError, ListedSuite, TestCase};
use crate::driver::test_result::{TestResult, failed};
use crate::process::files::program_name;
use crate::process::sanitizers;
use crate::process::spec::{EnvChanges, ExitKind, ProcessEnd, ProcessSpec, apply_env};
use crate::runner::{AgentEntry, Capabilities, DefaultCommand, Driver, Profile, Runner, Texts};

/// Properties that do not change how a test runs alone.
const HARMLESS: [&str; 7] =
    ["LABELS", "COST", "MEASUREMENT", "PROCESSORS", "PROCESSOR_AFFINITY", "_BACKTRACE_TRIPLES", "DEPENDS"];
/// Options about output, with whether a value follows.
const ABOUT_OUTPUT: [(&str, bool); 13] = [
    ("-V", false),
    ("--verbose", false),
    ("-VV", false),
    ("--extra-verbose", false),
    ("--debug", false),
    ("--output-on-failure", false),
    ("--progress", false),
    ("-Q", false),
    ("--quiet", false),
    ("--output-junit", true),
    ("--output-log", true),
    ("-O", true),
    ("--no-tests", false),
];
/// Options by which other tests run than the listed ones, once each.
const REFUSED: [&str; 3] = ["--repeat", "--repeat-until-fail", "--stop-on-failure"];

#[derive(Deserialize)]
struct CtestListing {
    tests: Vec<CtestTest>,
}

#[derive(Deserialize)]
struct CtestTest {
    name: String,
    #[serde(default)]
    command: Vec<String>,
    #[serde(default)]
    properties: Vec<Property>,
}

#[derive(Deserialize)]
struct Property {
    name: String,
    value: Value,
}

pub(crate) struct Ctest;

static PROFILE: Profile = Profile {
    name: "CTest",
    // A test may be any command, so nothing is known of the programs. One that cannot be built for tracing
    // runs as it is.
    capabilities: Capabilities { fork: true, trace: true, ..Capabilities::NONE },
    texts: Texts { example: Some("ctest"), starts_by: Some("`ctest`"), ..Texts::NONE },
    ..cpp::PROFILE
};

impl Runner for Ctest {
    fn profile(&self) -> &'static Profile {
        &PROFILE
    }

    fn entry(&self) -> AgentEntry {
        AgentEntry::Driven(Driver { list })
    }

    fn recognizes(&self, command: &[String]) -> bool {
        matches!(program_name(command), Some("ctest" | "ctest3"))
    }

    fn default_command(&self, project: &Path) -> Option<DefaultCommand> {
        let words = ["ctest", "--test-dir", "build"];
        let is_ours = project.join("build/CTestTestfile.cmake").is_file();
        is_ours.then(|| DefaultCommand::new(&words, "there are tests for CTest in build")).flatten()
    }
}

fn list(context: &ListContext<'_>) -> Result<ListedSuite, ListError> {
    let command = context.command;
    let CtestArgs { choosing, mut at_once, is_shuffled, timeout } = CtestArgs::read(&command[1..])?;
    let parallel = std::env::var("CTEST_PARALLEL_LEVEL").ok().and_then(|number| number.parse().ok());
    let mut ctest = Command::new(&command[0]);
    ctest.arg("--show-only=json-v1").args(&choosing).stdin(Stdio::null());
    apply_env(&mut ctest, context.env_changes);
    let output = ctest.output();
    let output = output.map_err(|error| ListError::cannot_start(&command[0], &error))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(ListError::usage(format!("ctest does not list its tests:\n{}", stderr.trim())));
    }
    let listing: CtestListing = serde_json::from_slice(&output.stdout).map_err(|error| {
        ListError::usage(format!("ctest's list of tests cannot be parsed ({error}); unflake needs CTest 3.14 or later"))
    })?;
    let mut suite = ListedSuite { root: context.here.clone(), ..ListedSuite::default() };
    let mut alone_wanted = false;
    for listed in listing.tests {
        let serial =
            |one: &Property| ["RUN_SERIAL", "RESOURCE_LOCK", "RESOURCE_GROUPS", "DEPENDS"].contains(&&*one.name);
        alone_wanted |= listed.properties.iter().any(serial);
        let name = listed.name.clone();
        let mut plain = vec![command[0].clone()];
        plain.extend(directory_words(&choosing));
        plain.extend(timeout.map(|limit| format!("--timeout={}", limit.as_secs_f64())));
        plain.extend(["--output-on-failure".to_owned(), "-R".to_owned(), format!("^{}$", escaped(&name))]);
        let skipped = listed.flag("DISABLED").then(|| "disabled".to_owned());
        let needs = listed.needs();
        let tracing = context.tracing.map(|recorder| (recorder.runtime.clone(), context.env_changes.clone()));
        let program = Arc::new(CtestProgram { tracing, ..CtestProgram::of(listed, &plain, timeout) });
        suite.tests.push(TestCase { skipped, needs, ..TestCase::new(name.clone(), name, program, plain) });
    }
    if is_shuffled {
        let random = RandomState::new();
        suite.tests.sort_by_cached_key(|test| random.hash_one(&test.id));
        suite.notes.push("the first pass runs in a shuffled order: --schedule-random".to_owned());
    }
    // CTest runs one test at a time by default, and its users rely on that.
    at_once = at_once.or(parallel).or(Some(1));
    if alone_wanted && at_once != Some(1) {
        at_once = Some(1);
        suite.notes.push("tests run one at a time: some of them lock resources or depend on others".to_owned());
    }
    suite.at_once = at_once;
    Ok(suite)
}

/// The parsed arguments.
#[derive(Debug, Default, PartialEq)]
struct CtestArgs {
    /// The words that select tests.
    choosing: Vec<String>,
    /// How many tests may run at once.
    at_once: Option<u32>,
    is_shuffled: bool,
    /// The time limit of a test that has none of its own.
    timeout: Option<Duration>,
}

impl CtestArgs {
    fn read(words: &[String]) -> Result<Self, ListError> {
        let mut args = Self::default();
        let mut rest = words.iter().peekable();
        while let Some(word) = rest.next() {
            let (name, value) = word.split_once('=').map_or((word.as_str(), None), |(name, value)| (name, Some(value)));
            if matches!(name, "-j" | "--parallel") {
                let follows = rest.next_if(|next| next.parse::<u32>().is_ok());
                let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
                args.at_once =
                    value.or(follows.map(String::as_str)).and_then(|number| number.parse().ok()).or(Some(cores));
            } else if let Some(number) = word.strip_prefix("-j").and_then(|number| number.parse().ok()) {
                args.at_once = Some(number);
            } else if REFUSED.contains(&name) {
                let why = format!("{name} is not supported: unflake runs every test and reruns failures");
                return Err(ListError::refused(why, "leave it out, or use `unflake stress`"));
            } else if name == "--schedule-random" {
                args.is_shuffled = true;
            } else if name == "--timeout" {
                let seconds = value.or_else(|| rest.next().map(String::as_str)).and_then(|text| text.parse().ok());
                args.timeout = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
            } else if let Some((_, takes_value)) = ABOUT_OUTPUT.iter().find(|(known, _)| *known == name) {
                if *takes_value && value.is_none() {
                    rest.next();
                }
            } else {
                args.choosing.push(word.clone());
            }
        }
        Ok(args)
    }
}

/// The words that say where the tests are.
fn directory_words(words: &[String]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let name = word.split('=').next().unwrap_or(word);
        if ["--test-dir", "-C", "--build-config", "--preset"].contains(&name) {
            kept.push(word.clone());
            if name == word {
                kept.extend(rest.next().cloned());
            }
        }
    }
    kept
}

fn escaped(name: &str) -> String {
    let special = |character: char| r"\^$.[]|()*+?".contains(character);
    name.chars().flat_map(|one| special(one).then_some('\\').into_iter().chain([one])).collect()
}

impl CtestTest {
    fn property(&self, name: &str) -> Option<&Value> {
        self.properties.iter().find(|one| one.name == name).map(|one| &one.value)
    }

    fn flag(&self, name: &str) -> bool {
        self.property(name).is_some_and(|value| value.as_bool().unwrap_or(false))
    }

    fn needs(&self) -> TestNeeds {
        TestNeeds {
            alone: self.flag("RUN_SERIAL"),
            jobs: self.property("PROCESSORS").and_then(Value::as_u64).unwrap_or_default() as u32,
            resources: self.texts("RESOURCE_LOCK").into_iter().map(|name| (name, 1)).collect(),
        }
    }

    fn texts(&self, name: &str) -> Vec<String> {
        match self.property(name) {
            Some(Value::Array(values)) => values.iter().filter_map(|value| value.as_str().map(str::to_owned)).collect(),
            Some(Value::String(text)) => vec![text.clone()],
            _ => Vec::new(),
        }
    }
}

/// The command of one test.
struct CtestProgram {
    start: ProcessSpec,
    rules: Option<Arc<PassRules>>,
    /// What a build for tracing needs, where lines are wanted.
    tracing: Option<(TraceRuntime, EnvChanges)>,
    /// The program of that build, made when the test first runs. None: it cannot be made.
    traced: OnceLock<Option<PathBuf>>,
}

/// How CTest decides the result of a test that the driver starts directly.
#[derive(Default)]
struct PassRules {
    will_fail: bool,
    skip_code: Option<i32>,
    skip: Vec<Regex>,
    pass: Vec<Regex>,
    fail: Vec<Regex>,
}

impl CtestProgram {
    fn of(listed: CtestTest, through_ctest: &[String], timeout: Option<Duration>) -> Self {
        match Self::direct(&listed, timeout) {
            Some(direct) => direct,
            None => Self {
                start: ProcessSpec { words: through_ctest.to_vec(), merged: true, ..ProcessSpec::default() },
                rules: None,
                tracing: None,
                traced: OnceLock::new(),
            },
        }
    }

    /// None where a property needs CTest itself.
    fn direct(listed: &CtestTest, timeout: Option<Duration>) -> Option<Self> {
        if listed.command.is_empty() {
            return None;
        }
        let mut rules = PassRules::default();
        let words = listed.command.clone();
        let mut start = ProcessSpec { words, merged: true, limit: timeout, ..ProcessSpec::default() };
        let patterns = |name: &str| listed.texts(name).iter().map(|text| Regex::new(text).ok()).collect::<Option<_>>();
        for property in &listed.properties {
            match property.name.as_str() {
                "WORKING_DIRECTORY" => start.directory = property.value.as_str().map(PathBuf::from),
                "ENVIRONMENT" => start.variables = variables(&listed.texts("ENVIRONMENT")),
                "TIMEOUT" => start.limit = property.value.as_f64().map(Duration::from_secs_f64),
                "WILL_FAIL" => rules.will_fail = listed.flag("WILL_FAIL"),
                "SKIP_RETURN_CODE" => rules.skip_code = property.value.as_i64().map(|code| code as i32),
                "SKIP_REGULAR_EXPRESSION" => rules.skip = patterns("SKIP_REGULAR_EXPRESSION")?,
                "PASS_REGULAR_EXPRESSION" => rules.pass = patterns("PASS_REGULAR_EXPRESSION")?,
                "FAIL_REGULAR_EXPRESSION" => rules.fail = patterns("FAIL_REGULAR_EXPRESSION")?,
                "DISABLED" | "RUN_SERIAL" | "RESOURCE_LOCK" => {}
                other if HARMLESS.contains(&other) => {}
                _ => return None,
            }
        }
        Some(Self { start, rules: Some(Arc::new(rules)), tracing: None, traced: OnceLock::new() })
    }
}

fn variables(assignments: &[String]) -> EnvChanges {
    let split = |text: &String| text.split_once('=').map(|(name, value)| (name.to_owned(), Some(value.to_owned())));
    assignments.iter().filter_map(split).collect()
}

impl Program for CtestProgram {
    fn start(&self, _cases: &[&TestCase], _jobs: u32) -> Result<ProcessSpec, String> {
        let mut start = self.start.clone();
        if let Some((runtime, env)) = self.tracing.as_ref().filter(|_| self.rules.is_some()) {
            let build = || {
                let built = traced_build::program(Path::new(&start.words[0]), runtime, env);
                built.inspect_err(|error| debug!(program = start.words[0], why = error.text, "cannot be traced")).ok()
            };
            if let Some(program) = self.traced.get_or_init(build) {
                start.words[0] = program.to_string_lossy().into_owned();
            }
        }
        Ok(start)
    }

    fn listener(&self, _cases: &[&TestCase]) -> Box<dyn OutputListener> {
        let rules = self.rules.clone();
        Box::new(SingleTestListener::new(move |end: &ProcessEnd| match &rules {
            Some(rules) => rules.judge(end),
            None => through_ctest(end),
        }))
    }
}

impl PassRules {
    fn judge(&self, end: &ProcessEnd) -> TestResult {
        let output = &end.stdout;
        let skips = matching(&self.skip, output).is_some()
            || self.skip_code.is_some_and(|code| end.exit == ExitKind::Exit(code));
        if skips {
            return TestResult::new(Outcome::Skipped, end.seconds).failed(failed("Skipped", "skipped"));
        }
        let crashed = matches!(end.exit, ExitKind::Signal(_)) || sanitizers::report(output).is_some();
        let found_bad = matching(&self.fail, output);
        let good = match (&self.pass[..], found_bad) {
            (_, Some(_)) => false,
            ([], None) => end.exit == ExitKind::Exit(0),
            (pass, None) => matching(pass, output).is_some(),
        };
        // WILL_FAIL turns a failure into a pass, but not a death by a signal.
        let turned = self.will_fail && !matches!(end.exit, ExitKind::Signal(_));
        if good != self.will_fail && (turned || !crashed) {
            return TestResult::new(Outcome::Passed, end.seconds).with_output(own_part(output), end.stderr.as_str());
        }
        if crashed {
            return TestResult::crashed(end.exit, end.seconds, sanitizers::report(output), output.trim())
                .with_output(output.as_str(), "");
        }
        let message = match (found_bad, self.will_fail) {
            (_, true) => Some("it was expected to fail, and did not".to_owned()),
            (Some(pattern), _) => Some(format!("its output matches FAIL_REGULAR_EXPRESSION {pattern}")),
            (None, _) if !self.pass.is_empty() => Some("its output does not match PASS_REGULAR_EXPRESSION".to_owned()),
            _ => None,
        };
        let failure = match message {
            Some(message) => Failure { trace: output.trim().to_owned(), ..failed("Failed", &message) },
            None if output.contains("[ RUN      ]") => {
                let output = own_part(output);
                let result = TestResult::new(Outcome::Failed, end.seconds).failed(gtest_output::failure_in(output));
                return result.with_output(gtest_output::before_failure(output), "");
            }
            None => return TestResult::of_whole_program(end),
        };
        TestResult::new(Outcome::Failed, end.seconds).failed(failure).with_output(output.as_str(), "")
    }
}

fn matching<'a>(patterns: &'a [Regex], output: &str) -> Option<&'a str> {
    patterns.iter().find(|pattern| pattern.is_match(output)).map(Regex::as_str)
}

/// The output of a GoogleTest program between the start and the end of its one test.
fn own_part(output: &str) -> &str {
    let from = output.find("[ RUN      ]").map_or(0, |at| at + output[at..].find('\n').map_or(0, |end| end + 1));
    let marks = ["[  FAILED  ]", "[       OK ]"].into_iter().filter_map(|mark| output[from..].find(mark));
    let to = marks.min().map_or(output.len(), |at| from + at);
    &output[from..to]
}

/// The result of a test that CTest ran.
fn through_ctest(end: &ProcessEnd) -> TestResult {
    let output = end.stdout.trim();
    match end.exit {
        ExitKind::Exit(0) if output.contains("***Skipped") => {
            TestResult::new(Outcome::Skipped, end.seconds).failed(failed("Skipped", "skipped"))
        }
        ExitKind::Exit(0) if output.contains("tests passed") => TestResult::new(Outcome::Passed, end.seconds),
        ExitKind::Exit(0) => {
            let message = "ctest ran no test of this name".to_owned();
            TestResult::crashed(end.exit, end.seconds, Some(message), output)
        }
        exit if output.contains("***Exception") => {
            TestResult::crashed(exit, end.seconds, sanitizers::report(output), output).with_output(output, "")
        }
        _ => {
            let missing = output.lines().find(|line| line.starts_with("Unable to find executable"));
            let message = missing.unwrap_or("ctest reports a failure");
            let failure = Failure { trace: output.to_owned(), ..failed("Failed", message) };
            TestResult::new(Outcome::Failed, end.seconds).failed(failure).with_output(output, "")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(rules: &PassRules, exit: ExitKind, output: &str) -> Outcome {
        rules.judge(&ProcessEnd { exit, stdout: output.to_owned(), stderr: String::new(), seconds: 0.0 }).outcome
    }

    #[test]
    fn properties_decide_what_an_end_means() {
        let pattern = |text: &str| vec![Regex::new(text).unwrap()];
        let plain = PassRules::default();
        assert_eq!(result(&plain, ExitKind::Exit(0), ""), Outcome::Passed);
        assert_eq!(result(&plain, ExitKind::Exit(3), ""), Outcome::Failed);
        assert_eq!(result(&plain, ExitKind::Signal(11), ""), Outcome::Crashed(ExitKind::Signal(11).death()));
        let will_fail = PassRules { will_fail: true, ..PassRules::default() };
        assert_eq!(result(&will_fail, ExitKind::Exit(3), ""), Outcome::Passed);
        assert_eq!(result(&will_fail, ExitKind::Exit(0), ""), Outcome::Failed);
        assert_eq!(result(&will_fail, ExitKind::Signal(11), ""), Outcome::Crashed(ExitKind::Signal(11).death()));
        let pass = PassRules { pass: pattern("all good"), ..PassRules::default() };
        assert_eq!(result(&pass, ExitKind::Exit(3), "all good"), Outcome::Passed);
        assert_eq!(result(&pass, ExitKind::Exit(0), "hm"), Outcome::Failed);
        let skip = PassRules { skip: pattern("\\[  SKIPPED \\]"), skip_code: Some(77), ..PassRules::default() };
        assert_eq!(result(&skip, ExitKind::Exit(0), "[  SKIPPED ] A"), Outcome::Skipped);
        assert_eq!(result(&skip, ExitKind::Exit(77), ""), Outcome::Skipped);
        let fail = PassRules { fail: pattern("WARNING"), ..PassRules::default() };
        assert_eq!(result(&fail, ExitKind::Exit(0), "a WARNING"), Outcome::Failed);
    }

    #[test]
    fn words_that_choose_are_kept() {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let args = |text: &str| CtestArgs::read(&words(text));
        let found = args("--test-dir build -j 3 -V -R shop --schedule-random --timeout 1.5").unwrap();
        let choosing = words("--test-dir build -R shop");
        let timeout = Some(Duration::from_millis(1500));
        assert_eq!(found, CtestArgs { choosing, at_once: Some(3), is_shuffled: true, timeout });
        assert_eq!(args("-j8").unwrap().at_once, Some(8));
        for refused in ["--repeat until-fail:2", "--repeat-until-fail 2", "--stop-on-failure"] {
            assert!(args(refused).is_err(), "{refused}");
        }
        assert_eq!(directory_words(&words("--test-dir build -R shop")), words("--test-dir build"));
        assert_eq!(escaped("a.b<int>"), "a\\.b<int>");
    }
}
