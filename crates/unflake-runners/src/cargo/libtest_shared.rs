//! All tests of a Rust test program in one process, in parallel threads, as `cargo test` runs them.
//!
//! This is the fast way. Tests that the process does not reach, because it died or hangs, run again
//! in a process for each.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use unflake_protocol::{Failure, Outcome, Phase};

use crate::cargo::libtest::{IgnoredTests, TestBinary};
use crate::cargo::panics;
use crate::driver::program::{OutputListener, Program, ProgramEvent};
use crate::driver::suite::TestCase;
use crate::driver::test_result::{TestResult, failed};
use crate::process::bounded_text::{BoundedText, lossless};
use crate::process::sanitizers;
use crate::process::spec::{ExitKind, ProcessEnd, ProcessSpec};

/// All arguments together may have 2 MiB; with more, tests run one by one.
const LONGEST_NAMES: usize = 1 << 20;
/// How much output of one failing test is kept.
const OUTPUT: usize = 64 << 10;

pub(crate) struct SharedProcess {
    pub(crate) binary: Arc<TestBinary>,
    /// The user's words that select tests.
    pub(crate) choosing: Vec<String>,
    pub(crate) ignored: IgnoredTests,
    /// How many tests those words select.
    pub(crate) all: usize,
}

impl Program for SharedProcess {
    fn is_shared(&self) -> bool {
        true
    }

    fn is_ordered(&self) -> bool {
        false
    }

    fn start(&self, tests: &[&TestCase], jobs: u32) -> Result<ProcessSpec, String> {
        let mut words = match self.ignored {
            IgnoredTests::Skipped => Vec::new(),
            IgnoredTests::Only => vec!["--ignored".to_owned()],
            IgnoredTests::Included => vec!["--include-ignored".to_owned()],
        };
        words.push(format!("--test-threads={jobs}"));
        if tests.len() == self.all {
            words.extend(self.choosing.iter().cloned());
        } else {
            words.push("--exact".to_owned());
            words.extend(tests.iter().map(|test| test.name.clone()));
            if words.iter().map(String::len).sum::<usize>() > LONGEST_NAMES {
                return Err("their names are too long for one command line".to_owned());
            }
        }
        let mut start = self.binary.start(words);
        start.variables.insert("RUST_TEST_NOCAPTURE".to_owned(), None);
        Ok(start)
    }

    fn listener(&self, tests: &[&TestCase]) -> Box<dyn OutputListener> {
        Box::new(SharedListener::new(tests.iter().map(|test| test.name.clone()).collect()))
    }
}

/// Reads the output of the harness: a line for each finished test, then the output of failing
/// tests, then the summary.
pub(crate) struct SharedListener {
    names: Vec<String>,
    at: HashMap<String, usize>,
    passed: usize,
    /// Failed tests with their output.
    failing: Vec<(usize, BoundedText)>,
    /// The last finished test that did not fail, held back: an error at the end of the process is
    /// blamed on it.
    last: Option<(usize, TestResult)>,
    /// In the section with failures: the test whose output is read.
    section: Option<Option<usize>>,
    sum: Option<String>,
    since: Instant,
}

impl SharedListener {
    pub(crate) fn new(names: Vec<String>) -> Self {
        let at = names.iter().cloned().zip(0..).collect();
        let since = Instant::now();
        Self { names, at, passed: 0, failing: Vec::new(), last: None, section: None, sum: None, since }
    }

    /// `test NAME ... ok`, possibly after text that a test wrote without the harness.
    fn result<'a>(&self, text: &'a str) -> Option<(usize, &'a str)> {
        let (head, result) = text.rsplit_once(" ... ")?;
        let name = &head[head.rfind("test ")? + "test ".len()..];
        let name = name.strip_suffix(" - should panic").unwrap_or(name);
        Some((*self.at.get(name)?, result))
    }

    /// Whether the harness has not printed its summary.
    pub(crate) fn is_cut_short(&self) -> bool {
        self.sum.is_none()
    }

    fn ended(&mut self, at: usize, result: TestResult) -> Vec<ProgramEvent> {
        self.last.replace((at, result)).map(finished).unwrap_or_default()
    }

    /// Whether the process ended as its test results imply.
    fn is_as_expected(&self, end: &ProcessEnd) -> bool {
        let expected = if self.failing.is_empty() { ExitKind::Exit(0) } else { ExitKind::Exit(101) };
        let sum = format!("{} passed; {} failed;", self.passed, self.failing.len());
        let summed_up = self.sum.as_ref().is_some_and(|summary| summary.contains(&sum));
        end.exit == expected && summed_up && sanitizers::report(&end.stderr).is_none()
    }
}

fn finished((at, result): (usize, TestResult)) -> Vec<ProgramEvent> {
    vec![ProgramEvent::Started(at), ProgramEvent::Done(at, result)]
}

