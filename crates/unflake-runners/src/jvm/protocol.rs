//! The messages of the agent in a JVM, and the test results in them.

use std::time::Instant;

use serde::Deserialize;
use unflake_protocol::{Failure, NotRestored, Outcome, Phase};

use crate::driver::program::{OutputListener, ProgramEvent};
use crate::driver::test_result::{TestResult, failed};
use crate::process::bounded_text::lossless;
use crate::process::spec::{ExitKind, ProcessEnd};

/// One message.
#[derive(Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub(crate) struct JvmMessage {
    pub(crate) test: Option<String>,
    pub(crate) class: String,
    pub(crate) method: String,
    pub(crate) note: Option<String>,
    pub(crate) listed: bool,
    /// Listing changed the state of the JVM, so it must not run tests.
    pub(crate) used: bool,
    /// The framework decides about the order of tests.
    pub(crate) own_order: bool,
    /// Why the tests of the project cannot be listed.
    pub(crate) problem: Option<String>,
    /// An error of the agent itself.
    pub(crate) internal: Option<String>,
    pub(crate) over: bool,
    pub(crate) start: Option<usize>,
    /// The JVM leaves the remaining tests to another one, on purpose.
    enough: bool,
    /// The file with the state that differs.
    changed: Option<String>,
    restored: bool,
    failed: Vec<NotRestored>,
    done: Option<usize>,
    outcome: String,
    phase: String,
    seconds: f64,
    kind: String,
    message: String,
    trace: String,
    file: Option<String>,
    line: Option<i64>,
    stdout: String,
    stderr: String,
    layers: Option<String>,
}

/// The exit code of an agent that fails before its first message.
const AGENT_FAILED: i32 = 70;

/// The message about an error of the agent, which is never the failure of a test.
pub(crate) fn agent_failed(error: &str) -> String {
    format!("unflake's agent in the JVM failed: {}", lossless(error.trim().as_bytes()))
}

/// Finds messages among other output: each stands between two marks and may come in pieces.
pub(crate) struct MessageReader {
    mark: Vec<u8>,
    begun: Option<Vec<u8>>,
}

impl MessageReader {
    pub(crate) fn new(mark: &str) -> Self {
        Self { mark: mark.as_bytes().to_vec(), begun: None }
    }

    pub(crate) fn read(&mut self, line: &[u8]) -> Vec<JvmMessage> {
        let mut messages = Vec::new();
        let mut rest = line;
        loop {
            let (before, after) = match found(&self.mark, rest) {
                Some(at) => (&rest[..at], Some(&rest[at + self.mark.len()..])),
                None => (rest, None),
            };
            match (&mut self.begun, after) {
                (Some(begun), _) => begun.extend_from_slice(before),
                (None, Some(_)) => self.begun = Some(Vec::new()),
                (None, None) => {}
            }
            let Some(after) = after else { return messages };
            // The mark at the end of a message has text before it: no message is empty.
            if self.begun.as_ref().is_some_and(|begun| !begun.is_empty()) {
                messages.extend(self.begun.take().and_then(|begun| serde_json::from_slice(&begun).ok()));
            }
            rest = after;
        }
    }

    /// The output without messages.
    pub(crate) fn other_output(&self, text: &str) -> String {
        let mark = String::from_utf8_lossy(&self.mark);
        text.lines().filter(|line| !line.is_empty() && !line.contains(&*mark)).collect::<Vec<_>>().join("\n")
    }
}

/// The position of a mark. All output of a suite passes through here.
fn found(mark: &[u8], text: &[u8]) -> Option<usize> {
    let first = *mark.first()?;
    let mut from = 0;
    loop {
        let at = from + text[from..].iter().position(|byte| *byte == first)?;
        if text[at..].starts_with(mark) {
            return Some(at);
        }
        from = at + 1;
    }
}

