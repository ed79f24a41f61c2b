//! The output of a GoogleTest program, read into test results.

use std::time::Instant;

use unflake_protocol::{Failure, Outcome, Phase};

use crate::driver::program::{OutputListener, ProgramEvent};
use crate::driver::test_result::{TestResult, failed};
use crate::process::bounded_text::{BoundedText, lossless};
use crate::process::sanitizers;
use crate::process::spec::{ExitKind, ProcessEnd};

const OUTPUT: usize = 64 << 10;

/// Reads the output of tests that run in the requested order, or in any.
pub(crate) struct GtestListener {
    names: Vec<String>,
    /// Whether tests run in the requested order.
    is_ordered: bool,
    started: Vec<bool>,
    /// The number of finished tests.
    finished: usize,
    /// The position after the test that started last.
    next: usize,
    current: Option<usize>,
    /// The result of the last test, held back: an error at the end of the process is blamed on it.
    last: Option<(usize, TestResult)>,
    failures: usize,
    since: Instant,
    output: BoundedText,
    outside: OutsideFailures,
}

/// Failures while no test runs: in the set-up or tear-down of a suite or of the whole program.
#[derive(Default)]
struct OutsideFailures {
    text: String,
    within: bool,
}

impl OutsideFailures {
    fn add_line(&mut self, line: &str) {
        self.within = line.ends_with(": Failure") || self.within && !line.starts_with("[");
        if self.within && self.text.len() < OUTPUT {
            self.text.push_str(line);
            self.text.push('\n');
        }
    }

    /// Blames a test that may not be the cause, so that such a failure is never lost: no pass
    /// excuses it.
    fn blame(&self, result: TestResult) -> TestResult {
        let outside = Failure { phase: Phase::SharedTearDown, ..failure_in(&self.text) };
        match result.failure {
            Some(failure) if result.outcome != Outcome::Skipped => {
                let message = format!("{}\noutside of tests: {}", failure.message, outside.message);
                let trace = format!("{}\n{}", failure.trace, outside.trace);
                TestResult { failure: Some(Failure { phase: outside.phase, message, trace, ..failure }), ..result }
            }
            _ => TestResult { outcome: Outcome::Error, ..result }.failed(outside),
        }
    }
}

impl GtestListener {
    pub(crate) fn new(names: Vec<String>, is_ordered: bool) -> Self {
        Self {
            started: vec![false; names.len()],
            names,
            is_ordered,
            finished: 0,
            next: 0,
            current: None,
            last: None,
            failures: 0,
            since: Instant::now(),
            output: BoundedText::new(OUTPUT),
            outside: OutsideFailures::default(),
        }
    }

    /// The tests that may start next.
    fn unstarted(&self) -> impl Iterator<Item = usize> {
        let from = if self.is_ordered { self.next } else { 0 };
        (from..self.names.len()).filter(|at| !self.started[*at])
    }

    fn started_at(&mut self, at: usize) -> Vec<ProgramEvent> {
        self.current = Some(at);
        self.started[at] = true;
        self.next = at + 1;
        self.since = Instant::now();
        self.output = BoundedText::new(OUTPUT);
        vec![ProgramEvent::Started(at)]
    }

    fn finished(&mut self, at: usize, result: TestResult) -> Vec<ProgramEvent> {
        self.current = None;
        self.since = Instant::now();
        self.failures += usize::from(result.outcome == Outcome::Failed);
        self.finished += 1;
        if self.finished == self.names.len() || self.is_ordered && at + 1 == self.names.len() {
            self.last = Some((at, result));
            return Vec::new();
        }
        vec![ProgramEvent::Done(at, result)]
    }

    fn result(&self, at: usize, text: &str) -> Option<TestResult> {
        let name = &self.names[at];
        let seconds = self.since.elapsed().as_secs_f64();
        for (mark, outcome) in [
            ("[       OK ] ", Outcome::Passed),
            ("[  FAILED  ] ", Outcome::Failed),
            ("[  SKIPPED ] ", Outcome::Skipped),
        ] {
            let Some(place) = text.find(&format!("{mark}{name}")) else { continue };
            let rest = &text[place + mark.len() + name.len()..];
            // Otherwise the name is a prefix of another test's name.
            if !rest.starts_with(" (") && !rest.starts_with(", where ") && !rest.is_empty() {
                continue;
            }
            let before = text[..place].to_owned();
            let output = format!("{}{before}", self.output.text());
            let result = TestResult::new(outcome, seconds);
            return Some(match outcome {
                Outcome::Failed => result.failed(failure_in(&output)).with_output(before_failure(&output), ""),
                Outcome::Skipped => result.failed(failed("Skipped", skip_reason(&output))),
                _ => result.with_output(output, ""),
            });
        }
        None
    }
}

