//! From what JUnit XML says of a test to the attempts that were made at it.

use std::io::BufRead;
use std::ops::ControlFlow;

use unflake_model::{Failure, Outcome, Phase};

use crate::junit::{self, Listener, Reported, Told, Trouble};
use crate::libtest::{panic_in, untold};
use crate::tame::Tame;
use crate::{Case, Sink, Tried, identity, text};

pub(crate) fn read(source: impl BufRead, sink: &mut Sink) -> Result<(), String> {
    let mut cases = Cases { sink, held: None };
    let ended = junit::read(Tame::new(source), &mut cases);
    let _ = cases.release();
    ended
}

struct Cases<'a, 'b> {
    sink: &'a mut Sink<'b>,
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
                (Told::Failed(_), Told::Failed(then)) if then.message.starts_with("failed on teardown") => {
                    return ControlFlow::Continue(());
                }
                // Whoever numbers attempts tells what became of each.
                (Told::Passed, _) if test.attempt.is_none() => {
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

fn case(test: Reported) -> Case {
    let (id, file) = identity::of(&test);
    let Reported { line, when, seconds, attempt, mut result, excused, in_vain, stdout, stderr, .. } = test;
    if let Told::Failed(trouble) = &mut result
        && trouble.text.is_empty()
    {
        // nextest tells what went wrong only by what was printed.
        trouble.text = if stderr.trim().is_empty() { stdout } else { stderr };
    }
    // What a test took is told once. Of one that ran again it is the time of the last, or of all, by dialect.
    let failed = |trouble: Trouble| tried(Told::Failed(trouble), 0.0);
    let mut attempts = Vec::with_capacity(1 + excused.len() + in_vain.len());
    if excused.is_empty() {
        attempts.push(tried(result, seconds));
        attempts.extend(in_vain.into_iter().map(failed));
    } else {
        // A failure beside excused ones is the first of these told once more, by a runner that lets flaky tests fail.
        attempts.extend(excused.into_iter().map(failed));
        attempts.push(tried(Told::Passed, seconds));
    }
    let before = attempt.map(|attempt| attempt.saturating_sub(1));
    Case { id: text::name(id), file, line, when, before, attempts }
}

fn tried(result: Told, seconds: f64) -> Tried {
    let (outcome, trouble) = match result {
        Told::Passed => return Tried { outcome: Outcome::Passed, seconds, failure: None },
        // pytest's word for a test that failed as it was expected to.
        Told::Skipped(reason) if reason.kind == "pytest.xfail" => (Outcome::ExpectedFailure, reason),
        Told::Skipped(reason) => (Outcome::Skipped, reason),
        Told::Failed(trouble) if is_outside_of_the_test(&trouble) => (Outcome::Error, trouble),
        Told::Failed(trouble) => (Outcome::Failed, trouble),
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
        kind: text::message(&trouble.kind),
        message: text::message(&message),
        trace: text::trace(&trouble.text),
        file: None,
        line: None,
    };
    Tried { outcome, seconds, failure: Some(failure) }
}

/// In Java an `error` is any exception that is no assertion. pytest says what it means by it.
fn is_outside_of_the_test(trouble: &Trouble) -> bool {
    let words = ["failed on setup", "failed on teardown", "collection failure"];
    trouble.is_error && words.iter().any(|word| trouble.message.starts_with(word))
}
