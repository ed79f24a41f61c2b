//! Writes indented, coloured, wrapped and quoted text. All output for people goes through it.

use std::borrow::Cow;
use std::io::{self, Write};

use crate::TerminalStyle;
use crate::text::format;
use crate::text::sanitize::{break_up_command, chop, keep_start, plain, width, wrap};

/// Column at which the text of an entry begins: after its label.
pub(crate) const INDENT: usize = 9;
/// Columns of a label such as `reproduce`.
const LABEL: usize = 11;
const NARROW_INDENT: usize = 2;
const NARROW: usize = 60;
/// Most columns for a line of test output, however wide the terminal is.
pub(crate) const MAX_COLUMNS: usize = 400;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Usual,
    Bold,
    Faint,
    Bad,
    Odd,
    Good,
}

impl Tone {
    fn code(self) -> &'static str {
        match self {
            Self::Usual => "",
            Self::Bold => "1",
            Self::Faint => "2",
            Self::Bad => "1;31",
            Self::Odd => "1;33",
            Self::Good => "32",
        }
    }
}

impl TerminalStyle {
    /// The sign, or its ASCII replacement.
    pub(crate) fn sign(&self, sign: &'static str) -> &'static str {
        if self.unicode {
            return sign;
        }
        match sign {
            "✗" => "x",
            "≈" => "~",
            "✓" => "+",
            "…" => "...",
            "│" => "|",
            "→" => "->",
            "▸" => ">",
            "⋮" => ":",
            " · " => ", ",
            "·" => ".",
            sign => sign,
        }
    }

    /// A sentence of unflake, with its signs in ASCII where necessary. Signs in quoted text of tests
    /// change too.
    pub(crate) fn sentence<'a>(&self, text: &'a str) -> Cow<'a, str> {
        const SIGNS: [(&str, &str); 10] = [
            ("≥", ">="),
            ("≤", "<="),
            ("≠", "!="),
            ("–", "-"),
            (" · ", ", "),
            ("…", "..."),
            ("→", "->"),
            ("×", "x"),
            ("≈", "~"),
            ("±", "+/-"),
        ];
        if self.unicode || text.is_ascii() {
            return Cow::Borrowed(text);
        }
        Cow::Owned(SIGNS.iter().fold(text.to_owned(), |text, (sign, plain)| text.replace(sign, plain)))
    }

    /// The text in that colour. It must be safe to print already.
    pub(crate) fn paint<'a>(&self, tone: Tone, text: &'a str) -> Cow<'a, str> {
        if !self.colour || tone == Tone::Usual || text.is_empty() {
            return Cow::Borrowed(text);
        }
        Cow::Owned(format!("\x1b[{}m{text}\x1b[0m", tone.code()))
    }
}

/// Which part of a long text is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    /// The end: the last output.
    End,
    /// Both ends: some languages print the innermost call first, others last.
    Ends,
}

pub(crate) struct TermWriter<'a> {
    pub(crate) style: TerminalStyle,
    out: &'a mut dyn Write,
    /// Whether something was left out that is available elsewhere.
    pub(crate) shortened: bool,
    written: usize,
    /// Lines beyond the limit of the style.
    hidden: usize,
}

impl<'a> TermWriter<'a> {
    pub(crate) fn new(style: TerminalStyle, out: &'a mut dyn Write) -> Self {
        // Narrower text would be unreadable.
        let style = TerminalStyle { width: style.width.max(30), ..style };
        Self { style, out, shortened: false, written: 0, hidden: 0 }
    }

    pub(crate) fn indent(&self) -> usize {
        if self.style.width < NARROW { NARROW_INDENT } else { INDENT }
    }

    pub(crate) fn blank(&mut self) -> io::Result<()> {
        if self.is_full() { Ok(()) } else { writeln!(self.out) }
    }

    /// Counts a line. Whether it is beyond the limit and must not be written.
    fn is_full(&mut self) -> bool {
        let full = self.written >= self.style.lines;
        if full {
            self.hidden += 1;
        } else {
            self.written += 1;
        }
        full
    }

    /// Lifts the limit for the last lines of a report. Returns the number of lines left out.
    pub(crate) fn end_limit(&mut self) -> usize {
        self.style.lines = usize::MAX;
        std::mem::take(&mut self.hidden)
    }

    /// One line from parts that are safe to print already.
    ///
    /// Wrapping can turn safe text into a command for a CI system, so the start of each line is
    /// checked again.
    pub(crate) fn line(&mut self, parts: &[(Tone, &str)]) -> io::Result<()> {
        if self.is_full() {
            return Ok(());
        }
        let mut opening = true;
        // Blanks are held back until text follows, so that no line ends in them.
        let mut blanks = String::new();
        for &(tone, text) in parts {
            let core = text.trim();
            if core.is_empty() {
                blanks.push_str(text);
                continue;
            }
            let (before, after) = text.split_once(core).expect("it is a part of the text");
            let core = if opening { break_up_command(core) } else { Cow::Borrowed(core) };
            write!(self.out, "{blanks}{before}{}", self.style.paint(tone, &core))?;
            opening = false;
            blanks.clear();
            blanks.push_str(after);
        }
        writeln!(self.out)
    }

    /// Head of an entry: label and subject. A subject that does not fit goes into a line of its own.
    pub(crate) fn head(&mut self, tone: Tone, label: &str, subject: &str) -> io::Result<()> {
        if subject.is_empty() {
            return self.line(&[(tone, label)]);
        }
        let gap = " ".repeat(INDENT.saturating_sub(width(label)).max(1));
        if width(label) + gap.len() + width(subject) <= self.style.width {
            return self.line(&[(tone, label), (Tone::Usual, &gap), (Tone::Bold, subject)]);
        }
        self.line(&[(tone, label)])?;
        self.line(&[(Tone::Usual, "  "), (Tone::Bold, subject)])
    }

