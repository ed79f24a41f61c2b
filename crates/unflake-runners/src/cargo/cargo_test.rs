//! `cargo test`: cargo builds, and hands over to us each test program with everything it would start it with.
//!
//! So every option of cargo means what it always means, and each program gets the directory and the variables that cargo
//! would give it.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use serde::Deserialize;

use crate::cargo::handoff_socket::{Desk, Handed};
use crate::cargo::libtest::{self, Binary, Harness, Listing, WholeProgram, Wishes};
use crate::driver::orders::Workshop;
use crate::driver::suite::{CannotList, Case, Suite, relative};
use crate::process::bounded_text::Capture;
use crate::process::captured_command;

const COMPILER_WORDS: usize = 64 << 10;

/// A program that has been handed over, asked for its tests.
struct Asked {
    handed: Handed,
    binary: Binary,
    /// None where its harness is its own: it is not asked.
    listed: Option<Result<(Wishes, Listing), CannotList>>,
}

impl Asked {
    fn new(handed: Handed, workshop: &Workshop<'_>) -> Self {
        let path = handed.path();
        let (harness, variables) = (Harness::of(&path), handed.differing(workshop));
        let binary = Binary { path, harness, directory: Some(handed.directory.clone()), variables };
        let ask = || {
            let wishes = libtest::wishes(handed.arguments()).map_err(CannotList::usage)?;
            let listing = binary.listing(&wishes).map_err(CannotList::collection)?;
            Ok((wishes, listing))
        };
        let listed = (harness != Harness::Own).then(ask);
        Self { handed, binary, listed }
    }
}

pub(crate) fn list(command: &[String], workshop: &Workshop<'_>) -> Result<Suite, CannotList> {
    let (before, after) = split(command);
    refuse_what_runs_nothing(&before)?;
    let variables = match workshop.tracing {
        Some(tracing) => tracing.of_cargo(&before)?,
        None => Vec::new(),
    };
    let desk = Desk::open(workshop)?;
    // Programs are asked while cargo still hands over others.
    let ask = |handed: Handed| (!handed.is_of_doctests()).then(|| Asked::new(handed, workshop));
    let (messages, asked) = desk.serve(|| build(&before, after, &desk, &variables, workshop), ask)?;
    let messages = messages?;
    let artifacts: Vec<Artifact> = messages.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let mut suite = Suite { root: workshop.here.clone(), ..Suite::default() };
    let has_doctests = asked.iter().any(Option::is_none);
    for asked in asked.into_iter().flatten() {
        add(asked, &artifacts, &before, workshop, &mut suite)?;
    }
    if has_doctests {
        suite.notes.push("doctests are not run: `cargo test --doc` runs them".to_owned());
    }
    Ok(suite)
}

/// The words before `--`, and those after it.
fn split(command: &[String]) -> (Vec<String>, &[String]) {
    match command.iter().position(|word| word == "--") {
        Some(at) => (command[..at].to_vec(), &command[at + 1..]),
        None => (command.to_vec(), &[]),
    }
}

