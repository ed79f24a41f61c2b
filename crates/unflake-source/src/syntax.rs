//! Syntax trees of sources that parse without an error, and the tokens in them.
//!
//! tree-sitter repairs what it cannot parse and skips what it does not understand. Here either is a
//! refusal: every byte of a source is a token, a comment, or layout.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use tree_sitter::{Language, Node, ParseOptions, ParseState, Parser, Tree};
use twox_hash::XxHash3_128;

/// Longer sources are generated tables; they are not parsed.
const MAX_BYTES: usize = 2 << 20;

/// Some sources take the parser a time that is quadratic in their length.
const MAX_TIME: Duration = Duration::from_secs(10);

/// Separates tokens in [`Step::write_to`]. No source that is read here contains it.
const SEPARATOR: char = '\0';
const OPEN: &str = "\u{1}\0";
const CLOSE: &str = "\u{2}\0";

/// A source without its byte order mark, and with `\n` as the only end of line.
pub(crate) fn normalized(source: &str) -> String {
    let text = source.strip_prefix('\u{feff}').unwrap_or(source);
    text.replace("\r\n", "\n").replace('\r', "\n")
}

/// The tree of a source, or None where it has a syntax error, or is too long or too costly.
pub(crate) fn parse(language: &Language, text: &str) -> Option<Tree> {
    if text.len() > MAX_BYTES || text.contains(SEPARATOR) {
        return None;
    }
    let mut parser = Parser::new();
    parser.set_language(language).ok()?;
    let start = Instant::now();
    let mut give_up = |state: &ParseState| match state.has_error() || start.elapsed() > MAX_TIME {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    };
    let options = ParseOptions::new().progress_callback(&mut give_up);
    let tree =
        parser.parse_with_options(&mut |at, _| text.as_bytes().get(at..).unwrap_or_default(), None, Some(options))?;
    (!tree.root_node().has_error()).then_some(tree)
}

/// One step of a walk through a tree, in the order of the source. Nodes come with their kind.
#[derive(Clone, Copy)]
pub(crate) enum Step<'t> {
    Enter(&'static str, Node<'t>),
    Token(Token<'t>),
    Leave(&'static str, Node<'t>),
}

/// A piece of the source that is neither layout nor a comment.
#[derive(Clone, Copy)]
pub(crate) struct Token<'t> {
    pub(crate) node: Node<'t>,
    pub(crate) kind: &'static str,
    /// The kind of the node that it is a part of.
    pub(crate) parent: &'static str,
    pub(crate) text: &'t str,
    /// The layout between it and the token or comment before.
    pub(crate) gap: &'t str,
}

impl<'t> Step<'t> {
    pub(crate) fn token(&self) -> Option<&Token<'t>> {
        if let Self::Token(token) = self { Some(token) } else { None }
    }

    /// Appends code that is the same for two walks if, and only if, tokens and structure are.
    pub(crate) fn write_to(&self, code: &mut String) {
        match self {
            Self::Enter(..) => code.push_str(OPEN),
            Self::Leave(..) => code.push_str(CLOSE),
            Self::Token(token) => {
                code.push_str(token.text);
                code.push(SEPARATOR);
            }
        }
    }
}

/// The walk through a whole source. Nodes of the kinds in `whole` are one token each. None where
/// something between two tokens is not layout.
pub(crate) fn steps<'t>(text: &'t str, root: Node<'t>, whole: &[&str]) -> Option<Vec<Step<'t>>> {
    let (mut steps, mut parents, mut end) = (Vec::new(), Vec::new(), 0);
    if root.child_count() == 0 {
        return is_layout(text).then_some(steps);
    }
    let mut cursor = root.walk();
    loop {
        let node = cursor.node();
        let (kind, is_extra) = (node.kind(), node.is_extra());
        if !is_extra && !whole.contains(&kind) && cursor.goto_first_child() {
            parents.push(kind);
            steps.push(Step::Enter(kind, node));
            continue;
        }
        let (gap, token) = (text.get(end..node.start_byte())?, &text[node.byte_range()]);
        // A line continuation is layout, though the tree has a node for it.
        if !(is_extra && token.starts_with('\\')) {
            if token.is_empty() || !is_layout(gap) {
                return None;
            }
            end = node.end_byte();
            if !is_extra {
                steps.push(Step::Token(Token { node, kind, parent: parents.last()?, text: token, gap }));
            }
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return is_layout(text.get(end..root.end_byte())?).then_some(steps);
            }
            steps.push(Step::Leave(parents.pop()?, cursor.node()));
        }
    }
}

fn is_layout(gap: &str) -> bool {
    gap.bytes().all(|byte| byte.is_ascii_whitespace() || byte == b'\\')
}

/// The text of a node's field, if it has that field.
pub(crate) fn field<'t>(text: &'t str, node: Node<'_>, name: &str) -> Option<&'t str> {
    text.get(node.child_by_field_name(name)?.byte_range())
}

/// The line, counted from 1, on which a node begins.
pub(crate) fn line(node: Node<'_>) -> u32 {
    node.start_position().row as u32 + 1
}

/// Histories keep these hashes, so the same text has the same one in every version of unflake.
pub(crate) fn hash(text: &str) -> String {
    format!("{:032x}", XxHash3_128::oneshot(text.as_bytes()))
}