    /// A labelled text that people copy, never wrapped, and a remark on it.
    pub(crate) fn labelled(&mut self, indent: usize, label: &str, text: &str, remark: &str) -> io::Result<()> {
        let (padded, blanks) = (format!("{label:<LABEL$}"), " ".repeat(indent));
        let remark = if remark.is_empty() { String::new() } else { format!("  ({remark})") };
        let used = indent + LABEL + width(text);
        let beside = if used + width(&remark) <= self.style.width { &*remark } else { "" };
        if used <= self.style.width {
            self.line(&[(Tone::Faint, &(blanks.clone() + &padded)), (Tone::Usual, text), (Tone::Faint, beside)])?;
        } else {
            if !label.is_empty() {
                self.line(&[(Tone::Faint, &(blanks.clone() + label))])?;
            }
            self.line(&[(Tone::Usual, &(blanks.clone() + "  ")), (Tone::Usual, text)])?;
        }
        if beside == remark {
            return Ok(());
        }
        let hanging = if used <= self.style.width { LABEL } else { 2 };
        self.line(&[(Tone::Usual, &(blanks + &" ".repeat(hanging))), (Tone::Faint, remark.trim_start())])
    }

    /// A labelled paragraph of safe text.
    pub(crate) fn labelled_prose(&mut self, indent: usize, label: &str, text: &str) -> io::Result<()> {
        let hanging = indent + if self.style.width < NARROW { 2 } else { LABEL };
        let blanks = " ".repeat(indent);
        if self.style.width < NARROW {
            self.line(&[(Tone::Faint, &(blanks + label))])?;
            return self.prose(hanging, Tone::Usual, text);
        }
        let text = self.style.sentence(text);
        for (at, line) in wrap(text.split_whitespace(), self.style.width.saturating_sub(hanging)).iter().enumerate() {
            let label = if at == 0 { label } else { "" };
            self.line(&[(Tone::Faint, &format!("{blanks}{label:<LABEL$}")), (Tone::Usual, line)])?;
        }
        Ok(())
    }

    /// A paragraph of safe text.
    pub(crate) fn prose(&mut self, indent: usize, tone: Tone, text: &str) -> io::Result<()> {
        let text = self.style.sentence(text);
        self.words(indent, tone, text.split_whitespace())
    }

    /// A paragraph of parts, none of which is split.
    pub(crate) fn words<'w>(
        &mut self,
        indent: usize,
        tone: Tone,
        words: impl Iterator<Item = &'w str>,
    ) -> io::Result<()> {
        for line in wrap(words, self.style.width.saturating_sub(indent)) {
            self.line(&[(Tone::Usual, &" ".repeat(indent)), (tone, &line)])?;
        }
        Ok(())
    }

    /// Two parts side by side, or the second below the first where it does not fit. Neither is
    /// split.
    pub(crate) fn side_by_side(&mut self, indent: usize, first: (Tone, &str), second: (Tone, &str)) -> io::Result<()> {
        let blank = (Tone::Usual, &*" ".repeat(indent));
        let gap = (Tone::Usual, "  ");
        if first.1.is_empty() && second.1.is_empty() {
            return Ok(());
        }
        if first.1.is_empty() || indent + width(first.1) + 2 + width(second.1) <= self.style.width {
            let gap = if first.1.is_empty() { "" } else { gap.1 };
            return self.line(&[blank, first, (Tone::Usual, gap), second]);
        }
        self.line(&[blank, first])?;
        self.line(&[blank, gap, second])
    }

    /// Untrusted text behind a vertical bar, at most `limit` lines of it, with a note about the
    /// rest.
    pub(crate) fn quote(&mut self, indent: usize, text: &str, limit: usize, keep: Keep) -> io::Result<()> {
        let text = text.trim_matches('\n').trim_end();
        if text.is_empty() {
            return Ok(());
        }
        let total = text.split('\n').count();
        let hidden = total.saturating_sub(limit);
        let before = if keep == Keep::Ends { limit / 2 } else { 0 };
        for (at, line) in text.split('\n').enumerate() {
            if at == before && hidden > 0 {
                self.cut(indent, &format!("{} left out", format::count(hidden, "line")))?;
            }
            if !(before..before + hidden).contains(&at) {
                self.quoted_line(indent, line)?;
            }
        }
        Ok(())
    }

    fn quoted_line(&mut self, indent: usize, line: &str) -> io::Result<()> {
        /// Most terminal lines for one line of the text.
        const FOLDS: usize = 5;
        let rule = format!("{}{} ", " ".repeat(indent), self.style.sign("│"));
        let columns = self.style.width.saturating_sub(width(&rule)).max(10);
        let line = plain(line);
        let bound = keep_start(&line, columns.min(MAX_COLUMNS).saturating_mul(FOLDS), self.style.sign("…"));
        self.shortened |= matches!(bound, Cow::Owned(_));
        for piece in chop(bound.trim_end(), columns) {
            self.line(&[(Tone::Faint, &rule), (Tone::Usual, piece)])?;
        }
        Ok(())
    }

    /// Notes that something was left out.
    pub(crate) fn cut(&mut self, indent: usize, what: &str) -> io::Result<()> {
        self.shortened = true;
        let text = format!("{}{} {what}", " ".repeat(indent), self.style.sign("…"));
        self.line(&[(Tone::Faint, &text)])
    }
}
