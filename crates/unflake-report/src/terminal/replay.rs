//! Terminal report for `unflake replay`: the outcome of each test, and the failure of the last.

use std::io::{self, Write};

use unflake_model::Attempt;

use crate::terminal::writer::{TermWriter, Tone};
use crate::terminal::{failure, summary};
use crate::{RunReport, TerminalStyle, one_line};

/// Writes one line for each attempt, in the order in which they ran.
pub fn replay(run: &RunReport, style: &TerminalStyle, quiet: bool, out: &mut dyn Write) -> io::Result<()> {
    let term = &mut TermWriter::new(*style, out);
    for attempt in run.attempts {
        head(term, attempt)?;
    }
    if let Some(last) = run.attempts.last().filter(|last| last.outcome.is_failure()) {
        failure::show(term, last, "")?;
    }
    summary::problems(term, run.problems)?;
    if !quiet {
        summary::notes(term, run.notes)?;
    }
    summary::end(term, run, quiet)
}

fn head(term: &mut TermWriter, attempt: &Attempt) -> io::Result<()> {
    let outcome = attempt.outcome;
    let tone = match () {
        () if outcome.is_failure() => Tone::Bad,
        () if outcome.is_pass() => Tone::Good,
        () => Tone::Faint,
    };
    term.head(tone, &outcome.word().to_uppercase(), &one_line(attempt.test.as_str()))
}
