//! `cargo test`: cargo builds, and passes each test program to the driver instead of starting it.
//!
//! So every option of cargo keeps its meaning, and each program gets the directory and variables
//! that cargo would give it.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;

use serde::Deserialize;

use crate::cargo::handoff_socket::{HandedOffProgram, HandoffSocket};
use crate::cargo::libtest::{self, Harness, HarnessArgs, LibtestListing, TestBinary, WholeProgram};
use crate::cargo::{self, shims, traced_build};
use crate::driver::list_context::ListContext;
use crate::driver::suite::{ListError, ListedSuite, TestCase};
use crate::process::bounded_text::BoundedText;
use crate::process::captured_command;
use crate::process::files::{program_name, relative};
use crate::runner::{AgentEntry, DefaultCommand, Driver, Profile, ReplayedSession, Runner, Texts};

const COMPILER_WORDS: usize = 64 << 10;

/// A test program from cargo, with its tests.
struct ListedProgram {
    invocation: HandedOffProgram,
    binary: TestBinary,
    /// None for a program with its own harness, which is not asked for its tests.
    listed: Option<Result<(HarnessArgs, LibtestListing), ListError>>,
}

impl ListedProgram {
    fn new(invocation: HandedOffProgram, context: &ListContext<'_>) -> Self {
        let path = invocation.path();
        let (harness, variables) = (Harness::of(&path), invocation.differing(context));
        let binary = TestBinary { path, harness, directory: Some(invocation.directory.clone()), variables };
        let list_program = || {
            let parse_args = libtest::parse_args(invocation.arguments())?;
            let listing = binary.listing(&parse_args).map_err(ListError::collection)?;
            Ok((parse_args, listing))
        };
        let listed = (harness != Harness::Own).then(list_program);
        Self { invocation, binary, listed }
    }
}

pub(crate) struct CargoTest;

static PROFILE: Profile = Profile {
    name: "cargo test",
    texts: Texts { example: Some("cargo test"), starts_by: Some("`cargo test`"), ..Texts::NONE },
    ..cargo::THREADED
};

impl Runner for CargoTest {
    fn profile(&self) -> &'static Profile {
        &PROFILE
    }

    fn entry(&self) -> AgentEntry {
        AgentEntry::Driven(Driver { list })
    }

    fn recognizes(&self, command: &[String]) -> bool {
        program_name(command) == Some("cargo") && matches!(subcommand(command), Some("test" | "t"))
    }

    fn default_command(&self, project: &Path) -> Option<DefaultCommand> {
        let is_ours = project.join("Cargo.toml").is_file();
        is_ours.then(|| DefaultCommand::new(&["cargo", "test"], "there is a Cargo.toml")).flatten()
    }

    fn reproduce(&self, session: &ReplayedSession<'_>) -> Option<Vec<String>> {
        libtest::reproduce(session)
    }

    fn run_as_shim(&self) -> Option<ExitCode> {
        traced_build::run_as_rustc().or_else(shims::hand_over)
    }
}

/// The subcommand of cargo, after a toolchain if there is one.
pub(super) fn subcommand(command: &[String]) -> Option<&str> {
    command[1..].iter().map(String::as_str).find(|word| !word.starts_with('+'))
}

fn list(context: &ListContext<'_>) -> Result<ListedSuite, ListError> {
    let (before, after) = split(context.command);
    refuse_what_runs_nothing(&before)?;
    let variables = traced_build::variables(context)?;
    let handoff = HandoffSocket::open(context)?;
    // Programs list their tests while cargo still builds others.
    let list_program =
        |invocation: HandedOffProgram| (!invocation.is_of_doctests()).then(|| ListedProgram::new(invocation, context));
    let (messages, listed_programs) =
        handoff.serve(|| build(&before, after, &handoff, &variables, context), list_program)?;
    let messages = messages?;
    let artifacts: Vec<Artifact> = messages.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let mut suite = ListedSuite { root: context.here.clone(), ..ListedSuite::default() };
    let has_doctests = listed_programs.iter().any(Option::is_none);
    for listed_programs in listed_programs.into_iter().flatten() {
        add(listed_programs, &artifacts, &before, context, &mut suite)?;
    }
    if has_doctests {
        suite.notes.push("doctests are not run: `cargo test --doc` runs them".to_owned());
    }
    Ok(suite)
}

/// The words before and after `--`.
fn split(command: &[String]) -> (Vec<String>, &[String]) {
    match command.iter().position(|word| word == "--") {
        Some(at) => (command[..at].to_vec(), &command[at + 1..]),
        None => (command.to_vec(), &[]),
    }
}

