//! Makes untrusted text safe to print, measures its width, cuts and wraps it.

use std::borrow::Cow;
use std::fmt::Write;

use unicode_width::UnicodeWidthChar;

/// Makes untrusted text safe for a terminal and for a CI log. Newlines are kept.
///
/// Control characters, and those that reorder or hide text, become visible. Colour sequences are
/// dropped. Tabs become spaces. Workflow commands of CI systems are broken up: `##[` anywhere, and
/// `::` at the start of a line.
pub fn plain(text: &str) -> Cow<'_, str> {
    break_up_commands(escape(text, &['\n']))
}

/// Like [`plain`], and newlines become visible too.
pub fn one_line(text: &str) -> Cow<'_, str> {
    break_up_commands(escape(text, &[]))
}

/// Makes all control characters visible except those in `keep`, and drops colour sequences.
pub(crate) fn escape<'a>(text: &'a str, keep: &[char]) -> Cow<'a, str> {
    let harmless = |c: char| !c.is_control() && !is_hidden(c) || keep.contains(&c);
    if text.chars().all(harmless) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let colour = colour_sequence(rest);
        if colour > 0 {
            rest = &rest[colour..];
            continue;
        }
        rest = &rest[c.len_utf8()..];
        match c {
            c if harmless(c) => safe.push(c),
            '\r' if keep.contains(&'\n') && rest.starts_with('\n') => {}
            '\n' => safe.push_str("\\n"),
            '\r' => safe.push_str("\\r"),
            '\t' => safe.push_str("    "),
            c if c.is_control() => write!(safe, "\\x{:02x}", u32::from(c)).expect("a String takes everything"),
            c => write!(safe, "<U+{:04X}>", u32::from(c)).expect("a String takes everything"),
        }
    }
    Cow::Owned(safe)
}

/// Breaks up the workflow commands of GitHub and Azure. GitHub accepts leading blanks.
fn break_up_commands(text: Cow<'_, str>) -> Cow<'_, str> {
    let text = if text.contains("##[") { Cow::Owned(text.replace("##[", "## [")) } else { text };
    if !text.split('\n').any(|line| line.trim_start().starts_with("::")) {
        return text;
    }
    let lines: Vec<Cow<str>> = text.split('\n').map(break_up_command).collect();
    Cow::Owned(lines.join("\n"))
}

/// Breaks up `::` at the start of a line.
pub(crate) fn break_up_command(line: &str) -> Cow<'_, str> {
    match line.trim_start().strip_prefix("::") {
        Some(rest) => Cow::Owned(format!("{}: :{rest}", &line[..line.len() - line.trim_start().len()])),
        None => Cow::Borrowed(line),
    }
}

/// Length in bytes of a colour sequence (`ESC [ digits m`) at the start of the text, or 0.
fn colour_sequence(text: &str) -> usize {
    let Some(rest) = text.strip_prefix("\x1b[") else { return 0 };
    let digits = rest.bytes().take_while(|b| b.is_ascii_digit() || matches!(b, b';' | b':')).count();
    if rest.as_bytes().get(digits) == Some(&b'm') { digits + 3 } else { 0 }
}

/// Whether the character reorders text, breaks lines, or is invisible.
pub(crate) fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}'
        | '\u{e0000}'..='\u{e007f}')
}

/// Columns of the text: wide scripts and emoji take two, combining marks none.
pub(crate) fn width(text: &str) -> usize {
    text.chars().map(char_width).sum()
}

/// Per character, so that the width of a text is the sum of the widths of its parts. Control
/// characters have been replaced before.
fn char_width(c: char) -> usize {
    c.width().unwrap_or(0)
}

/// The start of the text in at most `columns` columns, with the ellipsis where it was cut.
pub(crate) fn keep_start<'a>(text: &'a str, columns: usize, ellipsis: &str) -> Cow<'a, str> {
    let fits = fitting(text.chars(), columns);
    if fits == text.len() {
        return Cow::Borrowed(text);
    }
    let kept = fitting(text.chars(), columns.saturating_sub(width(ellipsis)));
    Cow::Owned(format!("{}{ellipsis}", text[..kept].trim_end()))
}

/// The end of the text, likewise. The end is the most specific part of a test id.
pub(crate) fn keep_end<'a>(text: &'a str, columns: usize, ellipsis: &str) -> Cow<'a, str> {
    if fitting(text.chars().rev(), columns) == text.len() {
        return Cow::Borrowed(text);
    }
    let kept = fitting(text.chars().rev(), columns.saturating_sub(width(ellipsis)));
    Cow::Owned(format!("{ellipsis}{}", &text[text.len() - kept..]))
}

