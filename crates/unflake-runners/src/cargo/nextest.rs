//! `cargo nextest run`: nextest builds, lists and selects; the driver starts one process for each
//! test, as nextest does.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use serde::Deserialize;

use crate::cargo::handoff_socket::{HandedOffProgram, HandoffSocket};
use crate::cargo::libtest::{Harness, OneTest, TestBinary};
use crate::cargo::{self, cargo_test, nextest_groups, traced_build};
use crate::driver::list_context::ListContext;
use crate::driver::suite::{ListError, ListedSuite, TestCase};
use crate::process::bounded_text::BoundedText;
use crate::process::captured_command;
use crate::process::files::program_name;
use crate::process::spec::{EnvChanges, apply_env};
use crate::runner::{AgentEntry, Driver, Profile, Runner, Texts};

const STDERR_LIMIT: usize = 64 << 10;

/// Options by which not every listed test runs once, or not as a plain process.
const REFUSED: [&str; 6] =
    ["--fail-fast", "--max-fail", "--stress-count", "--stress-duration", "--debugger", "--tracer"];
/// Options about running and not about selecting, with whether a value follows.
const ABOUT_RUNNING: [(&str, bool); 20] = [
    ("-j", true),
    ("--test-threads", true),
    ("--retries", true),
    ("--flaky-result", true),
    ("--no-fail-fast", false),
    ("--no-tests", true),
    ("--no-capture", false),
    ("--nocapture", false),
    ("--failure-output", true),
    ("--success-output", true),
    ("--status-level", true),
    ("--final-status-level", true),
    ("--no-output-indent", false),
    ("--show-progress", true),
    ("--hide-progress-bar", false),
    ("--no-input-handler", false),
    ("--max-progress-running", true),
    ("--message-format", true),
    ("--message-format-version", true),
    ("--no-run", false),
];

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct NextestListing {
    rust_suites: BTreeMap<String, NextestBinary>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct NextestBinary {
    package_name: String,
    binary_id: String,
    binary_path: PathBuf,
    cwd: PathBuf,
    #[serde(default)]
    testcases: BTreeMap<String, NextestTest>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct NextestTest {
    #[serde(default)]
    ignored: bool,
    filter_match: FilterMatch,
}

#[derive(Deserialize)]
struct FilterMatch {
    status: String,
    reason: Option<String>,
}

pub(crate) struct Nextest;

static PROFILE: Profile = Profile {
    name: "cargo nextest",
    texts: Texts { starts_by: Some("`cargo nextest run`"), ..Texts::NONE },
    ..cargo::PROFILE
};

impl Runner for Nextest {
    fn profile(&self) -> &'static Profile {
        &PROFILE
    }

    fn entry(&self) -> AgentEntry {
        AgentEntry::Driven(Driver { list })
    }

    fn recognizes(&self, command: &[String]) -> bool {
        program_name(command) == Some("cargo") && cargo_test::subcommand(command) == Some("nextest")
    }
}

fn list(context: &ListContext<'_>) -> Result<ListedSuite, ListError> {
    let command = context.command;
    let args = NextestArgs::read(command)?;
    let handoff = HandoffSocket::open(context)?;
    let mut nextest = Command::new(&command[0]);
    nextest.args(&args.before).args(["nextest", "list", "--message-format", "json"]);
    nextest.args(handoff.options(command)).args(&args.choosing);
    handoff.prepare(&mut nextest, context);
    nextest.envs(traced_build::variables(context)?);
    let cannot = |error: std::io::Error| ListError::cannot_start(&command[0], &error);
    let variables_of = |invocation: HandedOffProgram| (invocation.path(), invocation.differing(context));
    let (output, invocation) = handoff.serve(|| captured_command::of(&mut nextest).map_err(cannot), variables_of)?;
    let output = output?;
    if !output.status.success() {
        let mut stderr = BoundedText::new(STDERR_LIMIT);
        stderr.add(&output.stderr);
        let text = stderr.text();
        if text.contains("no such command") {
            let what = "cargo-nextest is not installed: `cargo install cargo-nextest --locked` installs it";
            return Err(ListError::usage(what));
        }
        return Err(ListError::collection(format!("nextest cannot list the tests:\n{}", text.trim())));
    }
    let listing: NextestListing = serde_json::from_slice(&output.stdout)
        .map_err(|error| ListError::usage(format!("nextest's list of tests cannot be parsed: {error}")))?;
    let invocation = invocation.into_iter().collect();
    let mut suite = ListedSuite { root: context.here.clone(), at_once: args.threads, ..ListedSuite::default() };
    for listed_binary in listing.rust_suites.into_values() {
        add(listed_binary, &invocation, &args, &mut suite);
    }
    if let Ok(config) = fs::read_to_string(context.here.join(".config/nextest.toml")) {
        add_groups(&config, &args, context, &mut suite)?;
        let note = "of .config/nextest.toml only test selection and groups are used: no retries, timeouts or scripts";
        suite.notes.push(note.to_owned());
    }
    Ok(suite)
}

/// Asks nextest which tests are in which group: only it knows what a filter means.
fn add_groups(
    config: &str,
    args: &NextestArgs,
    context: &ListContext<'_>,
    suite: &mut ListedSuite,
) -> Result<(), ListError> {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get()) as u32;
    let mut grouped: BTreeSet<String> = BTreeSet::new();
    for rule in nextest_groups::rules(config, &args.profile(), cores) {
        let mut nextest = Command::new(&context.command[0]);
        nextest.args(&args.before).args(["nextest", "list", "--message-format", "json", "-E", &rule.filter]);
        nextest.args(args.plain.iter().skip(args.before.len() + 3)).envs(traced_build::variables(context)?);
        apply_env(&mut nextest, context.env_changes);
        let output = captured_command::of(&mut nextest).ok().filter(|output| output.status.success());
        let listing = output.and_then(|output| serde_json::from_slice::<NextestListing>(&output.stdout).ok());
        let Some(listing) = listing else {
            suite.notes.push(format!("nextest cannot list the tests of the group {}", rule.group));
            continue;
        };
        let matching = listing.rust_suites.into_values().flat_map(|binary| {
            let matches = |test: &NextestTest| {
                test.filter_match.status == "matches" || test.filter_match.reason.as_deref() == Some("ignored")
            };
            let names = binary.testcases.into_iter().filter(move |(_, test)| matches(test)).map(|(name, _)| name);
            names.map(move |name| format!("{} {name}", binary.binary_id))
        });
        let new: BTreeSet<String> = matching.filter(|id| !grouped.contains(id)).collect();
        if let Some(most) = rule.max_threads {
            for test in suite.tests.iter_mut().filter(|test| new.contains(&test.id)) {
                test.needs.resources.insert(rule.group.clone(), most);
            }
        }
        grouped.extend(new);
    }
    Ok(())
}

