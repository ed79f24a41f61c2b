//! `cargo test`: cargo builds, and hands over to us each test program with everything it would start it with.
//!
//! For that, unflake is set up as cargo's *runner* for the time of the listing. So every option of cargo means what it
//! always means, and each program gets the directory and the variables that cargo would give it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::env;
use std::ffi::OsString;
use std::fs;
use std::iter;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::capture::Capture;
use crate::driver::Workshop;
use crate::libtest::{self, Binary, Harness, WholeProgram};
use crate::suite::{self, CannotList, Case, Suite, relative};

/// Names the directory in which programs are handed over. Where it is set, unflake was started by cargo.
const HAND_OVER: &str = "UNFLAKE_HAND_OVER";
/// The value that RUSTDOC had.
const RUSTDOC: &str = "UNFLAKE_RUSTDOC";
/// Variables that a build which can be traced is made with, and that no test is to see.
const OF_TRACED_BUILDS: [&str; 5] = [
    "RUSTC_WORKSPACE_WRAPPER",
    "CARGO_TARGET_DIR",
    "CARGO_BUILD_BUILD_DIR",
    unflake_trace::variables::RUSTC,
    unflake_trace::variables::RUSTC_INNER,
];
const TARGET: &str = env!("UNFLAKE_TARGET");
/// How long to wait for the next program while others are asked for their tests.
const AHEAD: Duration = Duration::from_millis(2);
const NEAR: Duration = Duration::from_millis(200);
const COMPILER_WORDS: usize = 64 << 10;

/// What cargo would have started.
#[derive(Serialize, Deserialize)]
struct Handed {
    words: Vec<String>,
    directory: PathBuf,
    variables: BTreeMap<String, String>,
}

impl Handed {
    fn path(&self) -> PathBuf {
        self.directory.join(self.words.first().map_or("", String::as_str))
    }

    fn arguments(&self) -> &[String] {
        self.words.get(1..).unwrap_or_default()
    }

    fn binary(&self, workshop: &Workshop<'_>) -> Binary {
        let path = self.path();
        let (harness, variables) = (Harness::of(&path), differing(self.variables.clone(), workshop));
        Binary { path, harness, directory: Some(self.directory.clone()), variables }
    }
}

/// Programs that are known already, with the names of their tests.
type Ahead = HashMap<PathBuf, (Binary, Vec<String>)>;

/// Main of a process that cargo has started in place of a test program, or of rustdoc. None: it was somebody else.
pub fn hand_over() -> Option<ExitCode> {
    if let Some(code) = in_place_of_rustc() {
        return Some(code);
    }
    let directory = PathBuf::from(env::var_os(HAND_OVER)?);
    let words: Vec<String> = env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    if words.first().is_some_and(|word| word == "hand-over") && words.len() > 1 {
        let handed = Handed {
            words: words[1..].to_vec(),
            directory: env::current_dir().unwrap_or_default(),
            variables: env::vars_os()
                .map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()))
                .collect(),
        };
        let written = write(&directory, &handed);
        if written == ExitCode::SUCCESS && words.iter().any(|word| word == "--list") {
            // Not instead of a run, but to be asked for its tests.
            let error = Command::new(&words[1]).args(env::args_os().skip(3)).env_remove(HAND_OVER).exec();
            eprintln!("{} cannot be started: {error}", words[1]);
            return Some(ExitCode::FAILURE);
        }
        return Some(written);
    }
    if words.iter().any(|word| word == "--test") {
        return Some(write_doctests(&directory));
    }
    let rustdoc = env::var_os(RUSTDOC).filter(|path| !path.is_empty()).unwrap_or("rustdoc".into());
    let error = Command::new(rustdoc).args(env::args_os().skip(1)).exec();
    eprintln!("rustdoc cannot be started: {error}");
    Some(ExitCode::FAILURE)
}

/// In a build that can be traced, cargo starts us with the path of rustc and its arguments.
fn in_place_of_rustc() -> Option<ExitCode> {
    use unflake_trace::variables::{RUSTC, RUSTC_INNER};
    let runtime = PathBuf::from(env::var_os(RUSTC)?);
    let myself = env::args_os().next()?;
    if !Path::new(&myself).ends_with("unflake-rustc") {
        return None;
    }
    let inner = env::var_os(RUSTC_INNER);
    let why = match unflake_trace::rustc_wrapper(env::args_os().skip(1), &runtime, inner.as_deref()) {
        Ok(mut rustc) => rustc.exec().to_string(),
        Err(error) => error.to_string(),
    };
    eprintln!("rustc cannot be started: {why}");
    Some(ExitCode::FAILURE)
}

