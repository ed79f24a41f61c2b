//! Terminal report for `unflake locate`: where a flaky test starts to fail.

use std::io::{self, Write};

use unflake_model::{Detail, Divergence, DivergencePoint, Feedback, Finding, SourceLine};

use crate::divergence_text::{self, file_and_line, same_line};
use crate::fix::fix;
use crate::terminal::excerpt::{Excerpt, ExcerptLimits, ExcerptLine, ExcerptScope, ExecutedBy, Sources};
use crate::terminal::writer::{MAX_COLUMNS, TermWriter, Tone};
use crate::text::confidence::confidence;
use crate::text::format;
use crate::text::sanitize::{keep_start, width, wrap};
use crate::{TerminalStyle, one_line};

/// A divergence and what its reports need.
pub struct LocateReport<'a> {
    /// With [`Detail::Divergence`].
    pub finding: &'a Finding,
    /// Lines of a project file by its path relative to the root. None where it does not exist.
    pub sources: Sources<'a>,
    pub seconds: f64,
    /// Path of the HTML report.
    pub page: Option<&'a str>,
    /// A command that reproduces it.
    pub reproduce: Option<&'a str>,
    /// Feedback that it is not useful.
    pub feedback: Option<&'a Feedback>,
}

impl<'a> LocateReport<'a> {
    pub fn new(finding: &'a Finding, sources: Sources<'a>, seconds: f64) -> Self {
        Self { finding, sources, seconds, page: None, reproduce: None, feedback: None }
    }

    pub(crate) fn divergence(&self) -> Option<&'a Divergence> {
        match &self.finding.detail {
            Detail::Divergence(divergence) => Some(divergence),
            _ => None,
        }
    }
}

const LIMITS: ExcerptLimits = ExcerptLimits { context: 2, rows: 14, files: 2, all: false };
/// Entries shown of other locations, other divergence points and limitations.
const LISTED: usize = 4;
/// Columns for one value, and for one message.
const VALUE: usize = 40;
const MESSAGE: usize = 160;

/// Writes the located line. `quiet` leaves out everything but the answer.
pub fn locate(located: &LocateReport, style: &TerminalStyle, quiet: bool, out: &mut dyn Write) -> io::Result<()> {
    let Some(divergence) = located.divergence() else { return Ok(()) };
    let term = &mut TermWriter::new(*style, out);
    headline(term, located.finding, divergence)?;
    if let Some(feedback) = located.feedback {
        term.prose(2, Tone::Odd, &format::feedback_text(feedback))?;
        let undo = format!("unflake report feedback {} useful", format::short(&located.finding.id()));
        term.labelled(2, "undo", &undo, "shows the full report again")?;
    } else if !quiet {
        source(term, divergence, located.sources)?;
        also(term, divergence, &divergence_text::divergence_points(divergence).1)?;
        unknown(term, divergence)?;
        if let Some(fix) = fix(located.finding) {
            term.labelled_prose(2, "fix", &fix)?;
        }
        if let Some(command) = located.reproduce {
            term.labelled(2, "reproduce", &one_line(command), "fails sometimes")?;
        }
    }
    term.blank()?;
    counts(term, located, divergence)
}

/// The source around the located line.
pub(super) fn source(term: &mut TermWriter, divergence: &Divergence, sources: Sources) -> io::Result<()> {
    let point = divergence_text::divergence_points(divergence).0;
    let scope = ExcerptScope { divergence, start: divergence.locations.first(), point };
    for excerpt in scope.excerpts(sources, LIMITS) {
        show(term, divergence, &excerpt)?;
    }
    term.blank()
}