impl OutputListener for SharedListener {
    fn line(&mut self, line: &[u8]) -> Vec<ProgramEvent> {
        let text = lossless(line);
        if let Some(sum) = text.strip_prefix("test result: ") {
            self.section = None;
            self.sum = Some(sum.to_owned());
            return Vec::new();
        }
        if let Some(section) = &mut self.section {
            let heading = text.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" stdout ----"));
            if let Some(at) = heading.and_then(|name| self.at.get(name)) {
                *section = Some(*at);
            } else if text == "failures:" {
                *section = None;
            } else if let Some((_, output)) =
                section.and_then(|at| self.failing.iter_mut().find(|(failing, _)| *failing == at))
            {
                output.add(text.as_bytes());
                output.add(b"\n");
            }
            return Vec::new();
        }
        if text == "failures:" {
            self.section = Some(None);
            return Vec::new();
        }
        let Some((at, result)) = self.result(&text) else { return Vec::new() };
        let seconds = self.since.elapsed().as_secs_f64();
        self.since = Instant::now();
        if result.starts_with("ok") {
            self.passed += 1;
            return self.ended(at, TestResult::new(Outcome::Passed, seconds));
        }
        if let Some(why) = result.strip_prefix("ignored") {
            let why = Some(why.trim_start_matches([',', ' '])).filter(|why| !why.is_empty()).unwrap_or("ignored");
            return self.ended(at, TestResult::new(Outcome::Skipped, seconds).failed(failed("Skipped", why)));
        }
        if result.starts_with("FAILED") {
            self.failing.push((at, BoundedText::new(OUTPUT)));
        }
        Vec::new()
    }

    fn since(&self) -> Option<Instant> {
        Some(self.since)
    }

    fn end(&mut self, end: &ProcessEnd) -> Vec<ProgramEvent> {
        let as_expected = self.is_as_expected(end);
        let mut results: Vec<(usize, TestResult)> = Vec::new();
        for (at, words) in std::mem::take(&mut self.failing) {
            let words = words.text();
            let mut failure = panics::failure(&self.names[at], &words, &words);
            if words.is_empty() {
                failure.message = "it failed, and its process exited before printing why".to_owned();
            }
            let result = TestResult::new(Outcome::Failed, 0.0).failed(failure);
            results.push((at, result.with_output(panics::without_panics(&words).trim(), "")));
        }
        // If the process was cut short, the tests that it did not reach will show why.
        let cut_short = self.is_cut_short();
        if let Some((at, result)) = self.last.take() {
            let result = if as_expected || cut_short { result } else { ended_badly(result, end) };
            results.push((at, result));
        }
        // In the order of the harness. Which of several threads came first is not known.
        results.sort_by_key(|(at, _)| *at);
        results.into_iter().flat_map(finished).collect()
    }
}

/// An error at the end of the process, after every test had finished.
fn ended_badly(result: TestResult, end: &ProcessEnd) -> TestResult {
    let report = sanitizers::report(&end.stderr);
    let mut result = TestResult::crashed(end.exit, result.seconds, report, end.stderr.trim());
    if let Some(failure) = &mut result.failure {
        let message = format!("after its last test, the program failed: {}", failure.message);
        *failure = Failure { phase: Phase::SharedTearDown, message, ..failure.clone() };
    }
    result.with_output("", end.stderr.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn follow(text: &str, exit: ExitKind) -> Vec<String> {
        let mut follower = SharedListener::new(["a", "b", "c"].map(str::to_owned).to_vec());
        let mut events: Vec<ProgramEvent> = text.lines().flat_map(|line| follower.line(line.as_bytes())).collect();
        events.extend(follower.end(&ProcessEnd { exit, stdout: text.to_owned(), stderr: String::new(), seconds: 0.0 }));
        let done = |event: ProgramEvent| match event {
            ProgramEvent::Started(_)
            | ProgramEvent::Changed(_)
            | ProgramEvent::Restored(_)
            | ProgramEvent::AgentFailed(_) => None,
            ProgramEvent::Done(at, result) => {
                let message = result.failure.map(|failure| format!(": {}", failure.message)).unwrap_or_default();
                Some(format!("{at} {:?}{message}", result.outcome))
            }
        };
        events.into_iter().filter_map(done).collect()
    }

    #[test]
    fn results_and_reasons_are_read() {
        let text = "\nrunning 3 tests\nxtest c ... ok\ntest a - should panic ... FAILED\ntest b ... ignored, slow\n\nfailures:\n\n\
                    ---- a stdout ----\nout\n\nthread 'a' (7) panicked at src/lib.rs:5:53:\nno\nnote: run with `RUST_BACKTRACE=1` \
                    environment variable to display a backtrace\n\n\nfailures:\n    a\n\ntest result: FAILED. 1 passed; 1 failed; \
                    1 ignored; 0 measured; 0 filtered out\n\n";
        assert_eq!(follow(text, ExitKind::Exit(101)), ["2 Passed", "0 Failed: no", "1 Skipped: slow"]);
    }

    #[test]
    fn a_dead_process_has_only_its_printed_results() {
        assert_eq!(
            follow("test a ... ok\ntest b ... FAILED\n", ExitKind::Signal(6)),
            ["0 Passed", "1 Failed: it failed, and its process exited before printing why"]
        );
    }

    #[test]
    fn what_goes_wrong_at_the_very_end_is_not_lost() {
        let text = "test a ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored\n";
        assert_eq!(follow(text, ExitKind::Exit(0)), ["0 Passed"]);
        assert!(follow(text, ExitKind::Signal(11))[0].starts_with("0 Crashed(Signal(11)): after its last test"));
        // The line for b was lost in the output of tests: this must not pass.
        let text = "test a ... ok\n\ntest result: ok. 2 passed; 0 failed; 0 ignored\n";
        assert!(follow(text, ExitKind::Exit(0))[0].starts_with("0 Crashed(Exit(0))"));
    }
}
