//! What a GoogleTest program prints, and what it says of the tests that it runs.

use std::time::Instant;

use unflake_protocol::{Failed, Outcome, Phase};

use crate::driver::suite::{End, How, Judged, Listener, Said, failed};
use crate::process::bounded_text::{Capture, lossless};
use crate::process::sanitizers;

const OUTPUT: usize = 64 << 10;

/// Reads what GoogleTest prints. Tests come in the order in which they were asked for.
pub(crate) struct Follower {
    names: Vec<String>,
    /// Of those, the first that has not begun.
    next: usize,
    current: Option<usize>,
    /// The outcome of the very last test is told when the process has ended: what goes wrong after it is its affair.
    last: Option<(usize, Judged)>,
    failures: usize,
    since: Instant,
    said: Capture,
    outside: Outside,
}

/// Failures that happen while no test runs: in the set-up or tear-down of a suite, or of the whole program.
#[derive(Default)]
struct Outside {
    text: String,
    within: bool,
}

impl Outside {
    fn hear(&mut self, line: &str) {
        self.within = line.ends_with(": Failure") || self.within && !line.starts_with("[");
        if self.within && self.text.len() < OUTPUT {
            self.text.push_str(line);
            self.text.push('\n');
        }
    }

    /// A test is blamed for them that may have nothing to do with them, so that they are never lost: no pass excuses it.
    fn blame(&self, judged: Judged) -> Judged {
        let outside = Failed { phase: Phase::SharedTearDown, ..failure_in(&self.text) };
        match judged.failure {
            Some(failure) if judged.outcome != Outcome::Skipped => {
                let message = format!("{}\noutside of tests: {}", failure.message, outside.message);
                let trace = format!("{}\n{}", failure.trace, outside.trace);
                Judged { failure: Some(Failed { phase: outside.phase, message, trace, ..failure }), ..judged }
            }
            _ => Judged { outcome: Outcome::Error, ..judged }.failed(outside),
        }
    }
}

impl Follower {
    pub(crate) fn of(names: Vec<String>) -> Self {
        Self {
            names,
            next: 0,
            current: None,
            last: None,
            failures: 0,
            since: Instant::now(),
            said: Capture::new(OUTPUT),
            outside: Outside::default(),
        }
    }

    fn begun(&mut self, at: usize) -> Vec<Said> {
        self.current = Some(at);
        self.next = at + 1;
        self.since = Instant::now();
        self.said = Capture::new(OUTPUT);
        vec![Said::Start(at)]
    }

    fn over(&mut self, at: usize, judged: Judged) -> Vec<Said> {
        self.current = None;
        self.since = Instant::now();
        self.failures += usize::from(judged.outcome == Outcome::Failed);
        if at + 1 == self.names.len() {
            self.last = Some((at, judged));
            return Vec::new();
        }
        vec![Said::Done(at, judged)]
    }

    fn result(&self, at: usize, text: &str) -> Option<Judged> {
        let name = &self.names[at];
        let seconds = self.since.elapsed().as_secs_f64();
        for (mark, outcome) in [
            ("[       OK ] ", Outcome::Passed),
            ("[  FAILED  ] ", Outcome::Failed),
            ("[  SKIPPED ] ", Outcome::Skipped),
        ] {
            let Some(place) = text.find(&format!("{mark}{name}")) else { continue };
            let rest = &text[place + mark.len() + name.len()..];
            // Otherwise it is the beginning of another test's name.
            if !rest.starts_with(" (") && !rest.starts_with(", where ") && !rest.is_empty() {
                continue;
            }
            let before = text[..place].to_owned();
            let said = format!("{}{before}", self.said.text());
            let judged = Judged::new(outcome, seconds);
            return Some(match outcome {
                Outcome::Failed => judged.failed(failure_in(&said)).said(before_failure(&said), ""),
                Outcome::Skipped => judged.failed(failed("Skipped", skip_reason(&said))),
                _ => judged,
            });
        }
        None
    }
}

