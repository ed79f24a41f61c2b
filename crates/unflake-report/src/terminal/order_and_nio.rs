//! Terminal report for `unflake order` and `unflake nio`: order-dependent and non-idempotent tests.

use std::io::{self, Write};

use unflake_model::{Cell, Detail, Failure, Finding, LeakKind, NioKind, OrderKind};

use crate::terminal::summary;
use crate::terminal::writer::{Keep, TermWriter, Tone};
use crate::text::format;
use crate::{RunReport, TerminalStyle, one_line};

const MESSAGE_LINES: usize = 12;
/// State cells shown per finding.
const CELLS: usize = 8;

/// Writes the findings. `quiet` leaves out what needs no action.
pub fn order_and_nio(run: &RunReport, style: &TerminalStyle, quiet: bool, out: &mut dyn Write) -> io::Result<()> {
    let term = &mut TermWriter::new(*style, out);
    let mut counts: Vec<String> = vec![format::count(run.tests.len(), "test")];
    for (label, noun) in KINDS {
        let count = run.findings.iter().filter(|finding| label_of(finding).is_some_and(|kind| kind == label)).count();
        if count > 0 {
            counts.push(if count == 1 { format!("1 {}", noun.0) } else { format!("{count} {}", noun.1) });
        }
    }
    if counts.len() == 1 {
        counts.push("nothing found".to_owned());
    }
    let separator = style.sign(" · ").trim_end();
    counts.iter_mut().for_each(|count| count.push_str(separator));
    counts.push(format!("{} attempts{separator}", run.attempts.len()));
    counts.push(format::duration(run.totals.seconds));
    term.words(2, Tone::Bold, counts.iter().map(String::as_str))?;
    for problem in run.problems {
        term.blank()?;
        term.head(Tone::Bad, "✗", "ERROR", format::problem_text(problem.kind))?;
        term.quote(term.indent() + 2, &problem.text, MESSAGE_LINES * 2, Keep::Ends)?;
    }
    for finding in run.findings {
        let Some(label) = label_of(finding).filter(|label| !quiet || *label != "BROKEN") else { continue };
        entry(term, run, finding, label)?;
    }
    if !quiet {
        summary::notes(term, run.notes)?;
    }
    summary::end(term, run, quiet)
}

/// In the order in which they are counted.
const KINDS: [(&str, (&str, &str)); 6] = [
    ("NIO", ("that breaks when it is run twice", "that break when they are run twice")),
    ("VICTIM", ("that fails after others", "that fail after others")),
    ("BRITTLE", ("that needs others before it", "that need others before them")),
    ("SUSPECT", ("that may depend on others: not repeated yet", "that may depend on others: not repeated yet")),
    ("FLAKY", ("that fails by chance", "that fail by chance")),
    ("BROKEN", ("that fails always", "that fail always")),
];

/// The noun for an independent finding; findings that explain another one have none.
fn label_of(finding: &Finding) -> Option<&'static str> {
    Some(match &finding.detail {
        Detail::Nio(nio) => match nio.kind {
            NioKind::Nio => "NIO",
            NioKind::Brittle => "BRITTLE",
            NioKind::NonDeterministic => "FLAKY",
            NioKind::Broken => "BROKEN",
        },
        Detail::Order(order) if order.culprits.is_empty() => "SUSPECT",
        Detail::Order(order) => match order.kind {
            OrderKind::Victim => "VICTIM",
            OrderKind::Brittle => "BRITTLE",
        },
        Detail::Verdict(_) => "FLAKY",
        Detail::State(_)
        | Detail::Intersect(_)
        | Detail::Divergence(_)
        | Detail::Layer(_)
        | Detail::Factor(_)
        | Detail::Filter(_) => {
            return None;
        }
    })
}

fn entry(term: &mut TermWriter, run: &RunReport, finding: &Finding, label: &str) -> io::Result<()> {
    term.blank()?;
    term.head(Tone::Odd, "≈", label, &one_line(finding.test.as_str()))?;
    let indent = term.indent();
    term.prose(indent, Tone::Usual, &one_line(&finding.sentence))?;
    if let Some(feedback) = run.not_useful(finding) {
        return term.prose(indent, Tone::Faint, &format::feedback_text(feedback));
    }
    let failure = match &finding.detail {
        Detail::Nio(nio) => nio.second_failure.as_ref(),
        Detail::Order(order) => order.failure.as_ref(),
        _ => None,
    };
    if let Some(failure) = failure {
        show_failure(term, failure)?;
    }
    for state in run.findings.iter().filter(|one| one.test == finding.test) {
        if let Detail::State(leak) = &state.detail {
            term.prose(indent, Tone::Usual, &one_line(&state.sentence))?;
            show_cells(term, &leak.cells, leak.kind)?;
        }
    }
    if let Some(command) = finding.command() {
        term.side_by_side(indent, (Tone::Faint, "see it yourself"), (Tone::Usual, &one_line(command)))?;
    }
    Ok(())
}

fn show_failure(term: &mut TermWriter, failure: &Failure) -> io::Result<()> {
    let indent = term.indent() + 2;
    let place = match (&failure.file, failure.line) {
        (Some(file), Some(line)) => format!("{}:{line}", one_line(file)),
        (Some(file), None) => one_line(file).into_owned(),
        _ => String::new(),
    };
    term.side_by_side(indent, (Tone::Bold, &place), (Tone::Usual, &one_line(&failure.kind)))?;
    term.quote(indent, failure.message.trim(), MESSAGE_LINES, Keep::Ends)
}

fn show_cells(term: &mut TermWriter, cells: &[Cell], kind: LeakKind) -> io::Result<()> {
    let indent = term.indent() + 2;
    let word = if kind == LeakKind::Proven { "leaves" } else { "differs" };
    for cell in cells.iter().take(CELLS) {
        let value = |value: &Option<String>, none: &str| {
            value.as_deref().map_or(none.to_owned(), |text| one_line(text).into_owned())
        };
        term.side_by_side(indent, (Tone::Faint, word), (Tone::Bold, &one_line(&cell.path)))?;
        let change = format!("was {}, is {}", value(&cell.before, "not there"), value(&cell.after, "gone"));
        term.prose(indent + 4, Tone::Usual, &change)?;
        if let Some(written) = &cell.written {
            let at =
                format!("written at {}:{} in {}", one_line(&written.file), written.line, one_line(&written.function));
            term.prose(indent + 4, Tone::Usual, &at)?;
        }
    }
    match cells.len().saturating_sub(CELLS) {
        0 => Ok(()),
        more => term.cut(indent, &format!("and {more} more")),
    }
}