/// Follows the tests of one process.
pub(crate) struct AgentListener<P: Fn(&str) -> String> {
    reader: MessageReader,
    tests: usize,
    /// Maps a file in a stack trace to its path.
    path: P,
    /// Tests that have started and have no result.
    running: Vec<usize>,
    /// Which tests have a result.
    reported: Vec<bool>,
    since: Instant,
    /// Whether the agent has sent anything.
    has_message: bool,
    agent_failed: bool,
    /// Whether the JVM has left the remaining tests to another one.
    enough: bool,
}

impl<P: Fn(&str) -> String> AgentListener<P> {
    pub(crate) fn new(mark: &str, tests: usize, path: P) -> Self {
        Self {
            reader: MessageReader::new(mark),
            tests,
            path,
            running: Vec::new(),
            reported: vec![false; tests],
            since: Instant::now(),
            has_message: false,
            agent_failed: false,
            enough: false,
        }
    }

    fn result(&self, mut message: JvmMessage) -> TestResult {
        let layers = message.layers.take();
        TestResult { layers, ..self.ended(message) }
    }

    fn ended(&self, message: JvmMessage) -> TestResult {
        let outcome = match message.outcome.as_str() {
            "passed" => return TestResult::new(Outcome::Passed, message.seconds),
            "skipped" => {
                return TestResult::new(Outcome::Skipped, message.seconds).failed(failed("Skipped", &message.message));
            }
            "error" => Outcome::Error,
            _ => Outcome::Failed,
        };
        let phase = match message.phase.as_str() {
            "set-up" => Phase::SetUp,
            "shared-tear-down" => Phase::SharedTearDown,
            _ => Phase::Call,
        };
        let failure = Failure {
            phase,
            kind: message.kind,
            message: message.message,
            trace: message.trace,
            file: message.file.map(|file| (self.path)(&file)),
            line: message.line.and_then(|line| u32::try_from(line).ok()),
        };
        TestResult::new(outcome, message.seconds).failed(failure).with_output(message.stdout, message.stderr)
    }
}

impl<P: Fn(&str) -> String> OutputListener for AgentListener<P> {
    fn line(&mut self, line: &[u8]) -> Vec<ProgramEvent> {
        let mut events = Vec::new();
        for mut message in self.reader.read(line) {
            self.since = Instant::now();
            if let Some(at) = message.start.filter(|at| *at < self.tests) {
                self.running.push(at);
                events.push(ProgramEvent::Started(at));
            }
            if let Some(at) = message.done.filter(|at| *at < self.tests) {
                self.running.retain(|running| *running != at);
                self.reported[at] = true;
                events.push(ProgramEvent::Done(at, self.result(message)));
                continue;
            }
            events.extend(message.changed.take().map(ProgramEvent::Changed));
            if message.restored {
                events.push(ProgramEvent::Restored(std::mem::take(&mut message.failed)));
            }
            if let Some(error) = message.internal.take() {
                self.agent_failed = true;
                events.push(ProgramEvent::AgentFailed(agent_failed(&error)));
            }
            self.has_message = true;
            self.enough |= message.enough;
        }
        events
    }

    fn since(&self) -> Option<Instant> {
        Some(self.since)
    }

