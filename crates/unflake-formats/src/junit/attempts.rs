//! From what JUnit XML says of a test to the attempts that were made at it.

use std::io::BufRead;
use std::ops::ControlFlow;

use unflake_model::{Failure, Outcome, Phase};

use crate::bounded_text;
use crate::junit::bounded_xml::Tame;
use crate::junit::reader::{self, JunitError, JunitEvent, Listener, Reported};
use crate::libtest_json::{panic_in, untold};
use crate::test_id;
use crate::{ReportedAttempt, ReportedTest, TestSink};

pub(crate) fn read(source: impl BufRead, sink: &mut TestSink) -> Result<(), String> {
    let mut cases = Cases { sink, held: None };
    let ended = reader::read(Tame::new(source), &mut cases);
    let _ = cases.release();
    ended
}

struct Cases<'a, 'b> {
    sink: &'a mut TestSink<'b>,
    /// The last test of pytest: what it means is known when the next has come.
    held: Option<Reported>,
}

impl Cases<'_, '_> {
    fn release(&mut self) -> ControlFlow<()> {
        self.held.take().map_or(ControlFlow::Continue(()), |test| (self.sink)(case(test)))
    }
}

impl Listener for Cases<'_, '_> {
    /// pytest writes a test twice in a row for two reasons. It failed and then its tear-down failed too. Or a plugin ran it
    /// again: then all but the last look as if they had passed, and none of them did.
    fn case(&mut self, test: Reported) -> ControlFlow<()> {
        let is_pytest = test.suite == "pytest";
        if let Some(held) =
            self.held.as_mut().filter(|held| (&held.classname, &held.name) == (&test.classname, &test.name))
        {
            match (&held.result, &test.result) {
                (JunitEvent::Failed(_), JunitEvent::Failed(then)) if then.message.starts_with("failed on teardown") => {
                    return ControlFlow::Continue(());
                }
                // Whoever numbers attempts tells what became of each.
                (JunitEvent::Passed, _) if test.attempt.is_none() => {
                    let mut case = case(self.held.take().unwrap_or_default());
                    case.attempts = vec![untold()];
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
        (self.sink)(case(test))
    }
}

fn case(test: Reported) -> ReportedTest {
    let (id, file) = test_id::of(&test);
    let Reported { line, when, seconds, attempt, mut result, excused, in_vain, stdout, stderr, .. } = test;
    if let JunitEvent::Failed(trouble) = &mut result
        && trouble.text.is_empty()
    {
        // nextest tells what went wrong only by what was printed.
        trouble.text = if stderr.trim().is_empty() { stdout } else { stderr };
    }
    // What a test took is told once. Of one that ran again it is the time of the last, or of all, by dialect.
    let failed = |trouble: JunitError| tried(JunitEvent::Failed(trouble), 0.0);
    let mut attempts = Vec::with_capacity(1 + excused.len() + in_vain.len());
    if excused.is_empty() {
        attempts.push(tried(result, seconds));
        attempts.extend(in_vain.into_iter().map(failed));
    } else {
        // A failure beside excused ones is the first of these told once more, by a runner that lets flaky tests fail.
        attempts.extend(excused.into_iter().map(failed));
        attempts.push(tried(JunitEvent::Passed, seconds));
    }
    let before = attempt.map(|attempt| attempt.saturating_sub(1));
    ReportedTest { id: bounded_text::name(id), file, line, when, before, attempts }
}

fn tried(result: JunitEvent, seconds: f64) -> ReportedAttempt {
    let (outcome, trouble) = match result {
        JunitEvent::Passed => return ReportedAttempt { outcome: Outcome::Passed, seconds, failure: None },
        // pytest's word for a test that failed as it was expected to.
        JunitEvent::Skipped(reason) if reason.kind == "pytest.xfail" => (Outcome::ExpectedFailure, reason),
        JunitEvent::Skipped(reason) => (Outcome::Skipped, reason),
        JunitEvent::Failed(trouble) if is_outside_of_the_test(&trouble) => (Outcome::Error, trouble),
        JunitEvent::Failed(trouble) => (Outcome::Failed, trouble),
    };
    let phase = match outcome {
        Outcome::Error if trouble.message.starts_with("failed on teardown") => Phase::TearDown,
        Outcome::Error => Phase::SetUp,
        _ => Phase::Call,
    };
    let says_something = |line: &&str| !line.is_empty() && !line.starts_with("=== ") && !line.starts_with("--- ");
    let first = || trouble.text.lines().map(str::trim).find(says_something).map(str::to_owned);
    let message = match trouble.message.trim() {
        // Go's reporters say no more than this; the reason is in the text.
        "" | "Failed" => panic_in(&trouble.text).or_else(first).unwrap_or_default(),
        // nextest's newer ones say where, and in the text what.
        message if message.starts_with("thread '") && message.contains(" panicked at ") => {
            panic_in(&trouble.text).unwrap_or_else(|| message.to_owned())
        }
        message => message.to_owned(),
    };
    let failure = Failure {
        phase,
        kind: bounded_text::message(&trouble.kind),
        message: bounded_text::message(&message),
        trace: bounded_text::trace(&trouble.text),
        file: None,
        line: None,
    };
    ReportedAttempt { outcome, seconds, failure: Some(failure) }
}

/// In Java an `error` is any exception that is no assertion. pytest says what it means by it.
fn is_outside_of_the_test(trouble: &JunitError) -> bool {
    let words = ["failed on setup", "failed on teardown", "collection failure"];
    trouble.is_error && words.iter().any(|word| trouble.message.starts_with(word))
}