impl OutputListener for GtestListener {
    fn line(&mut self, line: &[u8]) -> Vec<ProgramEvent> {
        let text = lossless(line);
        let text = text.trim_end_matches('\r');
        if let Some(at) = self.current {
            if let Some(result) = self.result(at, text) {
                return self.finished(at, result);
            }
        } else if let Some(place) = text.rfind("[ RUN      ] ") {
            let name = &text[place + "[ RUN      ] ".len()..];
            let found = self.unstarted().find(|at| self.names[*at] == name);
            if let Some(at) = found {
                self.outside.within = false;
                return self.started_at(at);
            }
            self.outside.add_line(text);
        } else {
            self.outside.add_line(text);
        }
        self.output.add(text.as_bytes());
        self.output.add(b"\n");
        Vec::new()
    }

    fn since(&self) -> Option<Instant> {
        Some(self.since)
    }

    fn end(&mut self, end: &ProcessEnd) -> Vec<ProgramEvent> {
        let mut events = Vec::new();
        let seconds = self.since.elapsed().as_secs_f64();
        let output = self.output.text();
        let died = |output: &str| match end.exit {
            ExitKind::TimedOut => TestResult::timed_out(seconds, output.trim()),
            exit => TestResult::crashed(exit, seconds, sanitizers::report(output), output.trim()),
        };
        // With exit code 0 it only looked like a failure.
        let bad_outside = !self.outside.text.is_empty() && end.exit != ExitKind::Exit(0);
        let blame = |result: TestResult| if bad_outside { self.outside.blame(result) } else { result };
        if let Some(at) = self.current {
            events.push(ProgramEvent::Done(at, blame(died(&output).with_output(output, ""))));
        } else if let Some((at, result)) = self.last.take() {
            let expected = if self.failures > 0 || bad_outside { ExitKind::Exit(1) } else { ExitKind::Exit(0) };
            let as_expected = end.exit == expected && sanitizers::report(&output).is_none();
            let result = if as_expected { result } else { ended_badly(result, end, &output, died(&output)) };
            events.push(ProgramEvent::Done(at, blame(result)));
        } else if let Some(next) = self.unstarted().next() {
            // Between two tests: in the set-up of the next suite or the tear-down of the last one.
            events.push(ProgramEvent::Started(next));
            events.push(ProgramEvent::Done(next, blame(died(&output).with_output(output, ""))));
        }
        events
    }
}

/// An error after all tests had finished. A failure of the last test keeps its own message.
fn ended_badly(result: TestResult, end: &ProcessEnd, output: &str, died: TestResult) -> TestResult {
    if result.outcome == Outcome::Failed {
        return result;
    }
    if end.exit == ExitKind::Exit(1) && sanitizers::report(output).is_none() {
        let message = "no test failed, but the program exited with code 1: a tear-down, or a failure outside of tests";
        let failure =
            Failure { phase: Phase::SharedTearDown, trace: output.trim().to_owned(), ..failed("Failed", message) };
        return TestResult::new(Outcome::Error, result.seconds).failed(failure).with_output(output, "");
    }
    let mut died = died.with_output(output, "");
    if let Some(failure) = &mut died.failure {
        failure.phase = Phase::SharedTearDown;
        failure.message = format!("after its last test: {}", failure.message);
    }
    died
}

/// The failure in the output of a test, from its first failure on.
pub(crate) fn failure_in(text: &str) -> Failure {
    let text = text.trim_end();
    let lines: Vec<&str> = text.lines().collect();
    let Some(at) = lines.iter().position(|line| line.ends_with(": Failure")) else {
        let message = lines.last().map_or("the test failed without a message", |line| line);
        return Failure { trace: text.to_owned(), ..failed("Failure", message) };
    };
    let place = lines[at].strip_suffix(": Failure").unwrap_or_default();
    let (file, line) = match place.rsplit_once(':') {
        Some((file, line)) => (Some(file.to_owned()), line.parse().ok()),
        None => (None, None),
    };
    let is_exception = lines.get(at + 1).is_some_and(|line| line.starts_with("C++ exception"));
    let kind = if is_exception { "exception" } else { "Failure" };
    let message = lines[at + 1..].join("\n");
    Failure { file: line.and(file), line, trace: text.to_owned(), ..failed(kind, message.trim()) }
}

/// The output of a test before its first failure.
pub(crate) fn before_failure(text: &str) -> &str {
    let mut end = 0;
    for line in text.split_inclusive('\n') {
        if line.trim_end().ends_with(": Failure") {
            return &text[..end];
        }
        end += line.len();
    }
    text
}