/// The located line, where the failure shows, and the kind of cause.
pub(super) fn headline(term: &mut TermWriter, finding: &Finding, divergence: &Divergence) -> io::Result<()> {
    let first = match divergence.locations.first() {
        Some(start) => {
            let confidence = confidence(finding).unwrap_or_default();
            sentence(&format!("Root cause ({confidence}): {}, {}", file_and_line(&start.line), start.sentence))
        }
        None => sentence(&format!("Root cause not found: {}", divergence_text::no_location_reason(divergence))),
    };
    term.prose(0, Tone::Bold, &bounded(term.style, &first))?;
    if let Some(shows) = &divergence.shows {
        let message = divergence_text::divergence_points(divergence).0.and_then(|point| point.messages.first());
        let message = message.map(|(text, _)| message_line(term.style, text)).unwrap_or_default();
        let place = one_line(&file_and_line(shows)).into_owned();
        let shows = if message.is_empty() { place } else { format!("{place}: {message}") };
        term.labelled_prose(2, "failure", &shows)?;
    }
    let because = if divergence.because.is_empty() { "" } else { ": " };
    let kind = format!("{}{because}{}", divergence_text::cause_name(divergence.kind), divergence.because);
    term.labelled_prose(2, "kind", &bounded(term.style, &kind))
}

fn show(term: &mut TermWriter, divergence: &Divergence, excerpt: &Excerpt) -> io::Result<()> {
    term.blank()?;
    let style = term.style;
    let file = one_line(excerpt.file);
    let function = one_line(excerpt.function);
    term.side_by_side(4, (Tone::Bold, &file), (Tone::Faint, &keep_start(&function, VALUE * 2, style.sign("…"))))?;
    let digits = excerpt.rows.last().map_or(1, |row| row.number.to_string().len());
    let gutter = 2 + 2 + digits + 3;
    let room = style.width.saturating_sub(gutter).clamp(10, MAX_COLUMNS);
    let code: Vec<String> = excerpt.rows.iter().map(|row| code(row, room, style)).collect();
    let notes: Vec<String> = excerpt.rows.iter().map(|row| notes(row, divergence, style)).collect();
    // Notes form one column next to the code. Where a line is too long, its note goes below it.
    let longest = notes.iter().map(|note| width(note)).max().unwrap_or(0);
    let noted = code.iter().zip(&notes).filter(|(_, note)| !note.is_empty());
    let fitting = noted.map(|(code, _)| width(code) + 3).filter(|column| column + longest <= room);
    let column = fitting.max().unwrap_or(0);
    for ((row, code), note) in excerpt.rows.iter().zip(&code).zip(&notes) {
        if row.gap {
            term.line(&[(Tone::Faint, &format!("    {:>digits$} {}", "", style.sign("⋮")))])?;
        }
        let (tone, sign) = mark(row, style);
        let number = format!("{:>digits$}", row.number);
        let rule = format!(" {} ", style.sign("│"));
        let line = [(Tone::Usual, "  "), (tone, sign), (Tone::Usual, " "), (tone, &number), (Tone::Faint, &*rule)];
        let code_tone = if row.text.is_none() { Tone::Faint } else { Tone::Usual };
        let beside = width(code) + 3 <= column;
        let blanks = " ".repeat(column.saturating_sub(width(code)));
        let rest = [(code_tone, &**code), (Tone::Usual, &*blanks), (tone, note)];
        let shown = if beside { 3 } else { 1 };
        term.line(&[&line[..], &rest[..shown]].concat())?;
        if !beside && !note.is_empty() {
            let below = format!("    {:>digits$}{rule}  ", "");
            for piece in wrap(note.split(' '), style.width.saturating_sub(width(&below))) {
                term.line(&[(Tone::Faint, &below), (tone, &piece)])?;
            }
        }
    }
    Ok(())
}

fn code(row: &ExcerptLine, room: usize, style: TerminalStyle) -> String {
    let text = row.text.as_deref().unwrap_or("(source not available)");
    // Bounds the text before it is escaped.
    let start: String = text.chars().take(MAX_COLUMNS + 1).collect();
    keep_start(&one_line(&start), room, style.sign("…")).into_owned()
}

