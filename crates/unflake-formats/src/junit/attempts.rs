//! Derives the attempts at a test from what JUnit XML reports about it.

use std::io::BufRead;
use std::ops::ControlFlow;

use unflake_model::{Failure, Outcome, Phase};

use crate::bounded_text;
use crate::junit::bounded_xml::BoundedXml;
use crate::junit::reader::{self, JunitError, JunitEvent, JunitListener, Reported};
use crate::libtest_json::{panic_message, unknown_failure};
use crate::test_id;
use crate::{ReportedAttempt, ReportedTest, TestSink};

pub(crate) fn read(source: impl BufRead, sink: &mut TestSink) -> Result<(), String> {
    let mut collector = AttemptCollector { sink, held: None };
    let ended = reader::read(BoundedXml::new(source), &mut collector);
    let _ = collector.release();
    ended
}

struct AttemptCollector<'a, 'b> {
    sink: &'a mut TestSink<'b>,
    /// The last test in pytest's dialect: its meaning depends on the next one.
    held: Option<Reported>,
}

impl AttemptCollector<'_, '_> {
    fn release(&mut self) -> ControlFlow<()> {
        self.held.take().map_or(ControlFlow::Continue(()), |test| (self.sink)(reported_test(test)))
    }
}

impl JunitListener for AttemptCollector<'_, '_> {
    /// pytest writes a test twice in a row for two reasons. Either it failed and its teardown
    /// failed too, or a plugin reran it: then all but the last look like passes, and all of them
    /// failed.
    fn case(&mut self, test: Reported) -> ControlFlow<()> {
        let is_pytest = test.suite == "pytest";
        if let Some(held) =
            self.held.as_mut().filter(|held| (&held.classname, &held.name) == (&test.classname, &test.name))
        {
            match (&held.result, &test.result) {
                (JunitEvent::Failed(_), JunitEvent::Failed(then)) if then.message.starts_with("failed on teardown") => {
                    return ControlFlow::Continue(());
                }
                // Writers that number the attempts report the outcome of each.
                (JunitEvent::Passed, _) if test.attempt.is_none() => {
                    let mut case = reported_test(self.held.take().unwrap_or_default());
                    case.attempts = vec![unknown_failure()];
                    (self.sink)(case)?;
                }
                _ => {}
            }
        }
        self.release()?;
        if is_pytest {
            self.held = Some(test);
            return ControlFlow::Continue(());
        }
        (self.sink)(reported_test(test))
    }
}

fn reported_test(test: Reported) -> ReportedTest {
    let (id, file) = test_id::of(&test);
    let Reported { line, when, seconds, attempt, mut result, excused, rerun_failures, stdout, stderr, .. } = test;
    if let JunitEvent::Failed(failure) = &mut result
        && failure.text.is_empty()
    {
        // nextest reports the reason of a failure only in the captured output.
        failure.text = if stderr.trim().is_empty() { stdout } else { stderr };
    }
    // The duration of a test is given once. For a rerun test it is that of the last attempt or of
    // all, depending on the dialect.
    let failed = |failure: JunitError| attempt_of(JunitEvent::Failed(failure), 0.0);
    let mut attempts = Vec::with_capacity(1 + excused.len() + rerun_failures.len());
    if excused.is_empty() {
        attempts.push(attempt_of(result, seconds));
        attempts.extend(rerun_failures.into_iter().map(failed));
    } else {
        // A failure next to excused ones repeats the first of these: the runner lets flaky tests
        // fail.
        attempts.extend(excused.into_iter().map(failed));
        attempts.push(attempt_of(JunitEvent::Passed, seconds));
    }
    let before = attempt.map(|attempt| attempt.saturating_sub(1));
    ReportedTest { id: bounded_text::name(id), file, line, when, before, attempts }
}

fn attempt_of(result: JunitEvent, seconds: f64) -> ReportedAttempt {
    let (outcome, failure) = match result {
        JunitEvent::Passed => return ReportedAttempt { outcome: Outcome::Passed, seconds, failure: None },
        // pytest's type for an expected failure.
        JunitEvent::Skipped(reason) if reason.kind == "pytest.xfail" => (Outcome::ExpectedFailure, reason),
        JunitEvent::Skipped(reason) => (Outcome::Skipped, reason),
        JunitEvent::Failed(failure) if is_setup_or_teardown(&failure) => (Outcome::Error, failure),
        JunitEvent::Failed(failure) => (Outcome::Failed, failure),
    };
    let phase = match outcome {
        Outcome::Error if failure.message.starts_with("failed on teardown") => Phase::TearDown,
        Outcome::Error => Phase::SetUp,
        _ => Phase::Call,
    };
    let is_informative = |line: &&str| !line.is_empty() && !line.starts_with("=== ") && !line.starts_with("--- ");
    let first = || failure.text.lines().map(str::trim).find(is_informative).map(str::to_owned);
    let message = match failure.message.trim() {
        // Reporters for Go put nothing else into the message; the reason is in the text.
        "" | "Failed" => panic_message(&failure.text).or_else(first).unwrap_or_default(),
        // Newer nextest releases give the location in the message and the reason in the text.
        message if message.starts_with("thread '") && message.contains(" panicked at ") => {
            panic_message(&failure.text).unwrap_or_else(|| message.to_owned())
        }
        message => message.to_owned(),
    };
    let failure = Failure {
        phase,
        kind: bounded_text::message(&failure.kind),
        message: bounded_text::message(&message),
        trace: bounded_text::trace(&failure.text),
        file: None,
        line: None,
    };
    ReportedAttempt { outcome, seconds, failure: Some(failure) }
}

/// In Java an `error` is any exception other than an assertion failure. For pytest it is a failure
/// in setup or teardown.
fn is_setup_or_teardown(failure: &JunitError) -> bool {
    let words = ["failed on setup", "failed on teardown", "collection failure"];
    failure.is_error && words.iter().any(|word| failure.message.starts_with(word))
}
