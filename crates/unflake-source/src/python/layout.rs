//! Indentation and line ends as the interpreter requires them. The grammar of tree-sitter accepts
//! more: any dedent, tabs that are worth eight spaces, statements and strings that run over the end
//! of a line.
//!
//! In a source that is valid here the blocks of the tree are those of the interpreter: the lines of
//! a block have its indentation, which is longer than that of the block around it.

use tree_sitter::Node;

use crate::syntax::{Step, Token};

#[derive(Clone, Copy)]
enum IndentedBlock<'t> {
    /// Its first token has not come.
    Empty,
    /// On the line of its header.
    Inline,
    /// On lines of its own, with this indentation.
    Indented(&'t str),
}

pub(super) fn is_valid(text: &str, steps: &[Step<'_>]) -> bool {
    let mut blocks = vec![IndentedBlock::Indented("")];
    let (mut brackets, mut is_first, mut may_start_line) = (0usize, true, true);
    for step in steps {
        match step {
            Step::Enter("block", _) => blocks.push(IndentedBlock::Empty),
            Step::Enter(kind, _) => may_start_line |= starts_line(kind),
            Step::Leave("block", _) => {
                blocks.pop();
            }
            Step::Token(token) => {
                let indentation = line_start(token.gap).or(is_first.then_some(token.gap));
                let is_in_line = indentation.is_none();
                let is_placed = brackets > 0 || (may_start_line || is_in_line) && place(&mut blocks, indentation);
                if !is_placed || token.kind == "string" && !is_closed(token) {
                    return false;
                }
                match token.text {
                    "(" | "[" | "{" => brackets += 1,
                    ")" | "]" | "}" => brackets = brackets.saturating_sub(1),
                    _ => {}
                }
                (is_first, may_start_line) = (false, false);
            }
            _ => {}
        }
    }
    // A line that is continued at the end of the file is an error.
    !text.trim_end_matches([' ', '\t', '\x0c', '\n']).ends_with('\\')
}

/// Whether nodes of this kind begin on a line of their own.
fn starts_line(kind: &str) -> bool {
    let is_in_line = matches!(kind, "with_clause" | "if_clause");
    !is_in_line && ["_statement", "_definition", "_clause", "decorator"].iter().any(|end| kind.ends_with(end))
}

/// The indentation of a token before which a logical line ends.
fn line_start(gap: &str) -> Option<&str> {
    let mut ends = gap.match_indices('\n').filter(|(at, _)| !gap[..*at].ends_with('\\'));
    ends.next_back().map(|(at, _)| &gap[at + 1..])
}

/// Takes in a token outside of brackets. False where its line is not one of the innermost block.
fn place<'t>(blocks: &mut Vec<IndentedBlock<'t>>, indentation: Option<&'t str>) -> bool {
    let indentation = indentation.map(|text| text.rsplit('\x0c').next().unwrap_or(text));
    if indentation.is_some_and(|text| !text.bytes().all(|byte| byte == b' ' || byte == b'\t')) {
        return false;
    }
    match (blocks.pop(), indentation) {
        (Some(IndentedBlock::Empty), Some(inner)) => {
            let Some(IndentedBlock::Indented(outer)) = blocks.last() else { return false };
            let is_deeper = inner.len() > outer.len() && inner.starts_with(outer);
            blocks.push(IndentedBlock::Indented(inner));
            is_deeper
        }
        (Some(IndentedBlock::Empty | IndentedBlock::Inline), None) => {
            blocks.push(IndentedBlock::Inline);
            true
        }
        (Some(IndentedBlock::Indented(own)), now) => {
            blocks.push(IndentedBlock::Indented(own));
            now.is_none_or(|now| now == own)
        }
        (Some(IndentedBlock::Inline), Some(_)) | (None, _) => false,
    }
}

/// Whether a string in simple quotes has line ends only where it may: escaped, or in a field.
fn is_closed(token: &Token<'_>) -> bool {
    let start = token.node.child(0).map_or("", |start| &token.text[..start.end_byte() - start.start_byte()]);
    if start.ends_with("\"\"\"") || start.ends_with("'''") {
        return true;
    }
    let is_field = |child: &Node<'_>| child.kind() == "interpolation" && start.contains(['f', 'F', 't', 'T']);
    let fields: Vec<Node> = token.node.children(&mut token.node.walk()).filter(is_field).collect();
    let may_end_line = |at: usize| {
        let before = &token.text[..at];
        let is_escaped = (at - before.trim_end_matches('\\').len()) % 2 == 1;
        is_escaped || fields.iter().any(|field| field.byte_range().contains(&(token.node.start_byte() + at)))
    };
    // In Python 2, backquotes have code between them.
    !start.ends_with('`') && token.text.match_indices('\n').all(|(at, _)| may_end_line(at))
}