fn refuse_what_runs_nothing(words: &[String]) -> Result<(), CannotList> {
    for word in words {
        let name = word.split('=').next().unwrap_or(word);
        match name {
            "--no-run" | "--help" | "-h" => return Err(CannotList::usage(format!("{name} of cargo runs no tests"))),
            "--doc" => return Err(CannotList::usage("unflake does not run doctests; `cargo test --doc` does")),
            "--message-format" => {
                return Err(CannotList::usage("--message-format of cargo is needed by unflake itself; leave it out"));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Has cargo build everything and hand it over. What it says of it, as JSON, a message a line.
fn build(
    before: &[String],
    after: &[String],
    desk: &Desk,
    variables: &[(&str, OsString)],
    workshop: &Workshop<'_>,
) -> Result<String, CannotList> {
    let at = 1 + before[1..].iter().position(|word| !word.starts_with('+')).unwrap_or(0);
    let mut command = Command::new(&before[0]);
    command.args(&before[1..=at]);
    command.args(["--message-format=json-render-diagnostics", "--no-fail-fast"]);
    command.args(desk.options(before));
    let has = |name: &str| before.iter().any(|word| word == name);
    command.args(before[at + 1..].iter().filter(|word| *word != "--no-fail-fast"));
    if !after.is_empty() {
        command.arg("--").args(after);
    }
    desk.prepare(&mut command, workshop);
    command.envs(variables.iter().map(|(name, value)| (name, value)));
    let cannot = |error: std::io::Error| CannotList::usage(format!("`{}` cannot be started: {error}", before[0]));
    let output = captured_command::of(&mut command).map_err(cannot)?;
    if !output.status.success() {
        let mut said = Capture::new(COMPILER_WORDS);
        said.add(&output.stderr);
        let what =
            if has("--quiet") || has("-q") { "cargo could not build the tests" } else { "the tests do not build" };
        return Err(CannotList::collection(format!("{what}:\n{}", said.text().trim())));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

pub(crate) fn values_of(words: &[String], option: &str) -> Vec<String> {
    let mut values = Vec::new();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        match word.strip_prefix(option) {
            Some("") => values.extend(rest.next().cloned()),
            Some(value) => values.extend(value.strip_prefix('=').map(str::to_owned)),
            None => {}
        }
    }
    values
}

/// The part of cargo's message about something it built that is of use here.
#[derive(Deserialize)]
struct Artifact {
    executable: PathBuf,
    target: Target,
}

#[derive(Deserialize)]
struct Target {
    kind: Vec<String>,
    name: String,
    src_path: PathBuf,
}

/// Adds the tests of one program.
fn add(
    asked: Asked,
    artifacts: &[Artifact],
    cargo: &[String],
    workshop: &Workshop<'_>,
    suite: &mut Suite,
) -> Result<(), CannotList> {
    let Asked { handed, binary, listed } = asked;
    let package = handed.variables.get("CARGO_PKG_NAME").cloned().unwrap_or_default();
    let target = artifacts.iter().find(|artifact| artifact.executable == binary.path).map(|artifact| &artifact.target);
    let (name, selecting) = match target {
        Some(target) => named(&package, target),
        None => (package.clone(), Vec::new()),
    };
    let file = target.map(|target| relative(&target.src_path, &workshop.here));
    let mut whole = without_choice(cargo, true);
    whole.extend(["-p".to_owned(), package]);
    whole.extend(selecting);
    let Some(listed) = listed else {
        suite.notes.push(format!("{name} has a test harness of its own: it is run as one test"));
        suite.cases.push(Case {
            id: name.clone(),
            name,
            program: Arc::new(WholeProgram { binary: Arc::new(binary), arguments: handed.arguments().to_vec() }),
            crowd: None,
            file,
            line: None,
            command: whole,
            skipped: None,
        });
        return Ok(());
    };
    let (wishes, listing) = listed?;
    let threads = wishes.threads.or_else(|| env::var("RUST_TEST_THREADS").ok().and_then(|text| text.parse().ok()));
    suite.at_once = threads.or(suite.at_once);
    let plain = |test: &str| {
        let mut words = whole.clone();
        words.extend(["--", "--exact", test].map(str::to_owned));
        words
    };
    suite.cases.extend(libtest::cases(binary, &wishes, &name, file.as_deref(), true, listing, &plain));
    Ok(())
}

/// The name of a target, and the options of cargo that choose it.
fn named(package: &str, target: &Target) -> (String, Vec<String>) {
    let options = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let name = &target.name;
    match target.kind.first().map_or("lib", String::as_str) {
        "test" => (format!("{package}::{name}"), options(&["--test", name])),
        "bin" => (format!("{package}::bin/{name}"), options(&["--bin", name])),
        "example" => (format!("{package}::example/{name}"), options(&["--example", name])),
        "bench" => (format!("{package}::bench/{name}"), options(&["--bench", name])),
        _ => (package.to_owned(), options(&["--lib"])),
    }
}

/// The user's words without those that choose packages, targets and tests. The first that is no option is a subcommand,
/// if there is one.
pub(crate) fn without_choice(cargo: &[String], subcommand: bool) -> Vec<String> {
    const CHOOSE: [&str; 8] =
        ["--workspace", "--all", "--all-targets", "--lib", "--bins", "--tests", "--examples", "--benches"];
    const CHOOSE_NAMED: [&str; 10] =
        ["-p", "--package", "--exclude", "--test", "--bin", "--example", "--bench", "-E", "--filterset", "--partition"];
    const TAKE_VALUE: [&str; 29] = [
        "-F",
        "--features",
        "-j",
        "--jobs",
        "--target",
        "--target-dir",
        "--manifest-path",
        "--profile",
        "--config",
        "--color",
        "--lockfile-path",
        "-Z",
        "-C",
        "-P",
        "--cargo-profile",
        "--build-jobs",
        "--run-ignored",
        "--platform-filter",
        "--tool-config-file",
        "--config-file",
        "--archive-file",
        "--archive-format",
        "--extract-to",
        "--binaries-metadata",
        "--cargo-metadata",
        "--target-dir-remap",
        "--workspace-remap",
        "--user-config-file",
        "--cargo-message-format",
    ];
    let mut words = Vec::new();
    let mut rest = cargo.iter();
    let mut met_subcommand = !subcommand;
    words.extend(rest.next().cloned());
    while let Some(word) = rest.next() {
        let name = word.split('=').next().unwrap_or(word);
        if CHOOSE.contains(&name) || word == "--no-fail-fast" {
            continue;
        }
        if CHOOSE_NAMED.contains(&name) {
            if name == word {
                rest.next();
            }
        } else if word.starts_with('-') || word.starts_with('+') {
            words.push(word.clone());
            if TAKE_VALUE.contains(&word.as_str()) {
                words.extend(rest.next().cloned());
            }
        } else if !met_subcommand {
            met_subcommand = true;
            words.push(word.clone());
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn the_command_for_one_test_keeps_what_does_not_choose() {
        let check = |command: &str, expected: &str| assert_eq!(without_choice(&words(command), true), words(expected));
        check("cargo +nightly test --workspace --release -F a,b parse", "cargo +nightly test --release -F a,b");
        check("cargo test --test it -p shop --target-dir t --exclude=x", "cargo test --target-dir t");
        check("cargo test --color never parse -Z unstable-options", "cargo test --color never -Z unstable-options");
    }

    #[test]
    fn what_comes_after_two_dashes_is_for_the_program() {
        let command = words("cargo test -q -- --test-threads 1");
        let (before, after) = split(&command);
        assert_eq!((before, after), (words("cargo test -q"), &words("--test-threads 1")[..]));
    }

    #[test]
    fn targets_are_named_as_nextest_names_them() {
        let name = |kind: &str| {
            let target = Target { kind: vec![kind.to_owned()], name: "x".to_owned(), src_path: PathBuf::new() };
            named("shop", &target).0
        };
        assert_eq!(["lib", "test", "bin", "proc-macro"].map(name), ["shop", "shop::x", "shop::bin/x", "shop"]);
    }
}