impl Listener for Follower {
    fn line(&mut self, line: &[u8]) -> Vec<Said> {
        let text = lossless(line);
        let text = text.trim_end_matches('\r');
        if let Some(at) = self.current {
            if let Some(judged) = self.result(at, text) {
                return self.over(at, judged);
            }
        } else if let Some(place) = text.rfind("[ RUN      ] ") {
            let name = &text[place + "[ RUN      ] ".len()..];
            let found = (self.next..self.names.len()).find(|at| self.names[*at] == name);
            if let Some(at) = found {
                self.outside.within = false;
                return self.begun(at);
            }
            self.outside.hear(text);
        } else {
            self.outside.hear(text);
        }
        self.said.add(text.as_bytes());
        self.said.add(b"\n");
        Vec::new()
    }

    fn since(&self) -> Option<Instant> {
        Some(self.since)
    }

    fn end(&mut self, end: &End) -> Vec<Said> {
        let mut told = Vec::new();
        let seconds = self.since.elapsed().as_secs_f64();
        let said = self.said.text();
        let died = |said: &str| match end.how {
            How::TimedOut => Judged::timed_out(seconds, said.trim()),
            how => Judged::crashed(how, seconds, sanitizers::report(said), said.trim()),
        };
        // Where the program leaves with 0, it was no failure but something that looked like one.
        let bad_outside = !self.outside.text.is_empty() && end.how != How::Exit(0);
        let blame = |judged: Judged| if bad_outside { self.outside.blame(judged) } else { judged };
        if let Some(at) = self.current {
            told.push(Said::Done(at, blame(died(&said).said(said, ""))));
        } else if let Some((at, judged)) = self.last.take() {
            let expected = if self.failures > 0 || bad_outside { How::Exit(1) } else { How::Exit(0) };
            let as_expected = end.how == expected && sanitizers::report(&said).is_none();
            let judged = if as_expected { judged } else { ended_badly(judged, end, &said, died(&said)) };
            told.push(Said::Done(at, blame(judged)));
        } else if self.next < self.names.len() {
            // Between two tests: in the set-up of the next one's suite, or in the tear-down of the last one's.
            told.push(Said::Start(self.next));
            told.push(Said::Done(self.next, blame(died(&said).said(said, ""))));
        }
        told
    }
}

/// All tests were over when something went wrong. A failure of the last test stays what it is.
fn ended_badly(judged: Judged, end: &End, said: &str, died: Judged) -> Judged {
    if judged.outcome == Outcome::Failed {
        return judged;
    }
    if end.how == How::Exit(1) && sanitizers::report(said).is_none() {
        let message =
            "no test failed, but the program left with exit code 1: a tear-down, or a failure outside of tests";
        let failure =
            Failed { phase: Phase::SharedTearDown, trace: said.trim().to_owned(), ..failed("Failed", message) };
        return Judged::new(Outcome::Error, judged.seconds).failed(failure).said(said, "");
    }
    let mut died = died.said(said, "");
    if let Some(failure) = &mut died.failure {
        failure.phase = Phase::SharedTearDown;
        failure.message = format!("after its last test: {}", failure.message);
    }
    died
}

/// What a test printed from its first failure on.
pub(crate) fn failure_in(text: &str) -> Failed {
    let text = text.trim_end();
    let lines: Vec<&str> = text.lines().collect();
    let Some(at) = lines.iter().position(|line| line.ends_with(": Failure")) else {
        let message = lines.last().map_or("the test failed and did not say why", |line| line);
        return Failed { trace: text.to_owned(), ..failed("Failure", message) };
    };
    let place = lines[at].strip_suffix(": Failure").unwrap_or_default();
    let (file, line) = match place.rsplit_once(':') {
        Some((file, line)) => (Some(file.to_owned()), line.parse().ok()),
        None => (None, None),
    };
    let is_exception = lines.get(at + 1).is_some_and(|line| line.starts_with("C++ exception"));
    let kind = if is_exception { "exception" } else { "Failure" };
    let message = lines[at + 1..].join("\n");
    Failed { file: line.and(file), line, trace: text.to_owned(), ..failed(kind, message.trim()) }
}

