//! A page of text: indents, colours, quotes that keep within bounds. The only place that writes a line for people.

use std::borrow::Cow;
use std::io::{self, Write};

use crate::text::{chop, keep_start, plain, width, wrap};
use crate::{Look, words};

/// Where the text of an entry begins: after its symbol and its label.
pub(crate) const INDENT: usize = 9;
const NARROW_INDENT: usize = 2;
const NARROW: usize = 60;

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

impl Look {
    /// unflake's own sign, or its ASCII stand-in.
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
            " · " => ", ",
            sign => sign,
        }
    }

    /// The text in that tone. It must be safe already.
    pub(crate) fn paint<'a>(&self, tone: Tone, text: &'a str) -> Cow<'a, str> {
        if !self.colour || tone == Tone::Usual || text.is_empty() {
            return Cow::Borrowed(text);
        }
        Cow::Owned(format!("\x1b[{}m{text}\x1b[0m", tone.code()))
    }
}

/// Which part of a text is shown where it is too long.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    Start,
    End,
}

pub(crate) struct Page<'a> {
    pub(crate) look: Look,
    out: &'a mut dyn Write,
    /// Whether something was left out that can be read elsewhere.
    pub(crate) shortened: bool,
}

impl<'a> Page<'a> {
    pub(crate) fn new(look: Look, out: &'a mut dyn Write) -> Self {
        // Below this, keeping to the width would make the text unreadable.
        let look = Look { width: look.width.max(30), ..look };
        Self { look, out, shortened: false }
    }

    pub(crate) fn indent(&self) -> usize {
        if self.look.width < NARROW { NARROW_INDENT } else { INDENT }
    }

    pub(crate) fn blank(&mut self) -> io::Result<()> {
        writeln!(self.out)
    }

    /// One line from parts that are safe already.
    ///
    /// A line that begins with `::`, indented or not, is a command to GitHub's runner. No test may give one, wherever
    /// its text happens to land in a line, so the colons are pulled apart here.
    pub(crate) fn line(&mut self, parts: &[(Tone, &str)]) -> io::Result<()> {
        let mut opening = true;
        for &(tone, text) in parts {
            let (blank, text) = text.split_at(text.len() - text.trim_start().len());
            self.out.write_all(blank.as_bytes())?;
            let guarded = text.strip_prefix("::").filter(|_| opening).map(|rest| format!(": :{rest}"));
            opening &= text.is_empty();
            self.out.write_all(self.look.paint(tone, guarded.as_deref().unwrap_or(text)).as_bytes())?;
        }
        writeln!(self.out)
    }

    /// The head of an entry: symbol, label and what it is about, which comes in a line of its own rather than be split.
    pub(crate) fn head(&mut self, tone: Tone, sign: &'static str, label: &str, subject: &str) -> io::Result<()> {
        let label = format!("{} {label}", self.look.sign(sign));
        if subject.is_empty() {
            return self.line(&[(tone, &label)]);
        }
        let gap = " ".repeat(INDENT.saturating_sub(width(&label)).max(1));
        if width(&label) + gap.len() + width(subject) <= self.look.width {
            return self.line(&[(tone, &label), (Tone::Usual, &gap), (Tone::Bold, subject)]);
        }
        self.line(&[(tone, &label)])?;
        self.line(&[(Tone::Usual, "  "), (Tone::Bold, subject)])
    }

    /// A paragraph of safe text.
    pub(crate) fn prose(&mut self, indent: usize, tone: Tone, text: &str) -> io::Result<()> {
        for line in wrap(text, self.look.width.saturating_sub(indent)) {
            self.line(&[(Tone::Usual, &" ".repeat(indent)), (tone, &line)])?;
        }
        Ok(())
    }

    /// A command to copy: never wrapped, under its label where it does not fit beside it.
    pub(crate) fn command(&mut self, indent: usize, label: &str, command: &str) -> io::Result<()> {
        let blank = " ".repeat(indent);
        let command = crate::one_line(command);
        if indent + width(label) + 2 + width(&command) <= self.look.width {
            return self.line(&[
                (Tone::Usual, &blank),
                (Tone::Faint, label),
                (Tone::Usual, "  "),
                (Tone::Usual, &command),
            ]);
        }
        self.line(&[(Tone::Usual, &blank), (Tone::Faint, label)])?;
        self.line(&[(Tone::Usual, &blank), (Tone::Usual, "  "), (Tone::Usual, &command)])
    }

    /// Untrusted text behind a rule, at most `limit` lines of it. What is missing is said.
    pub(crate) fn quote(&mut self, indent: usize, text: &str, limit: usize, keep: Keep) -> io::Result<()> {
        let text = text.trim_matches('\n').trim_end();
        if text.is_empty() {
            return Ok(());
        }
        let total = text.split('\n').count();
        let hidden = total.saturating_sub(limit);
        let skipped = if keep == Keep::End { hidden } else { 0 };
        if skipped > 0 {
            self.cut(indent, &format!("{} before this", words::count(skipped, "line")))?;
        }
        for line in text.split('\n').skip(skipped).take(limit) {
            self.quoted_line(indent, line)?;
        }
        if hidden > skipped {
            self.cut(indent, &format!("{} more", words::count(hidden, "line")))?;
        }
        Ok(())
    }

    fn quoted_line(&mut self, indent: usize, line: &str) -> io::Result<()> {
        /// How many lines of the page one line of the text may take.
        const FOLDS: usize = 5;
        let rule = format!("{}{} ", " ".repeat(indent), self.look.sign("│"));
        let columns = self.look.width.saturating_sub(width(&rule)).max(10);
        let line = plain(line);
        // Nothing behind the last fold is looked at again, however long the line is.
        let bound = keep_start(&line, columns.saturating_mul(FOLDS), self.look.sign("…"));
        self.shortened |= matches!(bound, Cow::Owned(_));
        for piece in chop(bound.trim_end(), columns) {
            let rule = if piece.is_empty() { rule.trim_end() } else { &rule };
            self.line(&[(Tone::Faint, rule), (Tone::Usual, piece)])?;
        }
        Ok(())
    }

    /// Says that something was left out.
    pub(crate) fn cut(&mut self, indent: usize, what: &str) -> io::Result<()> {
        self.shortened = true;
        let text = format!("{}{} {what}", " ".repeat(indent), self.look.sign("…"));
        self.line(&[(Tone::Faint, &text)])
    }
}