fn refuse_what_runs_nothing(words: &[String]) -> Result<(), ListError> {
    for word in words {
        let name = word.split('=').next().unwrap_or(word);
        match name {
            "--no-run" | "--help" | "-h" => {
                return Err(ListError::refused(format!("{name} of cargo runs no tests"), "leave it out"));
            }
            "--doc" => return Err(ListError::refused("unflake does not run doctests", "`cargo test --doc` runs them")),
            "--message-format" => {
                let why = "--message-format is not supported: unflake sets it itself";
                return Err(ListError::refused(why, "leave it out"));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Runs cargo, which builds everything and passes on its programs. Returns its JSON messages, one a
/// line.
fn build(
    before: &[String],
    after: &[String],
    handoff: &HandoffSocket,
    variables: &[(&str, OsString)],
    context: &ListContext<'_>,
) -> Result<String, ListError> {
    let at = 1 + before[1..].iter().position(|word| !word.starts_with('+')).unwrap_or(0);
    let mut command = Command::new(&before[0]);
    command.args(&before[1..=at]);
    command.args(["--message-format=json-render-diagnostics", "--no-fail-fast"]);
    command.args(handoff.options(before));
    let has = |name: &str| before.iter().any(|word| word == name);
    command.args(before[at + 1..].iter().filter(|word| *word != "--no-fail-fast"));
    if !after.is_empty() {
        command.arg("--").args(after);
    }
    handoff.prepare(&mut command, context);
    command.envs(variables.iter().map(|(name, value)| (name, value)));
    let output = captured_command::of(&mut command).map_err(|error| ListError::cannot_start(&before[0], &error))?;
    if !output.status.success() {
        let mut stderr = BoundedText::new(COMPILER_WORDS);
        stderr.add(&output.stderr);
        let what =
            if has("--quiet") || has("-q") { "cargo could not build the tests" } else { "the tests do not build" };
        return Err(ListError::collection(format!("{what}:\n{}", stderr.text().trim())));
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

/// The used part of cargo's message about an artifact.
#[derive(Deserialize)]
struct Artifact {
    executable: PathBuf,
    target: CargoTarget,
}

#[derive(Deserialize)]
struct CargoTarget {
    kind: Vec<String>,
    name: String,
    src_path: PathBuf,
}

/// Adds the tests of one program.
fn add(
    listed_programs: ListedProgram,
    artifacts: &[Artifact],
    cargo: &[String],
    context: &ListContext<'_>,
    suite: &mut ListedSuite,
) -> Result<(), ListError> {
    let ListedProgram { invocation, binary, listed } = listed_programs;
    let package = invocation.variables.get("CARGO_PKG_NAME").cloned().unwrap_or_default();
    let target = artifacts.iter().find(|artifact| artifact.executable == binary.path).map(|artifact| &artifact.target);
    let (name, selecting) = match target {
        Some(target) => named(&package, target),
        None => (package.clone(), Vec::new()),
    };
    let file = target.map(|target| relative(&target.src_path, &context.here));
    let mut whole = without_choice(cargo, true);
    if !has_features(cargo) {
        whole.extend(["-p".to_owned(), package]);
    }
    whole.extend(selecting);
    let Some(listed) = listed else {
        suite.notes.push(format!("{name} has a test harness of its own: it is run as one test"));
        let program = Arc::new(WholeProgram { binary: Arc::new(binary), arguments: invocation.arguments().to_vec() });
        suite.tests.push(TestCase { file, ..TestCase::new(name.clone(), name, program, whole) });
        return Ok(());
    };
    let (parse_args, listing) = listed?;
    let threads = parse_args.threads.or_else(|| env::var("RUST_TEST_THREADS").ok().and_then(|text| text.parse().ok()));
    suite.at_once = threads.or(suite.at_once);
    let plain = |test: &str| {
        let mut words = whole.clone();
        words.extend(["--", "--exact", test].map(str::to_owned));
        words
    };
    suite.tests.extend(libtest::tests(binary, &parse_args, &name, file.as_deref(), true, listing, &plain));
    Ok(())
}

/// The name of a target, and the options of cargo that select it.
fn named(package: &str, target: &CargoTarget) -> (String, Vec<String>) {
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

/// Whether the command names features. Other packages than the one of a test may have them, and
/// without those packages cargo refuses the command.
fn has_features(cargo: &[String]) -> bool {
    cargo.iter().any(|word| word.starts_with("-F") || word.split('=').next() == Some("--features"))
}

/// The user's words without those that select packages, targets and tests. `subcommand`: the first
/// word that is not an option is cargo's subcommand. Packages stay selected where features are.
pub(crate) fn without_choice(cargo: &[String], subcommand: bool) -> Vec<String> {
    const PACKAGES: [&str; 5] = ["--workspace", "--all", "-p", "--package", "--exclude"];
    const CHOOSE: [&str; 8] =
        ["--workspace", "--all", "--all-targets", "--lib", "--bins", "--tests", "--examples", "--benches"];
    const CHOOSE_NAMED: [&str; 10] =
        ["-p", "--package", "--exclude", "--test", "--bin", "--example", "--bench", "-E", "--filterset", "--partition"];
    let keeps_packages = has_features(cargo);
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
    let mut rest = cargo.iter().peekable();
    let mut met_subcommand = !subcommand;
    words.extend(rest.next().cloned());
    while let Some(word) = rest.next() {
        let name = word.split('=').next().unwrap_or(word);
        if keeps_packages && PACKAGES.contains(&name) {
            words.push(word.clone());
            words.extend(rest.next_if(|_| name == word && CHOOSE_NAMED.contains(&name)).cloned());
            continue;
        }
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
        check("cargo +nightly test --workspace --release parse", "cargo +nightly test --release");
        check("cargo test --workspace --lib -F a/b parse", "cargo test --workspace -F a/b");
        check("cargo test -p a --package=b --features=x --test it", "cargo test -p a --package=b --features=x");
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
            let target = CargoTarget { kind: vec![kind.to_owned()], name: "x".to_owned(), src_path: PathBuf::new() };
            named("shop", &target).0
        };
        assert_eq!(["lib", "test", "bin", "proc-macro"].map(name), ["shop", "shop::x", "shop::bin/x", "shop"]);
    }
}