/// Files are named so that they sort by the time at which they were handed over.
fn write(directory: &Path, handed: &Handed) -> ExitCode {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let path = directory.join(format!("{now:040}-{}", std::process::id()));
    let written = serde_json::to_vec(handed).map_err(Into::into).and_then(|text| fs::write(path, text));
    if written.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn write_doctests(directory: &Path) -> ExitCode {
    let told = fs::write(directory.join("doctests"), b"");
    if told.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

pub(crate) fn list(command: &[String], workshop: &Workshop<'_>) -> Result<Suite, CannotList> {
    let place = workshop.side.join("hand-over");
    fs::create_dir_all(&place).map_err(|error| CannotList::usage(format!("{}: {error}", place.display())))?;
    let (before, after) = split(command);
    refuse_what_runs_nothing(&before)?;
    let variables = match workshop.tracing {
        Some(tracing) => tracing.of_cargo(&before)?,
        None => Vec::new(),
    };
    let ahead = Mutex::new(HashMap::new());
    let is_over = AtomicBool::new(false);
    let messages = thread::scope(|scope| {
        let lister = scope.spawn(|| list_ahead(&place, workshop, &ahead, &is_over));
        let messages = build(&before, after, &place, &variables, workshop);
        is_over.store(true, Ordering::Relaxed);
        lister.thread().unpark();
        messages
    })?;
    let ahead = ahead.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    let artifacts: Vec<Artifact> = messages.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let mut suite = Suite { root: workshop.here.clone(), ..Suite::default() };
    let mut names: Vec<_> = fs::read_dir(&place).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    names.sort();
    let has_doctests = names.iter().any(|path| path.ends_with("doctests"));
    let read = |path: &PathBuf| serde_json::from_slice::<Handed>(&fs::read(path).ok()?).ok();
    let handed: Vec<Handed> = names.iter().filter_map(read).collect();
    for part in at_once(handed, |handed| suite_of(handed, &artifacts, &ahead, &before, workshop)) {
        let Suite { cases, notes, at_once, .. } = part?;
        suite.cases.extend(cases);
        suite.notes.extend(notes);
        suite.at_once = at_once.or(suite.at_once);
    }
    if has_doctests {
        suite.notes.push("doctests are not run: `cargo test --doc` runs them".to_owned());
    }
    let _ = fs::remove_dir_all(&place);
    Ok(suite)
}

/// While cargo still hands over programs, asks those that it has handed over for their tests. It is only a head start: whatever
/// goes wrong here goes wrong once more where it can be told.
fn list_ahead(place: &Path, workshop: &Workshop<'_>, ahead: &Mutex<Ahead>, is_over: &AtomicBool) {
    let mut seen = BTreeSet::new();
    let mut came = Instant::now();
    while !is_over.load(Ordering::Relaxed) {
        for entry in fs::read_dir(place).into_iter().flatten().flatten() {
            if seen.contains(&entry.file_name()) {
                continue;
            }
            // What is half written is met again.
            let handed = fs::read(entry.path()).ok().and_then(|text| serde_json::from_slice::<Handed>(&text).ok());
            let Some(handed) = handed else { continue };
            seen.insert(entry.file_name());
            came = Instant::now();
            let Ok(wishes) = libtest::wishes(handed.arguments()) else { continue };
            let binary = handed.binary(workshop);
            if binary.harness == Harness::Libtest
                && let Ok(listed) = binary.list(&wishes)
            {
                let mut ahead = ahead.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                ahead.insert(handed.path(), (binary, listed));
            }
        }
        // A build may take long; once there is a program, the next is near.
        let is_near = !seen.is_empty() && came.elapsed() < NEAR;
        thread::park_timeout(if is_near { AHEAD } else { AHEAD * 10 });
    }
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
    place: &Path,
    variables: &[(&str, OsString)],
    workshop: &Workshop<'_>,
) -> Result<String, CannotList> {
    let at = 1 + before[1..].iter().position(|word| !word.starts_with('+')).unwrap_or(0);
    let mut command = Command::new(&before[0]);
    command.args(&before[1..=at]);
    command.args(["--message-format=json-render-diagnostics", "--no-fail-fast"]);
    command.args(runner_options(before));
    let has = |name: &str| before.iter().any(|word| word == name);
    command.args(before[at + 1..].iter().filter(|word| *word != "--no-fail-fast"));
    if !after.is_empty() {
        command.arg("--").args(after);
    }
    prepare(&mut command, place, workshop);
    command.envs(variables.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let cannot = |error: std::io::Error| CannotList::usage(format!("`{}` cannot be started: {error}", before[0]));
    let output = command.output().map_err(cannot)?;
    if !output.status.success() {
        let mut said = Capture::new(COMPILER_WORDS);
        said.add(&output.stderr);
        let what =
            if has("--quiet") || has("-q") { "cargo could not build the tests" } else { "the tests do not build" };
        return Err(CannotList::collection(format!("{what}:\n{}", said.text().trim())));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Options that make unflake the runner of test programs.
pub(crate) fn runner_options(words: &[String]) -> Vec<String> {
    let mut targets = vec![TARGET.to_owned()];
    targets.extend(values_of(words, "--target"));
    let runner = serde_json::to_string(&[&myself().to_string_lossy(), "hand-over"]).unwrap_or_default();
    targets.iter().flat_map(|target| ["--config".to_owned(), format!("target.{target}.runner={runner}")]).collect()
}

/// The world in which programs are handed over.
pub(crate) fn prepare(command: &mut Command, place: &Path, workshop: &Workshop<'_>) {
    suite::set(command, workshop.world);
    command.env(HAND_OVER, place).env(RUSTDOC, env::var_os("RUSTDOC").unwrap_or_default()).env("RUSTDOC", myself());
}

pub(crate) fn myself() -> PathBuf {
    env::current_exe().unwrap_or("unflake".into())
}

/// What was handed over, by program: the variables with which it would have been started.
pub(crate) fn handed(place: &Path, workshop: &Workshop<'_>) -> BTreeMap<PathBuf, BTreeMap<String, Option<String>>> {
    let read = |path: &PathBuf| serde_json::from_slice::<Handed>(&fs::read(path).ok()?).ok();
    let files = fs::read_dir(place).into_iter().flatten().flatten().map(|entry| entry.path());
    files
        .filter_map(|path| read(&path))
        .filter_map(|handed| {
            let program = handed.directory.join(handed.words.first()?);
            Some((program, differing(handed.variables, workshop)))
        })
        .collect()
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

/// Does something with each of many by as many threads as there are cores. The answers are in the order of the questions.
fn at_once<T: Send, A: Send>(questions: Vec<T>, answer: impl Fn(T) -> A + Sync) -> Vec<A> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let workers = cores.min(questions.len());
    let left = Mutex::new(questions.into_iter().enumerate());
    let next = || left.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).next();
    let work = || iter::from_fn(next).map(|(at, question)| (at, answer(question))).collect::<Vec<_>>();
    let mut answers: Vec<(usize, A)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .flat_map(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    answers.sort_by_key(|(at, _)| *at);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

/// The tests of one program.
fn suite_of(
    handed: Handed,
    artifacts: &[Artifact],
    ahead: &Ahead,
    cargo: &[String],
    workshop: &Workshop<'_>,
) -> Result<Suite, CannotList> {
    let mut suite = Suite::default();
    let package = handed.variables.get("CARGO_PKG_NAME").cloned().unwrap_or_default();
    let path = handed.path();
    let (binary, listed) = match ahead.get(&path) {
        Some((binary, listed)) => (binary.clone(), Some(listed.clone())),
        None => (handed.binary(workshop), None),
    };
    let target = artifacts.iter().find(|artifact| artifact.executable == path).map(|artifact| &artifact.target);
    let (name, selecting) = match target {
        Some(target) => named(&package, target),
        None => (package.clone(), Vec::new()),
    };
    let file = target.map(|target| relative(&target.src_path, &workshop.here));
    let mut whole = without_choice(cargo, true);
    whole.extend(["-p".to_owned(), package]);
    whole.extend(selecting);
    if binary.harness == Harness::Own {
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
        return Ok(suite);
    }
    let wishes = libtest::wishes(handed.arguments()).map_err(CannotList::usage)?;
    suite.at_once = wishes.threads.or_else(|| env::var("RUST_TEST_THREADS").ok().and_then(|text| text.parse().ok()));
    let plain = |test: &str| {
        let mut words = whole.clone();
        words.extend(["--", "--exact", test].map(str::to_owned));
        words
    };
    let cases = libtest::cases(binary, &wishes, &name, file.as_deref(), true, listed, &plain);
    let cases = cases.map_err(CannotList::collection)?;
    suite.cases.extend(cases);
    Ok(suite)
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

/// What cargo has changed in the environment.
fn differing(handed: BTreeMap<String, String>, workshop: &Workshop<'_>) -> BTreeMap<String, Option<String>> {
    let of_builds = [HAND_OVER, RUSTDOC, "RUSTDOC"].into_iter().chain(OF_TRACED_BUILDS);
    let ours = |name: &str| of_builds.clone().any(|one| one == name) || workshop.world.contains_key(name);
    let is_new = |(name, value): &(String, String)| {
        !ours(name) && env::var_os(name).is_none_or(|there| there.to_string_lossy() != value.as_str())
    };
    handed.into_iter().filter(is_new).map(|(name, value)| (name, Some(value))).collect()
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
    fn answers_come_in_the_order_of_the_questions() {
        let answers = at_once((0..100).collect(), |number: u64| {
            thread::sleep(std::time::Duration::from_micros(100 - number));
            number
        });
        assert_eq!(answers, (0..100).collect::<Vec<_>>());
        assert!(at_once(Vec::<u8>::new(), |one| one).is_empty());
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