    fn end(&mut self, end: &ProcessEnd) -> Vec<ProgramEvent> {
        let mut events = Vec::new();
        if self.agent_failed {
            return events;
        }
        if !self.has_message && end.exit == ExitKind::Exit(AGENT_FAILED) {
            return vec![ProgramEvent::AgentFailed(agent_failed(&end.stderr))];
        }
        if self.running.is_empty() {
            // It ended between two tests, or before the first.
            let Some(next) = self.reported.iter().position(|is_done| !is_done && !self.enough) else { return events };
            events.push(ProgramEvent::Started(next));
            self.running.push(next);
        }
        let (stdout, stderr) = (self.reader.other_output(&end.stdout), end.stderr.clone());
        let messages = [stdout.trim_end(), stderr.trim_end()].join("\n");
        let seconds = self.since.elapsed().as_secs_f64();
        let result = match end.exit {
            ExitKind::TimedOut => TestResult::timed_out(seconds, messages.trim()),
            exit => TestResult::crashed(exit, seconds, None, messages.trim()),
        };
        let result = result.with_output(stdout, stderr);
        // Any of the tests that ran side by side may have ended it: each failed, and runs again alone.
        let result = match self.running.len() {
            1 => result,
            _ => TestResult { outcome: Outcome::Failed, ..result },
        };
        events.extend(self.running.drain(..).map(|at| ProgramEvent::Done(at, result.clone())));
        events
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn follow(lines: &[&str], exit: ExitKind) -> Vec<String> {
        let mut follower = AgentListener::new("@@", 3, |file| format!("src/{file}"));
        let mut events: Vec<ProgramEvent> = lines.iter().flat_map(|line| follower.line(line.as_bytes())).collect();
        let end = ProcessEnd { exit, stdout: lines.join("\n"), stderr: "err".to_owned(), seconds: 1.0 };
        events.extend(follower.end(&end));
        let reported = |events: ProgramEvent| match events {
            ProgramEvent::Started(at) => format!("{at} begins"),
            ProgramEvent::Done(at, result) => {
                let why = result.failure.map(|failure| {
                    let place = failure.file.map(|file| format!(" at {file}:{:?}", failure.line)).unwrap_or_default();
                    format!(": {:?} {}{place}", failure.phase, failure.message)
                });
                format!("{at} {:?}{}", result.outcome, why.unwrap_or_default())
            }
            ProgramEvent::Changed(path) => format!("changed: {path}"),
            ProgramEvent::Restored(failed) => format!("restored but for {}", failed.len()),
            ProgramEvent::AgentFailed(text) => text,
        };
        events.into_iter().map(reported).collect()
    }

    #[test]
    fn messages_are_found_in_the_output() {
        let lines = [
            "noise",
            r#"more noise@@{"start":0}@@"#,
            r#"@@{"done":0,"outcome":"passed"}@@@@{"start":1}@@"#,
            r#"@@{"done":1,"outcome":"failed","phase":"call","mess"#,
            r#"age":"no","file":"a/B.java","line":3}@@"#,
            r#"@@{"changed":"/side/changes"}@@"#,
            r#"@@{"restored":true,"failed":[{"cell":"a.B.c","why":"it is final"}]}@@"#,
            r#"@@{"start":2}@@"#,
            r#"@@{"done":2,"outcome":"error","phase":"shared-tear-down","message":"late"}@@"#,
        ];
        let reported = [
            "0 begins",
            "0 Passed",
            "1 begins",
            "1 Failed: Call no at src/a/B.java:Some(3)",
            "changed: /side/changes",
            "restored but for 1",
            "2 begins",
            "2 Error: SharedTearDown late",
        ];
        assert_eq!(follow(&lines, ExitKind::Exit(0)), reported);
    }

    #[test]
    fn a_process_that_dies_takes_its_test_with_it() {
        let lines = [r#"@@{"start":0}@@"#, r#"@@{"done":0,"outcome":"passed"}@@"#, r#"@@{"start":1}@@"#];
        let crashed = "1 Crashed(Exit(0)): Process the process exited with code 0";
        assert_eq!(follow(&lines, ExitKind::Exit(0)), ["0 begins", "0 Passed", "1 begins", crashed]);
        assert!(follow(&lines, ExitKind::TimedOut)[3].starts_with("1 TimedOut"));
        assert_eq!(
            follow(&[lines[0], lines[1], r#"@@{"enough":true}@@"#], ExitKind::Exit(0)),
            ["0 begins", "0 Passed"]
        );
    }

    #[test]
    fn an_error_of_the_agent_is_no_result_of_a_test() {
        let lines = [r#"@@{"start":0}@@"#, r#"@@{"internal":"no such field"}@@"#];
        let failed = "unflake's agent in the JVM failed: no such field";
        assert_eq!(follow(&lines, ExitKind::Exit(70)), ["0 begins", failed]);
        assert_eq!(follow(&[], ExitKind::Exit(70)), ["unflake's agent in the JVM failed: err"]);
        assert_eq!(
            follow(&lines[..1], ExitKind::Exit(70))[1],
            "0 Crashed(Exit(70)): Process the process exited with code 70"
        );
    }
}