fn skip_reason(text: &str) -> &str {
    let after = text.split_once(": Skipped\n").map_or("", |(_, reason)| reason);
    match after.trim() {
        "" => "skipped",
        reason => reason,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn follow(names: &[&str], lines: &[&str], exit: ExitKind) -> Vec<String> {
        let mut follower = GtestListener::new(names.iter().map(|name| (*name).to_owned()).collect(), true);
        let mut events: Vec<ProgramEvent> = lines.iter().flat_map(|line| follower.line(line.as_bytes())).collect();
        events.extend(follower.end(&ProcessEnd { exit, stdout: String::new(), stderr: String::new(), seconds: 0.0 }));
        let text = |event: ProgramEvent| match event {
            ProgramEvent::Started(at) => format!("start {at}"),
            ProgramEvent::Done(at, result) => {
                let message = result.failure.map(|failure| format!(" {}", failure.message)).unwrap_or_default();
                format!("{at} {:?}{message}", result.outcome)
            }
            ProgramEvent::Changed(_) | ProgramEvent::Restored(_) | ProgramEvent::AgentFailed(_) => "other".to_owned(),
        };
        events.into_iter().map(text).collect()
    }

    #[test]
    fn outcomes_are_read_although_tests_print_in_between() {
        let lines = [
            "[ RUN      ] A.Ok",
            "abc[       OK ] A.Ok (0 ms)",
            "[ RUN      ] A.Bad",
            "xyzt.cc:4: Failure",
            "Expected equality of these values:",
            "  1",
            "[       OK ] A.Ok (0 ms)",
            "t.cc:5: Failure",
            "more",
            "[  FAILED  ] A.Bad (0 ms)",
            "[ RUN      ] P/V.X/1",
            "[  SKIPPED ] P/V.X/1, where GetParam() = 7 (0 ms)",
        ];
        let events = follow(&["A.Ok", "A.Bad", "P/V.X/1"], &lines, ExitKind::Exit(1));
        let failed =
            "1 Failed Expected equality of these values:\n  1\n[       OK ] A.Ok (0 ms)\nt.cc:5: Failure\nmore";
        assert_eq!(events, ["start 0", "0 Passed", "start 1", failed, "start 2", "2 Skipped skipped"]);
    }

    #[test]
    fn a_death_belongs_to_the_test_that_ran_or_was_about_to() {
        let events = follow(&["A.A", "A.B"], &["[ RUN      ] A.A"], ExitKind::Signal(11));
        assert_eq!(events, ["start 0", "0 Crashed(Signal(11)) killed by SIGSEGV"]);
        let events = follow(&["A.A", "A.B"], &["[ RUN      ] A.A", "[       OK ] A.A (0 ms)"], ExitKind::Signal(6));
        assert_eq!(events, ["start 0", "0 Passed", "start 1", "1 Crashed(Signal(6)) killed by SIGABRT"]);
    }

    #[test]
    fn what_goes_wrong_after_the_last_test_is_not_lost() {
        let lines = ["[ RUN      ] A.A", "[       OK ] A.A (0 ms)"];
        let events = follow(&["A.A"], &lines, ExitKind::Signal(11));
        assert_eq!(events, ["start 0", "0 Crashed(Signal(11)) after its last test: killed by SIGSEGV"]);
        assert!(follow(&["A.A"], &lines, ExitKind::Exit(1))[1].starts_with("0 Error no test failed"));
        assert_eq!(follow(&["A.A"], &lines, ExitKind::Exit(0)), ["start 0", "0 Passed"]);
    }

    #[test]
    fn failures_outside_of_tests_are_never_lost() {
        let bad = ["[ RUN      ] A.A", "t.cc:1: Failure", "one", "[  FAILED  ] A.A (0 ms)"];
        let outside = ["t.cc:7: Failure", "Failed", "dirty", "[----------] 1 test from A (0 ms total)"];
        let good = ["[ RUN      ] B.B", "[       OK ] B.B (0 ms)"];
        let lines = [&bad[..], &outside, &good].concat();
        let events = follow(&["A.A", "B.B"], &lines, ExitKind::Exit(1));
        assert_eq!(events, ["start 0", "0 Failed one", "start 1", "1 Error Failed\ndirty"]);
        let events = follow(&["A.A"], &[&bad[..], &outside].concat(), ExitKind::Exit(1));
        assert_eq!(events[1], "0 Failed one\noutside of tests: Failed\ndirty");
        let events = follow(&["A.A", "B.B"], &[&bad[..], &outside, &good[..1]].concat(), ExitKind::TimedOut);
        assert!(
            events[3].starts_with("1 TimedOut") && events[3].ends_with("outside of tests: Failed\ndirty"),
            "{events:?}"
        );
        let events = follow(&["B.B"], &[&outside[..], &good].concat(), ExitKind::Exit(0));
        assert_eq!(events, ["start 0", "0 Passed"], "it only looked like one");
    }

    #[test]
    fn repetitions_are_distinguished() {
        let round = ["[ RUN      ] A.A", "[       OK ] A.A (0 ms)", "[ RUN      ] A.B", "[       OK ] A.B (0 ms)"];
        let events = follow(&["A.A", "A.B", "A.A", "A.B"], &[round, round].concat(), ExitKind::Exit(0));
        assert_eq!(events.iter().filter(|word| word.starts_with("start")).count(), 4);
        assert_eq!(events.last().unwrap(), "3 Passed");
    }
}
