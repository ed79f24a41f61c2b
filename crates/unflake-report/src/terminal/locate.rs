//! Terminal report for `unflake locate`: where a flaky test starts to fail.

use std::borrow::Cow;
use std::io::{self, Write};

use unflake_model::{Detail, Divergence, DivergencePoint, Feedback, Finding, SourceLine};

use crate::divergence_text::{self, Confidence, file_and_line, same_line};
use crate::terminal::excerpt::{Excerpt, ExcerptLimits, ExcerptLine, ExcerptScope, ExecutedBy, Sources};
use crate::terminal::writer::{MAX_COLUMNS, TermWriter, Tone};
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
    pub repeat: Option<&'a str>,
    /// Feedback that it is not useful.
    pub feedback: Option<&'a Feedback>,
}

impl<'a> LocateReport<'a> {
    pub fn new(finding: &'a Finding, sources: Sources<'a>, seconds: f64) -> Self {
        Self { finding, sources, seconds, page: None, repeat: None, feedback: None }
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
/// Column at which the text next to a label begins.
const LABEL_COLUMNS: usize = 19;

/// Writes the located line. `quiet` leaves out everything but the answer.
pub fn locate(located: &LocateReport, style: &TerminalStyle, quiet: bool, out: &mut dyn Write) -> io::Result<()> {
    let Some(divergence) = located.divergence() else { return Ok(()) };
    let term = &mut TermWriter::new(*style, out);
    headline(term, divergence)?;
    if let Some(feedback) = located.feedback {
        let entries = format!(
            "{}; this is the short form (`unflake report feedback {} useful` takes it back)",
            format::feedback_text(feedback),
            format::short(&located.finding.id())
        );
        term.prose(2, Tone::Odd, &entries)?;
    } else if !quiet {
        let (point, others) = divergence_text::divergence_points(divergence);
        let scope = ExcerptScope { divergence, start: divergence.locations.first(), point };
        for excerpt in scope.excerpts(located.sources, LIMITS) {
            show(term, divergence, &excerpt)?;
        }
        term.blank()?;
        also(term, divergence, &others)?;
        unknown(term, divergence)?;
        let advice = divergence_text::advice(divergence).replace('`', "");
        labelled(term, "what people do", &advice)?;
        if let Some(command) = located.repeat {
            labelled_unwrapped(term, "see it yourself", &one_line(command))?;
        }
    }
    term.blank()?;
    counts(term, located, divergence)
}

/// The located line, where the failure shows, and the kind of cause.
fn headline(term: &mut TermWriter, divergence: &Divergence) -> io::Result<()> {
    let first = match divergence.locations.first() {
        Some(start) => {
            let starts = Confidence::of(start.chance).starts_at();
            sentence(&format!("It {starts} {}: {}", file_and_line(&start.line), start.sentence))
        }
        None => sentence(&format!("Where it starts is not known: {}", divergence_text::no_location_reason(divergence))),
    };
    term.prose(2, Tone::Bold, &bounded(term.style, &first))?;
    if let Some(start) = divergence.locations.first() {
        let (sure, odds) = (Confidence::of(start.chance).label(), divergence_text::odds(start.chance));
        let entries = format!("That is {sure}: by chance alone, so clear a difference comes {odds}.");
        term.prose(2, Tone::Usual, &entries)?;
    }
    if let Some(shows) = &divergence.shows {
        let message = divergence_text::divergence_points(divergence).0.and_then(|point| point.messages.first());
        let message = message.map(|(text, _)| message_line(term.style, text)).unwrap_or_default();
        let shows = match &*message {
            "" => format!("It shows at {}.", one_line(&file_and_line(shows))),
            message => format!("It shows at {}: {message}", one_line(&file_and_line(shows))),
        };
        term.prose(2, Tone::Usual, &shows)?;
    }
    let because = if divergence.because.is_empty() { "" } else { ", because " };
    let kind = format!("Kind: {}{because}{}", divergence_text::cause_name(divergence.kind), divergence.because);
    term.prose(2, Tone::Usual, &bounded(term.style, &sentence(&kind)))?;
    Ok(())
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
    let text = row.text.as_deref().unwrap_or("(the source is not there)");
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
    printable(&style, &entries.join("; ")).into_owned()
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
        let runs = format!("{} of {} failing runs part", point.runs, divergence.failed);
        entries.push(format!("{runs} {}{strand}{message_line}", divergence_text::diverges_where(point)));
    }
    list(term, "also", &entries)
}

fn unknown(term: &mut TermWriter, divergence: &Divergence) -> io::Result<()> {
    list(term, "not known", &divergence.unknown)
}

fn list(term: &mut TermWriter, label: &str, entries: &[String]) -> io::Result<()> {
    for (at, text) in entries.iter().take(LISTED).enumerate() {
        let text = bounded(term.style, text);
        labelled(term, if at == 0 { label } else { "" }, &text)?;
    }
    match entries.len().saturating_sub(LISTED) {
        0 => Ok(()),
        more => labelled(term, "", &format!("and {more} more")),
    }
}

/// A paragraph next to its label, or below it on a narrow terminal.
fn labelled(term: &mut TermWriter, label: &str, text: &str) -> io::Result<()> {
    let narrow = term.style.width < 60;
    let indent = if narrow { 4 } else { 2 + LABEL_COLUMNS };
    if narrow && !label.is_empty() {
        term.line(&[(Tone::Usual, "  "), (Tone::Faint, label)])?;
    }
    for (at, line) in wrap(text.split_whitespace(), term.style.width.saturating_sub(indent)).iter().enumerate() {
        let label = if at == 0 && !narrow { label } else { "" };
        let blanks = " ".repeat(indent - 2 - label.len());
        term.line(&[(Tone::Usual, "  "), (Tone::Faint, label), (Tone::Usual, &blanks), (Tone::Usual, line)])?;
    }
    Ok(())
}

/// Text that people copy is never wrapped.
fn labelled_unwrapped(term: &mut TermWriter, label: &str, text: &str) -> io::Result<()> {
    term.side_by_side(2, (Tone::Faint, &format!("{label:<0$}", LABEL_COLUMNS - 2)), (Tone::Usual, text))
}

fn counts(term: &mut TermWriter, located: &LocateReport, divergence: &Divergence) -> io::Result<()> {
    let mut counts = vec![format!("{}, {} failed", format::count(divergence.runs as usize, "run"), divergence.failed)];
    if divergence.timed_out > 0 {
        counts.push(format!("{} more timed out and are set apart", divergence.timed_out));
    }
    counts.push(format::duration(located.seconds));
    counts.push(format!("finding {}", format::short(&located.finding.id())));
    counts.extend(located.page.map(|path| format!("full report: {}", one_line(path))));
    let separator = term.style.sign(" · ").trim_end();
    let last = counts.len() - 1;
    counts[..last].iter_mut().for_each(|count| count.push_str(separator));
    term.words(2, Tone::Usual, counts.iter().map(String::as_str))
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
    keep_start(&printable(&style, text), MAX_COLUMNS, style.sign("…")).into_owned()
}

/// A sentence of unflake that may quote test output: safe to print, in ASCII where necessary.
fn printable<'a>(style: &TerminalStyle, text: &'a str) -> Cow<'a, str> {
    let text = one_line(text);
    if style.unicode || text.is_ascii() {
        return text;
    }
    let signs = [("≥", ">="), ("≤", "<="), ("≠", "!="), ("–", "-"), (" · ", ", "), ("…", "...")];
    Cow::Owned(signs.iter().fold(text.into_owned(), |text, (sign, plain)| text.replace(sign, plain)))
}
