//! Terminal report for `unflake locate`: where a flaky test starts to fail.

use std::borrow::Cow;
use std::io::{self, Write};

use unflake_model::{Detail, Divergence, DivergencePoint, Feedback, Finding, SourceLine};

use crate::divergence_text::{self, Confidence, place, same_place};
use crate::terminal::excerpt::{Excerpt, Extent, Row, Scene, Sources, Way};
use crate::terminal::writer::{LONGEST, Page, Tone};
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
    pub answer: Option<&'a Feedback>,
}

impl<'a> LocateReport<'a> {
    pub fn new(finding: &'a Finding, sources: Sources<'a>, seconds: f64) -> Self {
        Self { finding, sources, seconds, page: None, repeat: None, answer: None }
    }

    pub(crate) fn divergence(&self) -> Option<&'a Divergence> {
        match &self.finding.detail {
            Detail::Divergence(divergence) => Some(divergence),
            _ => None,
        }
    }
}

const EXTENT: Extent = Extent { context: 2, rows: 14, files: 2, all: false };
/// Entries shown of other locations, other divergence points and limitations.
const TOLD: usize = 4;
/// Columns for one value, and for one message.
const VALUE: usize = 40;
const MESSAGE: usize = 160;
/// Column at which the text next to a label begins.
const LABELLED: usize = 19;

/// Writes the located line. `quiet` leaves out everything but the answer.
pub fn locate(located: &LocateReport, look: &TerminalStyle, quiet: bool, out: &mut dyn Write) -> io::Result<()> {
    let Some(divergence) = located.divergence() else { return Ok(()) };
    let page = &mut Page::new(*look, out);
    answer(page, divergence)?;
    if let Some(answer) = located.answer {
        let told = format!(
            "{}; this is the short form (`unflake answer {} useful` takes it back)",
            format::answered(answer),
            format::short(&located.finding.id())
        );
        page.prose(2, Tone::Odd, &told)?;
    } else if !quiet {
        let (parting, others) = divergence_text::partings(divergence);
        let scene = Scene { divergence, start: divergence.locations.first(), parting };
        for excerpt in scene.excerpts(located.sources, EXTENT) {
            show(page, divergence, &excerpt)?;
        }
        page.blank()?;
        also(page, divergence, &others)?;
        unknown(page, divergence)?;
        let advice = divergence_text::advice(divergence).replace('`', "");
        labelled(page, "what people do", &advice)?;
        if let Some(command) = located.repeat {
            labelled_whole(page, "see it yourself", &one_line(command))?;
        }
    }
    page.blank()?;
    counts(page, located, divergence)
}

/// The located line, where the failure shows, and the kind of cause.
fn answer(page: &mut Page, divergence: &Divergence) -> io::Result<()> {
    let first = match divergence.locations.first() {
        Some(start) => {
            let starts = Confidence::of(start.chance).starts_at();
            sentence(&format!("It {starts} {}: {}", place(&start.line), start.sentence))
        }
        None => sentence(&format!("Where it starts is not known: {}", divergence_text::nowhere(divergence))),
    };
    page.prose(2, Tone::Bold, &bounded(page.look, &first))?;
    if let Some(start) = divergence.locations.first() {
        let (sure, odds) = (Confidence::of(start.chance).word(), divergence_text::odds(start.chance));
        let told = format!("That is {sure}: by chance alone, so clear a difference comes {odds}.");
        page.prose(2, Tone::Usual, &told)?;
    }
    if let Some(shows) = &divergence.shows {
        let message = divergence_text::partings(divergence).0.and_then(|parting| parting.messages.first());
        let message = message.map(|(text, _)| said(page.look, text)).unwrap_or_default();
        let shows = match &*message {
            "" => format!("It shows at {}.", one_line(&place(shows))),
            message => format!("It shows at {}: {message}", one_line(&place(shows))),
        };
        page.prose(2, Tone::Usual, &shows)?;
    }
    let because = if divergence.because.is_empty() { "" } else { ", because " };
    let kind = format!("Kind: {}{because}{}", divergence_text::cause(divergence.kind), divergence.because);
    page.prose(2, Tone::Usual, &bounded(page.look, &sentence(&kind)))?;
    Ok(())
}