fn add(
    listed_binary: NextestBinary,
    invocation: &BTreeMap<PathBuf, EnvChanges>,
    args: &NextestArgs,
    suite: &mut ListedSuite,
) {
    let NextestBinary { package_name, binary_id, binary_path, cwd, testcases } = listed_binary;
    let mut variables = invocation.get(&binary_path).cloned().unwrap_or_default();
    for (name, value) in [
        ("NEXTEST", "1"),
        ("NEXTEST_EXECUTION_MODE", "process-per-test"),
        ("NEXTEST_BINARY_ID", &binary_id),
        ("CARGO_PKG_NAME", &package_name),
    ] {
        variables.insert(name.to_owned(), Some(value.to_owned()));
    }
    let harness = Harness::of(&binary_path);
    let binary = Arc::new(TestBinary { path: binary_path, harness, directory: Some(cwd), variables });
    for (name, test) in testcases {
        let matches = test.filter_match.status == "matches";
        let is_ignored = test.filter_match.reason.as_deref() == Some("ignored");
        if !matches && !is_ignored {
            suite.deselected += 1;
            continue;
        }
        let mut command = args.plain.clone();
        command.extend(["-E".to_owned(), format!("binary_id(={binary_id}) & test(={name})")]);
        if test.ignored && !command.iter().any(|word| word.starts_with("--run-ignored")) {
            command.extend(["--run-ignored", "all"].map(str::to_owned));
        }
        let program = Arc::new(OneTest { binary: binary.clone(), ignored: test.ignored });
        let skipped = (!matches).then(|| "ignored".to_owned());
        let id = format!("{binary_id} {name}");
        suite.tests.push(TestCase { skipped, ..TestCase::new(id, name, program, command) });
    }
}

