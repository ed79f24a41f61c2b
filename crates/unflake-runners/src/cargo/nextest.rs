//! `cargo nextest run`: nextest builds, lists and chooses; each test is then a process of ours, as it would be one of its.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use serde::Deserialize;

use crate::cargo::cargo_test;
use crate::cargo::handoff_socket::{Desk, Handed};
use crate::cargo::libtest::{Binary, Harness, OneTest};
use crate::driver::orders::Workshop;
use crate::driver::suite::{CannotList, Case, Suite};
use crate::process::bounded_text::Capture;
use crate::process::captured_command;

const SAID: usize = 64 << 10;

/// Options that are about running and not about choosing, with whether a value follows.
const ABOUT_RUNNING: [(&str, bool); 26] = [
    ("-j", true),
    ("--test-threads", true),
    ("--retries", true),
    ("--flaky-result", true),
    ("--fail-fast", false),
    ("--no-fail-fast", false),
    ("--max-fail", true),
    ("--debugger", true),
    ("--tracer", true),
    ("--no-tests", true),
    ("--no-capture", false),
    ("--nocapture", false),
    ("--stress-count", true),
    ("--stress-duration", true),
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
struct Listing {
    rust_suites: BTreeMap<String, RustSuite>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct RustSuite {
    package_name: String,
    binary_id: String,
    binary_path: PathBuf,
    cwd: PathBuf,
    #[serde(default)]
    testcases: BTreeMap<String, TestCase>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct TestCase {
    #[serde(default)]
    ignored: bool,
    filter_match: FilterMatch,
}

#[derive(Deserialize)]
struct FilterMatch {
    status: String,
    reason: Option<String>,
}

pub(crate) fn list(command: &[String], workshop: &Workshop<'_>) -> Result<Suite, CannotList> {
    let wanted = Wanted::read(command)?;
    let desk = Desk::open(workshop)?;
    let mut nextest = Command::new(&command[0]);
    nextest.args(&wanted.before).args(["nextest", "list", "--message-format", "json"]);
    nextest.args(desk.options(command)).args(&wanted.choosing);
    desk.prepare(&mut nextest, workshop);
    if let Some(tracing) = workshop.tracing {
        nextest.envs(tracing.of_cargo(command)?);
    }
    let cannot = |error: std::io::Error| CannotList::usage(format!("`{}` cannot be started: {error}", command[0]));
    let variables_of = |handed: Handed| (handed.path(), handed.differing(workshop));
    let (output, handed) = desk.serve(|| captured_command::of(&mut nextest).map_err(cannot), variables_of)?;
    let output = output?;
    if !output.status.success() {
        let mut said = Capture::new(SAID);
        said.add(&output.stderr);
        let text = said.text();
        if text.contains("no such command") {
            let what = "cargo-nextest is not installed: `cargo install cargo-nextest --locked` installs it";
            return Err(CannotList::usage(what));
        }
        return Err(CannotList::collection(format!("nextest cannot list the tests:\n{}", text.trim())));
    }
    let listing: Listing = serde_json::from_slice(&output.stdout)
        .map_err(|error| CannotList::usage(format!("what nextest lists is not understood: {error}")))?;
    let handed = handed.into_iter().collect();
    let mut suite = Suite { root: workshop.here.clone(), at_once: wanted.threads, ..Suite::default() };
    for rust_suite in listing.rust_suites.into_values() {
        add(rust_suite, &handed, &wanted, &mut suite);
    }
    if workshop.here.join(".config/nextest.toml").is_file() {
        let note = "of .config/nextest.toml only what chooses tests is used: no retries, time-outs, groups or scripts";
        suite.notes.push(note.to_owned());
    }
    Ok(suite)
}

fn add(
    rust_suite: RustSuite,
    handed: &BTreeMap<PathBuf, BTreeMap<String, Option<String>>>,
    wanted: &Wanted,
    suite: &mut Suite,
) {
    let RustSuite { package_name, binary_id, binary_path, cwd, testcases } = rust_suite;
    let mut variables = handed.get(&binary_path).cloned().unwrap_or_default();
    for (name, value) in [
        ("NEXTEST", "1"),
        ("NEXTEST_EXECUTION_MODE", "process-per-test"),
        ("NEXTEST_BINARY_ID", &binary_id),
        ("CARGO_PKG_NAME", &package_name),
    ] {
        variables.insert(name.to_owned(), Some(value.to_owned()));
    }
    let harness = Harness::of(&binary_path);
    let binary = Arc::new(Binary { path: binary_path, harness, directory: Some(cwd), variables });
    for (name, test) in testcases {
        let matches = test.filter_match.status == "matches";
        let is_ignored = test.filter_match.reason.as_deref() == Some("ignored");
        if !matches && !is_ignored {
            suite.deselected += 1;
            continue;
        }
        let mut command = wanted.plain.clone();
        command.extend(["-E".to_owned(), format!("binary_id(={binary_id}) & test(={name})")]);
        if test.ignored && !command.iter().any(|word| word.starts_with("--run-ignored")) {
            command.extend(["--run-ignored", "all"].map(str::to_owned));
        }
        suite.cases.push(Case {
            id: format!("{binary_id} {name}"),
            program: Arc::new(OneTest { binary: binary.clone(), ignored: test.ignored }),
            crowd: None,
            file: None,
            line: None,
            command,
            skipped: (!matches).then(|| "ignored".to_owned()),
            name,
        });
    }
}

/// What the user's command asks for.
#[derive(Debug, PartialEq)]
struct Wanted {
    /// Words of cargo before its subcommand, such as a toolchain.
    before: Vec<String>,
    choosing: Vec<String>,
    threads: Option<u32>,
    /// The beginning of a command for one test.
    plain: Vec<String>,
}

impl Wanted {
    fn read(command: &[String]) -> Result<Self, CannotList> {
        let at = command.iter().position(|word| word == "nextest").unwrap_or(1);
        let before = command[1..at].to_vec();
        match command.get(at + 1).map(String::as_str) {
            Some("run" | "r") => {}
            _ => return Err(CannotList::usage("unflake runs tests: `unflake run -- cargo nextest run`")),
        }
        let mut choosing = Vec::new();
        let mut threads = None;
        let mut rest = command[at + 2..].iter();
        while let Some(word) = rest.next() {
            let (name, value) = word.split_once('=').map_or((word.as_str(), None), |(name, value)| (name, Some(value)));
            let Some((_, takes_value)) = ABOUT_RUNNING.iter().find(|(known, _)| *known == name) else {
                choosing.push(word.clone());
                continue;
            };
            if name == "--no-run" {
                return Err(CannotList::usage("--no-run of nextest runs no tests"));
            }
            let value = value.map(str::to_owned).or_else(|| takes_value.then(|| rest.next().cloned()).flatten());
            if matches!(name, "-j" | "--test-threads") {
                threads = value.and_then(|number| number.parse().ok());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_about_running_is_not_for_listing() {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let command = words(
            "cargo +nightly nextest run --release -j 4 -E test(x) --retries=2 --run-ignored all parse -- --skip slow",
        );
        let wanted = Wanted::read(&command).ok().unwrap();
        let expected = Wanted {
            before: words("+nightly"),
            choosing: words("--release -E test(x) --run-ignored all parse -- --skip slow"),
            threads: Some(4),
            plain: words("cargo +nightly nextest run --release --run-ignored all"),
        };
        assert_eq!(wanted, expected);
        assert!(Wanted::read(&words("cargo nextest list")).is_err());
    }
}
