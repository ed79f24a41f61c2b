//! Programs with Rust's own test harness, or one that answers like it: one test in each process.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use unflake_protocol::Outcome;

use crate::cargo::libtest_shared::Crowd;
use crate::cargo::panics;
use crate::driver::suite::{
    self, Alone, CannotList, Case, End, How, Judged, Listener, Program, Start, Suite, failed, file_has,
};
use crate::process::captured_command;
use crate::process::sanitizers;

/// A test binary, and how cargo would start it.
#[derive(Clone)]
pub(crate) struct Binary {
    pub(crate) path: PathBuf,
    pub(crate) harness: Harness,
    pub(crate) directory: Option<PathBuf>,
    pub(crate) variables: BTreeMap<String, Option<String>>,
}

/// Who runs the tests of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Harness {
    /// Rust's own. It says at the end what it has run.
    Libtest,
    /// One that takes the same arguments. Only how it ends is known to mean something.
    Alike,
    /// One that has to be run as a whole.
    Own,
}

impl Harness {
    /// By what a program has in it. It is not started for that.
    pub(crate) fn of(path: &Path) -> Self {
        if is_one(path) {
            Self::Libtest
        } else if file_has(path, &[b"terse"]) && file_has(path, &[b": test"]) {
            Self::Alike
        } else {
            Self::Own
        }
    }
}

/// Whether a program has Rust's own harness.
pub(crate) fn is_one(path: &Path) -> bool {
    file_has(path, &[b"RUST_TEST_THREADS"])
}

/// What the arguments of a test binary say of which tests to run, and how.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Wishes {
    /// Words that choose tests, to be handed on.
    pub(crate) choosing: Vec<String>,
    pub(crate) ignored: Ignored,
    pub(crate) threads: Option<u32>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Ignored {
    #[default]
    Skipped,
    Only,
    Included,
}

/// What a program says of its tests.
pub(crate) struct Listing {
    all: Vec<String>,
    /// Those of them that are not to be run.
    ignored: BTreeSet<String>,
}

/// One test in one process.
pub(crate) struct OneTest {
    pub(crate) binary: Arc<Binary>,
    pub(crate) ignored: bool,
}

/// A program whose harness is its own, as one test: all that is known of it is how it ends.
pub(crate) struct WholeProgram {
    pub(crate) binary: Arc<Binary>,
    pub(crate) arguments: Vec<String>,
}

/// The tests of one binary that the user started by hand.
pub(crate) fn list(command: &[String]) -> Result<Suite, CannotList> {
    let here = std::env::current_dir().unwrap_or_default();
    let wishes = wishes(&command[1..]).map_err(CannotList::usage)?;
    let path = PathBuf::from(&command[0]);
    let binary = Binary { path, harness: Harness::Libtest, directory: None, variables: BTreeMap::new() };
    let name = binary.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let plain = |test: &str| vec![command[0].clone(), "--exact".to_owned(), test.to_owned()];
    let listing = binary.listing(&wishes).map_err(CannotList::collection)?;
    let cases = cases(binary, &wishes, &name, None, true, listing, &plain);
    Ok(Suite { root: here, cases, at_once: wishes.threads, ..Suite::default() })
}

/// The tests of a binary. `name` comes before each of their names; `plain` makes the command for one; `in_crowd`: the
/// user runs them all in one process.
pub(crate) fn cases(
    binary: Binary,
    wishes: &Wishes,
    name: &str,
    file: Option<&str>,
    in_crowd: bool,
    listing: Listing,
    plain: &dyn Fn(&str) -> Vec<String>,
) -> Vec<Case> {
    let binary = Arc::new(binary);
    let Listing { all, ignored } = listing;
    let crowd: Option<Arc<dyn Program>> =
        (in_crowd && binary.harness == Harness::Libtest).then(|| -> Arc<dyn Program> {
            let choosing = wishes.choosing.clone();
            Arc::new(Crowd { binary: binary.clone(), choosing, ignored: wishes.ignored, all: all.len() })
        });
    let runs_ignored = wishes.ignored != Ignored::Skipped;
    let case = |test: String| Case {
        id: format!("{name} {test}"),
        program: Arc::new(OneTest { binary: binary.clone(), ignored: runs_ignored }),
        crowd: crowd.clone(),
        file: file.map(str::to_owned),
        line: None,
        command: plain(&test).into_iter().chain(runs_ignored.then(|| "--include-ignored".to_owned())).collect(),
        skipped: ignored.contains(&test).then(|| "ignored".to_owned()),
        name: test,
    };
    all.into_iter().map(case).collect()
}