/// The parsed command.
#[derive(Debug, PartialEq)]
struct NextestArgs {
    /// Words before the subcommand, such as a toolchain.
    before: Vec<String>,
    choosing: Vec<String>,
    threads: Option<u32>,
    /// The beginning of the command for one test.
    plain: Vec<String>,
}

impl NextestArgs {
    fn profile(&self) -> String {
        let mut words = self.choosing.iter();
        while let Some(word) = words.next() {
            match word.split_once('=') {
                None if ["-P", "--profile"].contains(&word.as_str()) => {
                    return words.next().cloned().unwrap_or_default();
                }
                Some(("-P" | "--profile", name)) => return name.to_owned(),
                _ => {}
            }
        }
        std::env::var("NEXTEST_PROFILE").unwrap_or_else(|_| "default".to_owned())
    }

    fn read(command: &[String]) -> Result<Self, ListError> {
        let at = command.iter().position(|word| word == "nextest").unwrap_or(1);
        let before = command[1..at].to_vec();
        match command.get(at + 1).map(String::as_str) {
            Some("run" | "r") => {}
            _ => {
                let why = "this command of nextest runs no tests";
                return Err(ListError::refused(why, "use `cargo nextest run`"));
            }
        }
        let mut choosing = Vec::new();
        let mut threads = None;
        let mut rest = command[at + 2..].iter();
        while let Some(word) = rest.next() {
            let (name, value) = word.split_once('=').map_or((word.as_str(), None), |(name, value)| (name, Some(value)));
            if REFUSED.contains(&name) {
                return Err(refused(name));
            }
            let Some((_, takes_value)) = ABOUT_RUNNING.iter().find(|(known, _)| *known == name) else {
                choosing.push(word.clone());
                continue;
            };
            let value = value.map(str::to_owned).or_else(|| takes_value.then(|| rest.next().cloned()).flatten());
            match name {
                "--no-run" => return Err(ListError::refused("--no-run of nextest runs no tests", "leave it out")),
                "--retries" if value.as_deref() != Some("0") => return Err(refused(name)),
                "-j" | "--test-threads" => threads = value.and_then(|number| number.parse().ok()),
                _ => {}
            }
        }
        let mut plain = vec![command[0].clone()];
        plain.extend(before.iter().cloned());
        plain.extend(["nextest".to_owned(), "run".to_owned()]);
        let mut as_cargo = vec![String::new()];
        as_cargo.extend(choosing.iter().take_while(|word| *word != "--").cloned());
        plain.extend(cargo_test::without_choice(&as_cargo, false).into_iter().skip(1));
        Ok(Self { before, choosing, threads, plain })
    }
}

fn refused(option: &str) -> ListError {
    let why = format!("{option} is not supported: unflake runs every test and reruns failures");
    let hint = match option {
        "--retries" => "leave it out; `unflake run --immediate` says how often a failed test runs again at once",
        _ => "leave it out",
    };
    ListError::refused(why, hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_about_running_is_not_for_listing() {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let command = words(
            "cargo +nightly nextest run --release -j 4 -E test(x) --retries=0 --run-ignored all parse -- --skip slow",
        );
        let args = NextestArgs::read(&command).ok().unwrap();
        let expected = NextestArgs {
            before: words("+nightly"),
            choosing: words("--release -E test(x) --run-ignored all parse -- --skip slow"),
            threads: Some(4),
            plain: words("cargo +nightly nextest run --release --run-ignored all"),
        };
        assert_eq!(args, expected);
        for refused in ["list", "run --max-fail 2", "run --fail-fast", "run --retries 2", "run --retries=1"] {
            assert!(NextestArgs::read(&words(&format!("cargo nextest {refused}"))).is_err(), "{refused}");
        }
    }
}