fn show(page: &mut Page, divergence: &Divergence, excerpt: &Excerpt) -> io::Result<()> {
    page.blank()?;
    let look = page.look;
    let file = one_line(excerpt.file);
    let function = one_line(excerpt.function);
    page.beside(4, (Tone::Bold, &file), (Tone::Faint, &keep_start(&function, VALUE * 2, look.sign("…"))))?;
    let digits = excerpt.rows.last().map_or(1, |row| row.number.to_string().len());
    let gutter = 2 + 2 + digits + 3;
    let room = look.width.saturating_sub(gutter).clamp(10, LONGEST);
    let code: Vec<String> = excerpt.rows.iter().map(|row| code(row, room, look)).collect();
    let notes: Vec<String> = excerpt.rows.iter().map(|row| notes(row, divergence, look)).collect();
    // Notes form one column next to the code. Where a line is too long, its note goes below it.
    let longest = notes.iter().map(|note| width(note)).max().unwrap_or(0);
    let noted = code.iter().zip(&notes).filter(|(_, note)| !note.is_empty());
    let fitting = noted.map(|(code, _)| width(code) + 3).filter(|column| column + longest <= room);
    let column = fitting.max().unwrap_or(0);
    for ((row, code), note) in excerpt.rows.iter().zip(&code).zip(&notes) {
        if row.gap {
            page.line(&[(Tone::Faint, &format!("    {:>digits$} {}", "", look.sign("⋮")))])?;
        }
        let (tone, sign) = mark(row, look);
        let number = format!("{:>digits$}", row.number);
        let rule = format!(" {} ", look.sign("│"));
        let line = [(Tone::Usual, "  "), (tone, sign), (Tone::Usual, " "), (tone, &number), (Tone::Faint, &*rule)];
        let code_tone = if row.text.is_none() { Tone::Faint } else { Tone::Usual };
        let beside = width(code) + 3 <= column;
        let blanks = " ".repeat(column.saturating_sub(width(code)));
        let rest = [(code_tone, &**code), (Tone::Usual, &*blanks), (tone, note)];
        let shown = if beside { 3 } else { 1 };
        page.line(&[&line[..], &rest[..shown]].concat())?;
        if !beside && !note.is_empty() {
            let below = format!("    {:>digits$}{rule}  ", "");
            for piece in wrap(note.split(' '), look.width.saturating_sub(width(&below))) {
                page.line(&[(Tone::Faint, &below), (tone, &piece)])?;
            }
        }
    }
    Ok(())
}

fn code(row: &Row, room: usize, look: TerminalStyle) -> String {
    let text = row.text.as_deref().unwrap_or("(the source is not there)");
    // Bounds the text before it is escaped.
    let start: String = text.chars().take(LONGEST + 1).collect();
    keep_start(&one_line(&start), room, look.sign("…")).into_owned()
}

fn mark(row: &Row, look: TerminalStyle) -> (Tone, &'static str) {
    match row.way {
        _ if row.start => (Tone::Odd, look.sign("▸")),
        Some(Way::Failing) => (Tone::Bad, look.sign("✗")),
        Some(Way::Passing) => (Tone::Good, look.sign("✓")),
        Some(Way::Both) => (Tone::Faint, "="),
        None => (Tone::Faint, " "),
    }
}

fn notes(row: &Row, divergence: &Divergence, look: TerminalStyle) -> String {
    let values = |split: &_| divergence_text::sides(split, VALUE, look.sign(" · "), look.sign("…"));
    let told: Vec<String> = row.notes.iter().map(|note| note.words(divergence.failed, &values)).collect();
    own(&look, &told.join("; ")).into_owned()
}

