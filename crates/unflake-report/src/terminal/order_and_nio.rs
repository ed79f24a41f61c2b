//! Terminal report for `unflake order` and `unflake nio`: order-dependent and non-idempotent tests,
//! one block for each cause.

use std::io::{self, Write};

use unflake_model::{Cell, Confidence, Detail, Failure, Finding, Fingerprint, LeakKind, NioKind, OrderKind};

use crate::causes::causes;
use crate::fix::fix;
use crate::terminal::summary;
use crate::terminal::writer::{Keep, TermWriter, Tone};
use crate::text::format;
use crate::{RunReport, TerminalStyle, one_line};

const MESSAGE_LINES: usize = 12;
/// State cells shown per cause.
const CELLS: usize = 8;
/// Tests shown per cause, and those of them with their evidence.
const TESTS: usize = 20;
const DETAILED: usize = 5;
/// Blocks of possible findings.
const POSSIBLE: usize = 10;

/// Writes the findings. `quiet` leaves out what needs no action.
pub fn order_and_nio(run: &RunReport, style: &TerminalStyle, quiet: bool, out: &mut dyn Write) -> io::Result<()> {
    let term = &mut TermWriter::new(*style, out);
    let mut counts: Vec<String> = vec![format::count(run.tests.len(), "test")];
    counts.extend(kind_counts(run));
    counts.extend(run.searched.map(|searched| format::count(searched.sessions as usize, "session")));
    counts.push(format::duration(run.totals.seconds));
    term.prose(0, Tone::Bold, &counts.join(", "))?;
    for problem in run.problems {
        term.blank()?;
        term.head(Tone::Bad, "ERROR", format::problem_text(problem.kind))?;
        term.quote(term.indent() + 2, &problem.text, MESSAGE_LINES * 2, Keep::Ends)?;
    }
    let (mut possible, mut left_out) = (0, 0);
    for group in groups(run, quiet) {
        possible += usize::from(is_possible(group[0].0));
        if is_possible(group[0].0) && possible > POSSIBLE && !style.shows_all() {
            left_out += group.len();
            continue;
        }
        term.blank()?;
        match &group[..] {
            [(finding, label)] => entry(term, run, finding, label)?,
            group => shared_cause(term, run, group, style.shows_all())?,
        }
    }
    if left_out > 0 {
        term.blank()?;
        term.cut(0, &format!("and {}", format::count(left_out, "more possible finding")))?;
    }
    if !quiet {
        summary::notes(term, run.notes)?;
    }
    summary::search_longer(term, run)?;
    summary::end(term, run, quiet)
}

/// `2 victims`, `1 possible victim`, in the order of `KINDS`.
fn kind_counts(run: &RunReport) -> Vec<String> {
    let mut counts = Vec::new();
    for (label, noun) in KINDS {
        for possible in [false, true] {
            let counted = |finding: &&Finding| label_of(finding) == Some(label) && is_possible(finding) == possible;
            let noun = if possible { format!("possible {noun}") } else { noun.to_owned() };
            match run.findings.iter().filter(counted).count() {
                0 => {}
                count if noun.ends_with("victim") => counts.push(format::count(count, &noun)),
                count => counts.push(format!("{count} {noun}")),
            }
        }
    }
    counts
}

/// Labels and how their findings are counted, in order.
const KINDS: [(&str, &str); 5] =
    [("NIO", "non-idempotent"), ("VICTIM", "victim"), ("BRITTLE", "brittle"), ("FLAKY", "flaky"), ("BROKEN", "broken")];