fn mark(row: &ExcerptLine, style: TerminalStyle) -> (Tone, &'static str) {
    match row.executed_by {
        _ if row.start => (Tone::Odd, style.sign("▸")),
        Some(ExecutedBy::Failing) => (Tone::Bad, style.sign("✗")),
        Some(ExecutedBy::Passing) => (Tone::Good, style.sign("✓")),
        Some(ExecutedBy::Both) => (Tone::Faint, "="),
        None => (Tone::Faint, " "),
    }
}

fn notes(row: &ExcerptLine, divergence: &Divergence, style: TerminalStyle) -> String {
    let values = |split: &_| divergence_text::value_ranges(split, VALUE, style.sign(" · "), style.sign("…"));
    let entries: Vec<String> = row.notes.iter().map(|note| note.text(divergence.failed, &values)).collect();
    style.sentence(&one_line(&entries.join("; "))).into_owned()
}

/// Other locations that separate failing from passing runs, and other divergence points.
fn also(term: &mut TermWriter, divergence: &Divergence, others: &[&DivergencePoint]) -> io::Result<()> {
    let main = divergence_text::divergence_points(divergence).0;
    let usual = main.map_or("", |point| &point.strand);
    // The source above already shows the divergence point.
    let shown =
        |line: &SourceLine| main.and_then(|point| point.last.as_ref()).is_some_and(|last| same_line(last, line));
    let mut entries = Vec::new();
    for location in divergence.locations.iter().skip(1).filter(|location| !shown(&location.line)) {
        entries.push(format!("{}: {}", file_and_line(&location.line), location.sentence));
    }
    for point in others {
        let message = point.messages.first().map(|(text, _)| message_line(term.style, text)).unwrap_or_default();
        let message_line = if message.is_empty() { String::new() } else { format!(": {message}") };
        let strand = if point.strand == usual { String::new() } else { format!(", in {}", point.strand) };
        let runs = format!("{} of {} failing runs diverge", point.runs, divergence.failed);
        entries.push(format!("{runs} {}{strand}{message_line}", divergence_text::diverges_where(point)));
    }
    list(term, "also", &entries)
}

fn unknown(term: &mut TermWriter, divergence: &Divergence) -> io::Result<()> {
    list(term, "unknown", &divergence.unknown)
}

fn list(term: &mut TermWriter, label: &str, entries: &[String]) -> io::Result<()> {
    for (at, text) in entries.iter().take(LISTED).enumerate() {
        let text = bounded(term.style, text);
        term.labelled_prose(2, if at == 0 { label } else { "" }, &text)?;
    }
    match entries.len().saturating_sub(LISTED) {
        0 => Ok(()),
        more => term.labelled_prose(2, "", &format!("and {more} more")),
    }
}

fn counts(term: &mut TermWriter, located: &LocateReport, divergence: &Divergence) -> io::Result<()> {
    let mut counts = vec![format!("{}, {} failed", format::count(divergence.runs as usize, "run"), divergence.failed)];
    if divergence.timed_out > 0 {
        counts.push(format!("{} more timed out and are not compared", divergence.timed_out));
    }
    counts.push(format::duration(located.seconds));
    counts.push(format!("finding {}", format::short(&located.finding.id())));
    counts.extend(located.page.map(|path| format!("full report: {}", one_line(path))));
    term.prose(0, Tone::Usual, &counts.join(", "))
}

/// The message of failing runs, in one bounded line.
fn message_line(style: TerminalStyle, text: &str) -> String {
    keep_start(&format::first_line(text, style.sign("…")), MESSAGE, style.sign("…")).into_owned()
}

fn sentence(text: &str) -> String {
    let text = text.trim_end();
    if text.ends_with(['.', '?', '!', '…']) { text.to_owned() } else { format!("{text}.") }
}

fn bounded(style: TerminalStyle, text: &str) -> String {
    keep_start(&style.sentence(&one_line(text)), MAX_COLUMNS, style.sign("…")).into_owned()
}
