//! Escapes untrusted text for Markdown on GitHub and GitLab: it cannot become markup, a link, or a
//! mention of a person or issue.
//!
//! Both platforms look for mentions in the rendered text, after entities are decoded. So a
//! character that starts a mention is followed by a zero-width space. They ignore code, so there
//! the text is unchanged and can be copied.

use crate::html::markup;
use crate::terminal::writer::MAX_COLUMNS;
use crate::text::sanitize::keep_start;
use crate::{one_line, plain};

/// Zero-width space: invisible, and it breaks a mention.
const ZERO_WIDTH_SPACE: &str = "&#8203;";
/// Prefixes of mentions: people, issues, merge requests, snippets, milestones, labels, epics.
const MENTION_PREFIXES: &str = "@#!$%~&^";
/// No platform accepts a longer title.
const TITLE: usize = 200;

/// Escapes text within a line.
pub(crate) fn inline(text: &str) -> String {
    let text = one_line(text);
    let mut safe = String::new();
    let mut rest = text.chars().peekable();
    let mut last = None;
    while let Some(c) = rest.next() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            // Could start a URL or an emoji.
            ':' if rest.peek().is_some_and(|next| next.is_alphabetic() || "/+-".contains(*next)) => {
                safe.push_str("&#58;")
            }
            '.' if safe.to_ascii_lowercase().ends_with("www") => safe.push_str("&#46;"),
            // At the start of a line they make a list, or a heading of the line before.
            '-' | '+' | '=' if last.is_none() => safe.extend(['\\', c]),
            '.' | ')' if safe.bytes().all(|byte| byte.is_ascii_digit()) => safe.extend(['\\', c]),
            '-' if safe.to_ascii_lowercase().ends_with("gh") => safe.extend([ZERO_WIDTH_SPACE, "-"]),
            c if "\\`*_[]|~@#!".contains(c) => safe.extend(['\\', c]),
            c => safe.push(c),
        }
        let names = rest.peek().is_some_and(|next| next.is_alphanumeric() || "\"_{".contains(*next));
        if MENTION_PREFIXES.contains(c) && names {
            safe.push_str(ZERO_WIDTH_SPACE);
        }
        last = Some(c);
    }
    safe
}

/// Inline code, fenced by more backticks than the text contains.
pub(crate) fn code(text: &str) -> String {
    let text = one_line(text);
    let text: String = text.chars().take(MAX_COLUMNS + 1).collect();
    // A test name must not look like the marker of our own comment.
    let text = keep_start(&text, MAX_COLUMNS, "…").replace("<!-", "<!\u{200b}-");
    let runs = text.split(|c| c != '`').map(str::len);
    let fence = "`".repeat(runs.max().unwrap_or(0) + 1);
    let edge = |c: Option<char>| c.is_none_or(|c| c == '`' || c.is_whitespace());
    let blank = if edge(text.chars().next()) || edge(text.chars().next_back()) { " " } else { "" };
    format!("{fence}{blank}{text}{blank}{fence}")
}

/// Escapes text within a line of HTML, where Markdown has no meaning but mentions have.
pub(crate) fn html_text(text: &str) -> String {
    let mut marked = String::new();
    for c in one_line(text).chars() {
        let address = c == '/' && marked.ends_with(':');
        if address || c == '-' && marked.to_ascii_lowercase().ends_with("gh") {
            marked.push('\u{200b}');
        }
        marked.push(c);
        if MENTION_PREFIXES.contains(c) {
            marked.push('\u{200b}');
        }
    }
    markup::escaped(&marked)
}

/// Preformatted lines, unchanged.
pub(crate) fn lines(text: &str) -> String {
    let safe = markup::escaped(&plain(text));
    // An empty line ends the HTML block, and Markdown would be parsed after it.
    let kept = safe.split('\n').map(|line| if line.trim().is_empty() { "&nbsp;" } else { line });
    format!("<pre>{}</pre>", kept.collect::<Vec<_>>().join("\n"))
}

/// A title, which is not Markdown: one bounded line.
pub(crate) fn title(text: &str) -> String {
    let text = one_line(text);
    let mut title = String::new();
    let mut rest = text.chars().peekable();
    let mut letters = 0;
    while let Some(c) = rest.next() {
        if letters == TITLE {
            title.push('…');
            break;
        }
        letters += 1;
        title.push(c);
        if MENTION_PREFIXES.contains(c) && rest.peek().is_some_and(|next| next.is_alphanumeric()) {
            title.push('\u{200b}');
        }
    }
    title.replace("<!-", "<!\u{200b}-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inline_text_has_no_mentions_links_or_markup() {
        let escaped = inline("@ada and #12, org/repo#3 !4 GH-5 see https://a.b www.c.d me@e.f");
        assert_eq!(
            escaped,
            "\\@&#8203;ada and \\#&#8203;12, org/repo\\#&#8203;3 \\!&#8203;4 GH&#8203;-5 see https&#58;//a.b www&#46;c.d \
             me\\@&#8203;e.f"
        );
        assert_eq!(
            inline("a | b `c` <!-- d --> [e](f) *g* \\h"),
            "a \\| b \\`c\\` &lt;\\!-- d --&gt; \\[e\\](f) \\*g\\* \\\\h"
        );
        assert_eq!(["- a", "1. b", "2) c", "= d"].map(inline), ["\\- a", "1\\. b", "2\\) c", "\\= d"]);
    }

    #[test]
    fn code_is_unchanged() {
        assert_eq!(code("t.py::test[a](b)"), "`t.py::test[a](b)`");
        assert_eq!(code("</code>|@ada"), "`</code>|@ada`");
        assert_eq!(code("a``b`"), "``` a``b` ```");
        assert_eq!(code(""), "`  `");
        assert_eq!(code("<!-- unflake -->"), "`<!\u{200b}-- unflake -->`");
        assert_eq!(code(&"x".repeat(9000)).chars().count(), MAX_COLUMNS + 2);
        assert_eq!(lines("a\n\n</pre>"), "<pre>a\n&nbsp;\n&lt;/pre&gt;</pre>");
    }

    #[test]
    fn a_title_is_one_bounded_line() {
        assert_eq!(title("@ada: a\nb #12"), "@\u{200b}ada: a\\nb #\u{200b}12");
        assert_eq!(title(&"x".repeat(500)).chars().count(), 201);
    }
}