/// The label of an independent finding; findings that explain another one have none.
fn label_of(finding: &Finding) -> Option<&'static str> {
    Some(match &finding.detail {
        Detail::Nio(nio) => match nio.kind {
            NioKind::Nio => "NIO",
            NioKind::Brittle => "BRITTLE",
            NioKind::NonDeterministic => "FLAKY",
            NioKind::Broken => "BROKEN",
        },
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

fn is_possible(finding: &Finding) -> bool {
    finding.confidence() == Some(Confidence::Possible)
}

type Labelled<'a> = (&'a Finding, &'static str);

/// The findings to show, those with one cause together, in the order of the first of each.
fn groups<'a>(run: &RunReport<'a>, quiet: bool) -> Vec<Vec<Labelled<'a>>> {
    let mut groups: Vec<((Fingerprint, &str), Vec<Labelled>)> = Vec::new();
    for (finding, cause) in run.findings.iter().zip(causes(run.findings)) {
        let Some(label) = label_of(finding).filter(|label| !quiet || *label != "BROKEN") else { continue };
        let key = (cause, label);
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, group)) => group.push((finding, label)),
            None => groups.push((key, vec![(finding, label)])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

/// One block for several tests that one cause explains.
fn shared_cause(term: &mut TermWriter, run: &RunReport, group: &[Labelled], shows_all: bool) -> io::Result<()> {
    let (first, label) = group[0];
    let confidence = first.confidence().map(|confidence| format!(" ({})", confidence.word())).unwrap_or_default();
    term.head(Tone::Odd, label, &format!("{} with one cause{confidence}", format::count(group.len(), "test")))?;
    let indent = term.indent();
    let explained = group.iter().find(|(finding, _)| state_of(run, finding).is_some());
    show_cause(term, run, explained.map_or(first, |(finding, _)| finding))?;
    let shown = if shows_all { group.len() } else { TESTS };
    for (at, (finding, _)) in group.iter().take(shown).enumerate() {
        term.line(&[(Tone::Usual, &" ".repeat(indent)), (Tone::Bold, &one_line(finding.test.as_str()))])?;
        if at >= DETAILED && !shows_all {
            continue;
        }
        term.prose(indent + 2, Tone::Usual, &one_line(&finding.sentence))?;
        match run.not_useful(finding) {
            Some(feedback) => term.prose(indent + 2, Tone::Faint, &format::feedback_text(feedback))?,
            None => summary::reproduce(term, indent + 2, finding)?,
        }
    }
    match group.len().saturating_sub(shown) {
        0 => Ok(()),
        more => term.cut(indent, &format!("and {} with this cause", format::count(more, "more test"))),
    }
}

fn entry(term: &mut TermWriter, run: &RunReport, finding: &Finding, label: &str) -> io::Result<()> {
    let confidence = finding.confidence().map(|confidence| format!("  ({})", confidence.word())).unwrap_or_default();
    term.head(Tone::Odd, label, &format!("{}{confidence}", one_line(finding.test.as_str())))?;
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
    show_cause(term, run, finding)?;
    summary::reproduce(term, indent, finding)
}

/// The leaked state behind a finding, and the fix.
fn show_cause(term: &mut TermWriter, run: &RunReport, finding: &Finding) -> io::Result<()> {
    let indent = term.indent();
    let Some(state) = state_of(run, finding) else { return Ok(()) };
    if let Detail::State(leak) = &state.detail {
        let label = if leak.kind == LeakKind::Proven { "cause" } else { "possible" };
        term.labelled_prose(indent, label, &one_line(&state.sentence))?;
        show_cells(term, &leak.cells)?;
    }
    fix(state).map_or(Ok(()), |fix| term.labelled_prose(indent, "fix", &one_line(&fix)))
}

fn state_of<'a>(run: &RunReport<'a>, finding: &Finding) -> Option<&'a Finding> {
    run.findings.iter().find(|one| one.test == finding.test && matches!(one.detail, Detail::State(_)))
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

fn show_cells(term: &mut TermWriter, cells: &[Cell]) -> io::Result<()> {
    let indent = term.indent() + 2;
    for cell in cells.iter().take(CELLS) {
        let value =
            |value: &Option<String>| value.as_deref().map_or("absent".to_owned(), |text| one_line(text).into_owned());
        let change = format!("was {}, is {}", value(&cell.before), value(&cell.after));
        term.side_by_side(indent, (Tone::Bold, &one_line(&cell.path)), (Tone::Usual, &change))?;
        if let Some(written) = &cell.written {
            let at =
                format!("written at {}:{} in {}", one_line(&written.file), written.line, one_line(&written.function));
            term.prose(indent + 2, Tone::Usual, &at)?;
        }
    }
    match cells.len().saturating_sub(CELLS) {
        0 => Ok(()),
        more => term.cut(indent, &format!("and {more} more")),
    }
}
