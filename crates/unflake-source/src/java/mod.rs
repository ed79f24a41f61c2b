//! Java: where assertions are in a source, with names that survive moved and reformatted code.
//!
//! An assertion is a call that looks like one by the name of the method. Whether it is one shows
//! when it runs.

mod print;

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use serde::Serialize;
use tree_sitter::Node;

use crate::syntax::{self, Step, Token};

/// An assertion of the sources.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct JavaAssertion {
    /// Relative to the root of the project.
    pub file: String,
    /// Its class and method, such as `CartTest$Inner.total`.
    pub function: String,
    pub expression: String,
    /// Its place among the same expressions of that function. Methods of one name count together.
    pub ordinal: u32,
    /// The line that a stack trace shows for the call.
    pub line: u32,
    /// A hash of the parameters and the body of the method.
    pub body: String,
    /// The name of the method that is called.
    #[serde(skip)]
    pub called: String,
}

/// An expression is a part of a name: a longer one is cut and identified by its hash.
const MAX_EXPRESSION: usize = 1000;
/// Expressions with more tokens, or more calls in a chain, are generated.
const MAX_TOKENS: usize = 2000;
const MAX_CHAIN: usize = 100;
/// Classes in classes.
const MAX_DEPTH: usize = 100;

/// Nodes that are one token each.
const LITERALS: [&str; 2] = ["string_literal", "character_literal"];

/// All assertions of a file.
pub fn assertion_sites(file: &str, source: &str) -> Option<Vec<JavaAssertion>> {
    let text = syntax::normalized(source);
    if hides_structure(&text) {
        return None;
    }
    let tree = syntax::parse(&tree_sitter_java::LANGUAGE.into(), &text)?;
    let steps = syntax::steps(&text, tree.root_node(), &LITERALS)?;
    let tokens: Vec<Token> = steps.iter().filter_map(Step::token).copied().collect();
    // The grammar lets a string run over the end of its line.
    if tokens.iter().any(|token| token.text.contains('\n') && !token.text.starts_with("\"\"\"")) {
        return None;
    }
    let mut calls = Vec::new();
    for step in &steps {
        if let Step::Enter("method_invocation", call) = step
            && is_assertion(&text, *call)
        {
            calls.push((call.child_by_field_name("name")?.start_byte(), *call));
        }
    }
    // In the tree the last call of a chain is around the others.
    calls.sort_by_key(|(at, _)| *at);
    let mut finder = Finder { file, text: &text, tokens, calls, ordinals: HashMap::new(), sites: Vec::new() };
    finder.members(tree.root_node(), "", 0)?;
    Some(finder.sites)
}

/// Whether a character at which strings, comments or lines end is, or may be, written as a Unicode
/// escape. The compiler decodes those before it reads tokens; the grammar does not.
fn hides_structure(source: &str) -> bool {
    let mut rest = source;
    while let Some(at) = rest.find('\\') {
        let after = rest[at..].trim_start_matches('\\');
        let backslashes = rest.len() - at - after.len();
        // Behind an even number of backslashes, `u` is a plain letter.
        if backslashes % 2 == 1 && after.starts_with('u') {
            let digits = after.trim_start_matches('u').get(..4);
            let number = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
            if number.is_none_or(|number| b"\n\r\"'\\*/".iter().any(|one| u32::from(*one) == number)) {
                return true;
            }
        }
        rest = after;
    }
    false
}

struct Finder<'a> {
    file: &'a str,
    text: &'a str,
    /// All of the source.
    tokens: Vec<Token<'a>>,
    /// Calls of assertions, by the places of their names.
    calls: Vec<(usize, Node<'a>)>,
    ordinals: HashMap<(String, String), u32>,
    sites: Vec<JavaAssertion>,
}

impl<'a> Finder<'a> {
    /// The members of a file, or of a class with this name and a `$` behind it. Initializers are
    /// left out: their code belongs to no method that the source names.
    fn members(&mut self, body: Node<'a>, class: &str, depth: usize) -> Option<()> {
        for member in body.named_children(&mut body.walk()) {
            match member.kind() {
                "class_declaration"
                | "interface_declaration"
                | "enum_declaration"
                | "record_declaration"
                | "annotation_type_declaration" => {
                    let name = syntax::field(self.text, member, "name")?;
                    let body = member.child_by_field_name("body").filter(|_| depth < MAX_DEPTH)?;
                    self.members(body, &format!("{class}{name}$"), depth + 1)?;
                }
                "enum_body_declarations" => self.members(member, class, depth)?,
                "method_declaration" | "constructor_declaration" => {
                    if let Some(class) = class.strip_suffix('$')
                        && let Some(body) = member.child_by_field_name("body")
                    {
                        let name = syntax::field(self.text, member, "name")?;
                        self.method(format!("{class}.{name}"), member.child_by_field_name("parameters")?, body)?;
                    }
                }
                _ => {}
            }
        }
        Some(())
    }

    /// The assertions of a method, those in its lambdas and local classes too.
    fn method(&mut self, function: String, parameters: Node<'a>, body: Node<'a>) -> Option<()> {
        let place = |at| self.calls.partition_point(|(name, _)| *name < at);
        let calls = self.calls[place(body.start_byte())..place(body.end_byte())].to_vec();
        if calls.is_empty() {
            return Some(());
        }
        // What a method throws says nothing of what it does.
        let tokens = self.within(parameters).iter().chain(self.within(body));
        let hash = syntax::hash(&tokens.flat_map(|token| [token.text, "\0"]).collect::<String>());
        for (_, call) in calls {
            let tokens = self.within(call);
            if tokens.len() > MAX_TOKENS {
                continue;
            }
            let expression = shortened(print::printed(tokens));
            let times = self.ordinals.entry((function.clone(), expression.clone())).or_default();
            self.sites.push(JavaAssertion {
                file: self.file.to_owned(),
                function: function.clone(),
                expression,
                ordinal: *times,
                line: syntax::line(call.child_by_field_name("arguments")?),
                body: hash.clone(),
                called: syntax::field(self.text, call, "name")?.to_owned(),
            });
            *times += 1;
        }
        Some(())
    }

    fn within(&self, node: Node<'_>) -> &[Token<'a>] {
        let place = |at| self.tokens.partition_point(|token| token.node.start_byte() < at);
        &self.tokens[place(node.start_byte())..place(node.end_byte())]
    }
}

/// Whether a call is that of an assertion, or of a method behind one: `assertThat(x).isEqualTo(y)`.
fn is_assertion(text: &str, call: Node<'_>) -> bool {
    let name = |call| syntax::field(text, call, "name").unwrap_or_default();
    let (mut is_chained, mut object) = (false, call.child_by_field_name("object"));
    for _ in 0..=MAX_CHAIN {
        let Some(part) = object else { return is_chained || is_check(name(call)) };
        is_chained |= part.kind() == "method_invocation" && starts_chain(name(part));
        object = part.child_by_field_name("object").or_else(|| part.child_by_field_name("array"));
    }
    false
}

fn is_check(name: &str) -> bool {
    name.starts_with("assert") || name == "fail"
}

fn starts_chain(name: &str) -> bool {
    name.starts_with("assertThat") || name == "then" || name.starts_with("thenThrownBy")
}

fn shortened(text: String) -> String {
    match text.char_indices().nth(MAX_EXPRESSION) {
        None => text,
        Some((at, _)) => format!("{}… {}", &text[..at], syntax::hash(&text)),
    }
}