/// How many bytes of these characters fit into `columns` columns.
fn fitting(chars: impl Iterator<Item = char>, columns: usize) -> usize {
    let mut used = 0;
    chars
        .take_while(|&c| {
            used += char_width(c);
            used <= columns
        })
        .map(char::len_utf8)
        .sum()
}

/// Wraps words into lines of at most `columns` columns. Words are never split: ids and paths are
/// copied.
pub(crate) fn wrap<'a>(words: impl Iterator<Item = &'a str>, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut used = 0;
    for word in words {
        let needed = width(word);
        match lines.last_mut() {
            Some(line) if used + 1 + needed <= columns => {
                line.push(' ');
                line.push_str(word);
                used += 1 + needed;
            }
            _ => {
                lines.push(word.to_owned());
                used = needed;
            }
        }
    }
    lines
}

/// Splits one line of quoted text into pieces of at most `columns` columns, at a space where there
/// is one near. Other spaces are kept, because diffs and tables depend on them.
pub(crate) fn chop(line: &str, columns: usize) -> impl Iterator<Item = &str> {
    let mut rest = Some(line);
    std::iter::from_fn(move || {
        let text = rest?;
        let fits = fitting(text.chars(), columns.max(2));
        if fits == text.len() {
            rest = None;
            return Some(text);
        }
        let cut = match text[..fits].rfind(' ') {
            Some(space) if space >= fits / 2 => space + 1,
            _ => fits,
        };
        let (piece, left) = text.split_at(cut);
        rest = Some(left);
        Some(piece.trim_end())
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(plain(text), expected);
    }

    #[test]
    fn control_characters_become_visible() {
        check("plain text, [1, 2] and ünïcode", "plain text, [1, 2] and ünïcode");
        check("\x1b[2Jgone", "\\x1b[2Jgone");
        check("\x1b]0;title\x07", "\\x1b]0;title\\x07");
        check("\u{9b}2J", "\\x9b2J");
        check("12 %\r13 %", "12 %\\r13 %");
        check("a\tb\r\nc", "a    b\nc");
        check("user\u{202e}txt.exe", "user<U+202E>txt.exe");
    }

    #[test]
    fn colours_are_dropped() {
        check("\x1b[1;31mE   assert\x1b[0m 1 == 2", "E   assert 1 == 2");
        check("\x1b[31", "\\x1b[31");
    }

    #[test]
    fn ci_commands_are_broken_up_even_behind_a_colour() {
        check("##[error]no", "## [error]no");
        check("##\x1b[0m[error]no", "## [error]no");
        check("a::b\n  ::set-env::x", "a::b\n  : :set-env::x");
    }

    #[test]
    fn newlines_become_visible_in_one_line() {
        assert_eq!(one_line("test_a[x\ny]"), "test_a[x\\ny]");
    }

    #[test]
    fn cut_text_keeps_its_most_specific_end() {
        assert_eq!(keep_start("AssertionError: 9.89", 10, "…"), "Assertion…");
        assert_eq!(keep_end("tests/test_x.py::test_y", 10, "…"), "…y::test_y");
        assert_eq!(keep_end("漢字漢字", 5, "…"), "…漢字");
        assert_eq!(keep_end("same", 4, "…"), "same");
    }

    #[test]
    fn wrapping_keeps_words_and_chopping_keeps_spaces() {
        assert_eq!(
            wrap("run tests/test_cart.py::test_total again".split(' '), 12),
            ["run", "tests/test_cart.py::test_total", "again"]
        );
        assert_eq!(chop("  + where x", 7).collect::<Vec<_>>(), ["  +", "where x"]);
        assert_eq!(chop("", 7).collect::<Vec<_>>(), [""]);
    }

    proptest! {
        #[test]
        fn cut_text_fits(text in ".*", columns in 1usize..40) {
            let text = one_line(&text);
            prop_assert!(width(&keep_start(&text, columns, "…")) <= columns);
            prop_assert!(width(&keep_end(&text, columns, "…")) <= columns);
        }

        #[test]
        fn chopped_text_fits_and_loses_only_spaces(text in ".*", columns in 2usize..40) {
            let text = one_line(&text);
            let pieces: Vec<&str> = chop(&text, columns).collect();
            prop_assert!(pieces.iter().all(|piece| width(piece) <= columns));
            let letters = |s: &str| s.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            prop_assert_eq!(letters(&pieces.concat()), letters(&text));
        }
    }
}
