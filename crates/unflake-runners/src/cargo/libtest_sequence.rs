//! Tests of a Rust test program one after the other in one process, in the order of the harness.
//!
//! Each finds the state that those before it left. The harness sorts tests by name, so a selection
//! of tests has one order only.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use crate::cargo::libtest::TestBinary;
use crate::cargo::libtest_shared::SharedListener;
use crate::driver::program::{OutputListener, Program, ProgramEvent};
use crate::driver::suite::TestCase;
use crate::driver::test_result::TestResult;
use crate::process::sanitizers;
use crate::process::spec::{ExitKind, ProcessEnd, ProcessSpec};

/// All names together must fit a command line.
const MOST_TESTS: usize = 5000;

/// Whether the harness runs tests of these names in this order.
pub(crate) fn is_in_order<'a>(names: impl Iterator<Item = &'a str> + Clone) -> bool {
    names.clone().zip(names.skip(1)).all(|(one, next)| one < next)
}

pub(crate) struct SequentialProcess {
    pub(crate) binary: Arc<TestBinary>,
    /// Whether ignored tests run, too.
    pub(crate) ignored: bool,
}

impl Program for SequentialProcess {
    fn is_shared(&self) -> bool {
        true
    }

    fn may_follow(&self, numbers: &[u32], next: u32) -> bool {
        numbers.len() < MOST_TESTS && numbers.last().is_none_or(|last| *last < next)
    }

    fn start(&self, tests: &[&TestCase], _jobs: u32) -> Result<ProcessSpec, String> {
        let mut words = vec!["--test-threads=1".to_owned(), "--exact".to_owned()];
        words.extend(self.ignored.then(|| "--include-ignored".to_owned()));
        words.extend(tests.iter().map(|test| test.name.clone()));
        let mut start = self.binary.start(words);
        start.variables.insert("RUST_TEST_NOCAPTURE".to_owned(), None);
        Ok(start)
    }

    fn listener(&self, tests: &[&TestCase]) -> Box<dyn OutputListener> {
        let names: Vec<String> = tests.iter().map(|test| test.name.clone()).collect();
        Box::new(SequenceListener { tests: names.len(), shared: SharedListener::new(names), results: BTreeMap::new() })
    }
}

/// Reports results in the order of the tests, once the process has ended: the harness prints why a
/// test failed after all of them.
struct SequenceListener {
    tests: usize,
    shared: SharedListener,
    results: BTreeMap<usize, TestResult>,
}

impl SequenceListener {
    fn keep(&mut self, events: Vec<ProgramEvent>) {
        for event in events {
            if let ProgramEvent::Done(at, result) = event {
                self.results.insert(at, result);
            }
        }
    }

    /// The result of the test that ran when the process ended before its time.
    fn interrupted(&self, end: &ProcessEnd) -> TestResult {
        let seconds = self.shared.since().map_or(end.seconds, |since| since.elapsed().as_secs_f64());
        let result = match end.exit {
            ExitKind::TimedOut => TestResult::timed_out(seconds, &end.output()),
            exit => TestResult::crashed(exit, seconds, sanitizers::report(&end.stderr), &end.stderr),
        };
        result.with_output("", end.stderr.as_str())
    }
}

impl OutputListener for SequenceListener {
    fn line(&mut self, line: &[u8]) -> Vec<ProgramEvent> {
        let events = self.shared.line(line);
        self.keep(events);
        Vec::new()
    }

    fn since(&self) -> Option<Instant> {
        self.shared.since()
    }

    fn end(&mut self, end: &ProcessEnd) -> Vec<ProgramEvent> {
        let cut_short = self.shared.is_cut_short();
        let events = self.shared.end(end);
        self.keep(events);
        if cut_short && let Some(at) = (0..self.tests).find(|at| !self.results.contains_key(at)) {
            let result = self.interrupted(end);
            self.results.insert(at, result);
        }
        let results = std::mem::take(&mut self.results);
        results
            .into_iter()
            .flat_map(|(at, result)| [ProgramEvent::Started(at), ProgramEvent::Done(at, result)])
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, exit: ExitKind, expected: &[&str]) {
        let names = ["a", "b", "c"].map(str::to_owned).to_vec();
        let mut listener = SequenceListener { tests: 3, shared: SharedListener::new(names), results: BTreeMap::new() };
        let early: usize = text.lines().map(|line| listener.line(line.as_bytes()).len()).sum();
        assert_eq!(early, 0);
        let end = ProcessEnd { exit, stdout: text.to_owned(), stderr: String::new(), seconds: 0.0 };
        let done = |event| match event {
            ProgramEvent::Done(at, result) => Some(format!("{at} {:?}", result.outcome)),
            _ => None,
        };
        assert_eq!(listener.end(&end).into_iter().filter_map(done).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn results_come_in_the_order_of_the_tests() {
        let text = "running 3 tests\ntest a ... FAILED\ntest b ... ok\ntest c ... ok\n\nfailures:\n\n---- a stdout ----\nno\n\n\
                    failures:\n    a\n\ntest result: FAILED. 2 passed; 1 failed; 0 ignored\n";
        check(text, ExitKind::Exit(101), &["0 Failed", "1 Passed", "2 Passed"]);
    }

    #[test]
    fn the_test_that_ran_when_the_process_died_has_crashed() {
        let text = "running 3 tests\ntest a ... ok\ntest b ... ";
        check(text, ExitKind::Signal(6), &["0 Passed", "1 Crashed(Signal(6))"]);
        check(text, ExitKind::TimedOut, &["0 Passed", "1 TimedOut"]);
    }

    #[test]
    fn only_ascending_names_are_in_order() {
        assert!(is_in_order(["a", "b::a", "b::b"].into_iter()));
        assert!(!is_in_order(["b", "a"].into_iter()) && !is_in_order(["a", "a"].into_iter()));
    }
}