impl Binary {
    /// Asks it for its tests.
    pub(crate) fn listing(&self, wishes: &Wishes) -> Result<Listing, String> {
        let all = self.list(wishes)?;
        // libtest says itself of a test that it is ignored. Of a harness that is only like it, nobody knows what it prints.
        let ignored = match wishes.ignored {
            Ignored::Skipped if self.harness != Harness::Libtest => {
                let only = Wishes { choosing: wishes.choosing.clone(), ignored: Ignored::Only, threads: None };
                self.list(&only)?.into_iter().collect()
            }
            _ => BTreeSet::new(),
        };
        Ok(Listing { all, ignored })
    }

    fn list(&self, wishes: &Wishes) -> Result<Vec<String>, String> {
        let only_ignored = (wishes.ignored == Ignored::Only).then_some("--ignored");
        let mut command = Command::new(&self.path);
        command.args(["--list", "--format", "terse"]).args(only_ignored).args(&wishes.choosing);
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        suite::set(&mut command, &self.variables);
        let path = self.path.display();
        let output =
            captured_command::of(&mut command).map_err(|error| format!("{path} cannot be started: {error}"))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{path} does not list its tests ({}):\n{said}", output.status));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
    }

    pub(crate) fn start(&self, arguments: impl IntoIterator<Item = String>) -> Start {
        let mut words = vec![self.path.to_string_lossy().into_owned()];
        words.extend(arguments);
        Start { words, directory: self.directory.clone(), variables: self.variables.clone(), ..Start::default() }
    }
}

impl Program for OneTest {
    fn start(&self, cases: &[&Case], _jobs: u32) -> Result<Start, String> {
        let mut words = vec!["--exact".to_owned(), cases[0].name.clone(), "--nocapture".to_owned()];
        words.extend(self.ignored.then(|| "--include-ignored".to_owned()));
        Ok(self.binary.start(words))
    }

    fn listener(&self, cases: &[&Case]) -> Box<dyn Listener> {
        let name = cases[0].name.clone();
        let harness = self.binary.harness;
        Box::new(Alone::new(move |end: &End| match harness {
            Harness::Libtest => judge(&name, end),
            Harness::Alike | Harness::Own => judge_program(end),
        }))
    }
}

impl Program for WholeProgram {
    fn start(&self, _cases: &[&Case], _jobs: u32) -> Result<Start, String> {
        Ok(self.binary.start(self.arguments.iter().cloned()))
    }

    fn listener(&self, _cases: &[&Case]) -> Box<dyn Listener> {
        Box::new(Alone::new(judge_program))
    }
}

/// Of a program that is a test as a whole.
pub(crate) fn judge_program(end: &End) -> Judged {
    let said = [end.stdout.trim_end(), end.stderr.trim_end()].join("\n").trim().to_owned();
    let judged = match (end.how, sanitizers::report(&end.stderr)) {
        (How::Exit(0), None) => Judged::new(Outcome::Passed, end.seconds),
        (How::Exit(code), None) => {
            let last = said.lines().last().unwrap_or_default();
            let message = format!("left with exit code {code}{}{last}", if last.is_empty() { "" } else { ": " });
            let failure = unflake_protocol::Failed { trace: said, ..failed("Failed", &message) };
            Judged::new(Outcome::Failed, end.seconds).failed(failure)
        }
        (how, report) => Judged::crashed(how, end.seconds, report, &said),
    };
    judged.said(end.stdout.as_str(), end.stderr.as_str())
}

fn judge(name: &str, end: &End) -> Judged {
    let result = end.stdout.lines().rev().find_map(|line| line.strip_prefix("test result: "));
    let said = own_output(name, &end.stdout);
    let judged = match (end.how, result) {
        (How::Exit(0), Some(result)) if result.starts_with("ok. 1 passed;") => {
            return Judged::new(Outcome::Passed, end.seconds);
        }
        (How::Exit(0), Some(result)) if result.starts_with("ok. 0 passed; 0 failed; 1 ignored;") => {
            return Judged::new(Outcome::Skipped, end.seconds).failed(failed("Skipped", "ignored"));
        }
        (How::Exit(0), Some(_)) => {
            let message = "the program ran no test of this name".to_owned();
            Judged::crashed(end.how, end.seconds, Some(message), &end.stdout)
        }
        (How::Exit(101), Some(_)) => match sanitizers::report(&end.stderr) {
            Some(report) => Judged::crashed(end.how, end.seconds, Some(report), &end.stderr),
            None => {
                let failure = panics::failure(name, &end.stdout, &end.stderr);
                let judged = Judged::new(Outcome::Failed, end.seconds).failed(failure);
                return judged.said(said, panics::without_panics(&end.stderr).trim());
            }
        },
        (how, _) => {
            let why = sanitizers::report(&end.stderr).or_else(|| last_words(how, name, end));
            Judged::crashed(how, end.seconds, why, &end.stderr)
        }
    };
    judged.said(said, end.stderr.as_str())
}

