//! Text with several paragraphs, wrapped for the terminal.

use std::io::{self, Write};

use crate::TerminalStyle;
use crate::terminal::writer::{TermWriter, Tone};

/// Between two columns of a line that must not be wrapped.
const COLUMN_GAP: &str = "   ";

/// Writes text whose paragraphs are separated by empty lines. Lines with columns are kept.
pub fn paragraphs(text: &str, style: &TerminalStyle, out: &mut dyn Write) -> io::Result<()> {
    let term = &mut TermWriter::new(*style, out);
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    for paragraph in lines.chunk_by(|one, other| !one.is_empty() && !other.is_empty()) {
        match paragraph {
            [""] => term.blank()?,
            lines if lines.iter().any(|line| line.contains(COLUMN_GAP)) => {
                lines.iter().try_for_each(|line| term.line(&[(Tone::Usual, "  "), (Tone::Usual, line)]))?;
            }
            lines => term.prose(2, Tone::Usual, &lines.join(" "))?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_are_wrapped_and_columns_kept() {
        let style = TerminalStyle { colour: false, width: 40, unicode: true, lines: usize::MAX };
        let mut out = Vec::new();
        paragraphs("\n  one two three four five\n  six seven eight nine ten\n\n  first:   a command that is longer than the line", &style, &mut out)
            .unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(
            text,
            "\n  one two three four five six seven\n  eight nine ten\n\n  first:   a command that is longer than the line\n"
        );
    }
}