/// Other locations that separate failing from passing runs, and other divergence points.
fn also(page: &mut Page, divergence: &Divergence, others: &[&DivergencePoint]) -> io::Result<()> {
    let main = divergence_text::partings(divergence).0;
    let usual = main.map_or("", |parting| &parting.strand);
    // The source above already shows the divergence point.
    let shown =
        |line: &SourceLine| main.and_then(|parting| parting.last.as_ref()).is_some_and(|last| same_place(last, line));
    let mut told = Vec::new();
    for location in divergence.locations.iter().skip(1).filter(|location| !shown(&location.line)) {
        told.push(format!("{}: {}", place(&location.line), location.sentence));
    }
    for parting in others {
        let message = parting.messages.first().map(|(text, _)| said(page.look, text)).unwrap_or_default();
        let said = if message.is_empty() { String::new() } else { format!(": {message}") };
        let strand = if parting.strand == usual { String::new() } else { format!(", in {}", parting.strand) };
        let runs = format!("{} of {} failing runs part", parting.runs, divergence.failed);
        told.push(format!("{runs} {}{strand}{said}", divergence_text::parts_where(parting)));
    }
    list(page, "also", &told)
}

fn unknown(page: &mut Page, divergence: &Divergence) -> io::Result<()> {
    list(page, "not known", &divergence.unknown)
}

fn list(page: &mut Page, label: &str, told: &[String]) -> io::Result<()> {
    for (at, text) in told.iter().take(TOLD).enumerate() {
        let text = bounded(page.look, text);
        labelled(page, if at == 0 { label } else { "" }, &text)?;
    }
    match told.len().saturating_sub(TOLD) {
        0 => Ok(()),
        more => labelled(page, "", &format!("and {more} more")),
    }
}

/// A paragraph next to its label, or below it on a narrow terminal.
fn labelled(page: &mut Page, label: &str, text: &str) -> io::Result<()> {
    let narrow = page.look.width < 60;
    let indent = if narrow { 4 } else { 2 + LABELLED };
    if narrow && !label.is_empty() {
        page.line(&[(Tone::Usual, "  "), (Tone::Faint, label)])?;
    }
    for (at, line) in wrap(text.split_whitespace(), page.look.width.saturating_sub(indent)).iter().enumerate() {
        let label = if at == 0 && !narrow { label } else { "" };
        let blanks = " ".repeat(indent - 2 - label.len());
        page.line(&[(Tone::Usual, "  "), (Tone::Faint, label), (Tone::Usual, &blanks), (Tone::Usual, line)])?;
    }
    Ok(())
}

/// Text that people copy is never wrapped.
fn labelled_whole(page: &mut Page, label: &str, text: &str) -> io::Result<()> {
    page.beside(2, (Tone::Faint, &format!("{label:<0$}", LABELLED - 2)), (Tone::Usual, text))
}

fn counts(page: &mut Page, located: &LocateReport, divergence: &Divergence) -> io::Result<()> {
    let mut counts = vec![format!("{}, {} failed", format::count(divergence.runs as usize, "run"), divergence.failed)];
    if divergence.timed_out > 0 {
        counts.push(format!("{} more timed out and are set apart", divergence.timed_out));
    }
    counts.push(format::duration(located.seconds));
    counts.push(format!("finding {}", format::short(&located.finding.id())));
    counts.extend(located.page.map(|path| format!("full report: {}", one_line(path))));
    let separator = page.look.sign(" · ").trim_end();
    let last = counts.len() - 1;
    counts[..last].iter_mut().for_each(|count| count.push_str(separator));
    page.words(2, Tone::Usual, counts.iter().map(String::as_str))
}

/// The message of failing runs, in one bounded line.
fn said(look: TerminalStyle, text: &str) -> String {
    keep_start(&format::first_line(text, look.sign("…")), MESSAGE, look.sign("…")).into_owned()
}

fn sentence(text: &str) -> String {
    let text = text.trim_end();
    if text.ends_with(['.', '?', '!', '…']) { text.to_owned() } else { format!("{text}.") }
}

fn bounded(look: TerminalStyle, text: &str) -> String {
    keep_start(&own(&look, text), LONGEST, look.sign("…")).into_owned()
}

/// A sentence of unflake that may quote test output: safe to print, in ASCII where necessary.
fn own<'a>(look: &TerminalStyle, text: &'a str) -> Cow<'a, str> {
    let text = one_line(text);
    if look.unicode || text.is_ascii() {
        return text;
    }
    let signs = [("≥", ">="), ("≤", "<="), ("≠", "!="), ("–", "-"), (" · ", ", "), ("…", "...")];
    Cow::Owned(signs.iter().fold(text.into_owned(), |text, (sign, plain)| text.replace(sign, plain)))
}