/// What a test printed before it failed for the first time.
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

    fn follow(names: &[&str], lines: &[&str], how: How) -> Vec<String> {
        let mut follower = Follower::of(names.iter().map(|name| (*name).to_owned()).collect());
        let mut said: Vec<Said> = lines.iter().flat_map(|line| follower.line(line.as_bytes())).collect();
        said.extend(follower.end(&End { how, stdout: String::new(), stderr: String::new(), seconds: 0.0 }));
        let word = |said: Said| match said {
            Said::Start(at) => format!("start {at}"),
            Said::Done(at, judged) => {
                let message = judged.failure.map(|failure| format!(" {}", failure.message)).unwrap_or_default();
                format!("{at} {:?}{message}", judged.outcome)
            }
            Said::Changed(_) | Said::Restored(_) => "state".to_owned(),
        };
        said.into_iter().map(word).collect()
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
        let said = follow(&["A.Ok", "A.Bad", "P/V.X/1"], &lines, How::Exit(1));
        let failed =
            "1 Failed Expected equality of these values:\n  1\n[       OK ] A.Ok (0 ms)\nt.cc:5: Failure\nmore";
        assert_eq!(said, ["start 0", "0 Passed", "start 1", failed, "start 2", "2 Skipped skipped"]);
    }

    #[test]
    fn a_death_belongs_to_the_test_that_ran_or_was_about_to() {
        let said = follow(&["A.A", "A.B"], &["[ RUN      ] A.A"], How::Signal(11));
        assert_eq!(said, ["start 0", "0 Crashed(Signal(11)) killed by SIGSEGV"]);
        let said = follow(&["A.A", "A.B"], &["[ RUN      ] A.A", "[       OK ] A.A (0 ms)"], How::Signal(6));
        assert_eq!(said, ["start 0", "0 Passed", "start 1", "1 Crashed(Signal(6)) killed by SIGABRT"]);
    }

    #[test]
    fn what_goes_wrong_after_the_last_test_is_not_lost() {
        let lines = ["[ RUN      ] A.A", "[       OK ] A.A (0 ms)"];
        let said = follow(&["A.A"], &lines, How::Signal(11));
        assert_eq!(said, ["start 0", "0 Crashed(Signal(11)) after its last test: killed by SIGSEGV"]);
        assert!(follow(&["A.A"], &lines, How::Exit(1))[1].starts_with("0 Error no test failed"));
        assert_eq!(follow(&["A.A"], &lines, How::Exit(0)), ["start 0", "0 Passed"]);
    }

    #[test]
    fn failures_outside_of_tests_are_never_lost() {
        let bad = ["[ RUN      ] A.A", "t.cc:1: Failure", "one", "[  FAILED  ] A.A (0 ms)"];
        let outside = ["t.cc:7: Failure", "Failed", "dirty", "[----------] 1 test from A (0 ms total)"];
        let good = ["[ RUN      ] B.B", "[       OK ] B.B (0 ms)"];
        let lines = [&bad[..], &outside, &good].concat();
        let said = follow(&["A.A", "B.B"], &lines, How::Exit(1));
        assert_eq!(said, ["start 0", "0 Failed one", "start 1", "1 Error Failed\ndirty"]);
        let said = follow(&["A.A"], &[&bad[..], &outside].concat(), How::Exit(1));
        assert_eq!(said[1], "0 Failed one\noutside of tests: Failed\ndirty");
        let said = follow(&["A.A", "B.B"], &[&bad[..], &outside, &good[..1]].concat(), How::TimedOut);
        assert!(said[3].starts_with("1 TimedOut") && said[3].ends_with("outside of tests: Failed\ndirty"), "{said:?}");
        let said = follow(&["B.B"], &[&outside[..], &good].concat(), How::Exit(0));
        assert_eq!(said, ["start 0", "0 Passed"], "it only looked like one");
    }

    #[test]
    fn repetitions_are_told_apart() {
        let round = ["[ RUN      ] A.A", "[       OK ] A.A (0 ms)", "[ RUN      ] A.B", "[       OK ] A.B (0 ms)"];
        let said = follow(&["A.A", "A.B", "A.A", "A.B"], &[round, round].concat(), How::Exit(0));
        assert_eq!(said.iter().filter(|word| word.starts_with("start")).count(), 4);
        assert_eq!(said.last().unwrap(), "3 Passed");
    }
}