/// Why the process died, where it says so itself.
fn last_words(how: How, name: &str, end: &End) -> Option<String> {
    let overflow = |line: &&str| line.contains("has overflowed its stack") || line.starts_with("fatal runtime error");
    let said = end.stderr.lines().find(overflow).map(str::to_owned).or_else(|| {
        let panic = panics::failure(name, "", &end.stderr);
        (panic.kind == "panic").then_some(panic.message)
    })?;
    Some(match how {
        How::Signal(number) => {
            let signal = nix::sys::signal::Signal::try_from(number).map_or("a signal", |signal| signal.as_str());
            format!("killed by {signal}: {said}")
        }
        How::Exit(code) => format!("the process left with exit code {code}: {said}"),
        How::TimedOut => said,
    })
}

/// What the test printed, without what the harness printed around it.
fn own_output<'a>(name: &str, stdout: &'a str) -> &'a str {
    let rest = stdout.strip_prefix("\nrunning 1 test\n").unwrap_or(stdout);
    match rest.rfind(&format!("test {name} ")) {
        Some(at) => &rest[..at],
        None => rest,
    }
}

/// Sorts the arguments of a test binary.
pub(crate) fn wishes(arguments: &[String]) -> Result<Wishes, String> {
    let mut wishes = Wishes::default();
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        let (name, value) = word.split_once('=').map_or((word.as_str(), None), |(name, value)| (name, Some(value)));
        let mut value = || value.map(str::to_owned).or_else(|| rest.next().cloned());
        match name {
            "--ignored" => wishes.ignored = Ignored::Only,
            "--include-ignored" => wishes.ignored = Ignored::Included,
            "--test-threads" => wishes.threads = value().and_then(|number| number.parse().ok()),
            "--skip" => {
                wishes.choosing.push("--skip".to_owned());
                wishes.choosing.extend(value());
            }
            "--exact" => wishes.choosing.push(word.clone()),
            "--nocapture" | "--no-capture" | "--show-output" | "--quiet" | "-q" | "--test" | "--report-time"
            | "--ensure-time" | "--fail-fast" => {}
            "--format" | "--color" | "--logfile" | "-Z" => drop(value()),
            "--list" | "--bench" | "--help" | "-h" | "--shuffle" | "--shuffle-seed" => {
                return Err(format!("{name} of the test binary is not for unflake: it lists and orders tests itself"));
            }
            _ if name.starts_with("-Z") => {}
            _ => wishes.choosing.push(word.clone()),
        }
    }
    Ok(wishes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(how: How, stdout: &str, stderr: &str) -> End {
        End { how, stdout: stdout.to_owned(), stderr: stderr.to_owned(), seconds: 0.5 }
    }

    #[test]
    fn a_pass_is_one_only_if_the_harness_says_so() {
        let ok = "\nrunning 1 test\ntest x ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored\n\n";
        assert_eq!(judge("x", &end(How::Exit(0), ok, "")).outcome, Outcome::Passed);
        let left = judge("x", &end(How::Exit(0), "\nrunning 1 test\n", ""));
        assert_eq!(left.outcome, Outcome::Crashed(How::Exit(0).death()));
        let none = "\nrunning 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored\n";
        assert_eq!(judge("x", &end(How::Exit(0), none, "")).outcome, Outcome::Crashed(How::Exit(0).death()));
    }

    #[test]
    fn a_death_says_what_is_known() {
        let overflow = "\nthread 'x' (7) has overflowed its stack\nfatal runtime error: stack overflow, aborting\n";
        let judged = judge("x", &end(How::Signal(6), "\nrunning 1 test\n", overflow));
        assert_eq!(judged.failure.unwrap().message, "killed by SIGABRT: thread 'x' (7) has overflowed its stack");
        let judged = judge("x", &end(How::Signal(11), "", ""));
        assert_eq!(judged.failure.unwrap().message, "killed by SIGSEGV");
    }

    #[test]
    fn what_the_harness_prints_is_not_the_tests() {
        let stdout = "\nrunning 1 test\nouttest bad ... FAILED\n\nfailures:\n";
        assert_eq!(own_output("bad", stdout), "out");
    }

    #[test]
    fn arguments_are_sorted() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let found =
            wishes(&words(&["parse", "--skip", "slow", "--nocapture", "--test-threads=1", "--ignored"])).unwrap();
        assert_eq!(
            found,
            Wishes { choosing: words(&["parse", "--skip", "slow"]), ignored: Ignored::Only, threads: Some(1) }
        );
        assert!(wishes(&words(&["--list"])).is_err());
    }
}
