//! The functions and classes of a source: where they are, and the code that is theirs alone.

use std::collections::{BTreeMap, BTreeSet};

use tree_sitter::Node;
use unflake_model::ChangedFunctions;

use crate::syntax::{self, Step};

/// A function or a class of a source. Lines are counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    /// Qualified, such as `function.<locals>.Class.method`. Two scopes may have the same name.
    pub name: String,
    pub is_class: bool,
    /// The line of its first decorator, if it has one.
    pub first_line: u32,
    /// The line of its `def`, `async` or `class`.
    pub line: u32,
    pub last_line: u32,
}

#[derive(Debug, Default)]
pub(super) struct Outline {
    pub(super) scopes: Vec<Scope>,
    /// The code of each scope by its name, the module's too. Scopes of one name are joined. The
    /// documentation of a function, and whether it is a generator, belong to the scope around it.
    code: BTreeMap<String, String>,
    /// The names in `code` of the module and of classes.
    pub(super) bodies: BTreeSet<String>,
}

impl Outline {
    /// The names of the scopes whose code is another one in `other`, or that are not there.
    pub(super) fn differing(&self, other: &Self) -> BTreeSet<String> {
        self.code
            .iter()
            .filter(|(name, code)| other.code.get(*name) != Some(code))
            .map(|(name, _)| name.clone())
            .collect()
    }

    fn close(&mut self, scope: OpenScope) {
        if scope.kind != FUNCTION {
            self.bodies.insert(scope.name.clone());
        }
        self.code.entry(scope.name).or_default().push_str(&scope.code);
    }
}

/// In the code of a scope, stands for a generator in it.
const GENERATOR: &str = "\u{3}\0";
const MODULE: &str = "module";
const CLASS: &str = "class_definition";
const FUNCTION: &str = "function_definition";

/// A scope whose end has not come.
struct OpenScope {
    name: String,
    /// The kind of its node.
    kind: &'static str,
    code: String,
    /// Its place in [`Outline::scopes`].
    at: usize,
    /// Calling it makes a generator, and does not run it.
    is_generator: bool,
}

impl OpenScope {
    fn new(name: &str, kind: &'static str, at: usize) -> Self {
        // The code of a function is not that of a class, even if the body is the same.
        Self { name: name.to_owned(), kind, code: format!("{kind}\0"), at, is_generator: false }
    }
}

/// None where the name that a function has when it runs is another one than its source says.
pub(super) fn outline(text: &str, steps: &[Step<'_>]) -> Option<Outline> {
    let mut outline = Outline::default();
    let mut open = vec![OpenScope::new(ChangedFunctions::MODULE, MODULE, 0)];
    // A scope that is the next block's; for each open block whether it is the body of a scope.
    let (mut declared, mut bodies) = (None, Vec::new());
    let (mut decorated, mut last_line) = (None, 0);
    let (mut globals, mut nested) = (BTreeSet::new(), BTreeSet::new());
    for step in steps {
        match step {
            Step::Enter("decorated_definition", node) => decorated = Some(syntax::line(*node)),
            Step::Enter(kind @ (CLASS | FUNCTION), node) => {
                // The interpreter spells other names in another normal form.
                let plain = syntax::field(text, *node, "name").filter(|name| name.is_ascii())?;
                let around = open.last()?;
                let name = match around.kind {
                    MODULE => plain.to_owned(),
                    CLASS => format!("{}.{plain}", around.name),
                    _ => format!("{}.<locals>.{plain}", around.name),
                };
                if around.kind != MODULE {
                    nested.insert(plain);
                }
                let (line, is_class) = (syntax::line(*node), *kind == CLASS);
                let first_line = decorated.take().unwrap_or(line);
                declared = Some(OpenScope::new(&name, kind, outline.scopes.len()));
                outline.scopes.push(Scope { name, is_class, first_line, line, last_line: line });
            }
            Step::Enter("block", block) => {
                bodies.push(declared.is_some());
                if declared.is_some() {
                    // Who does not run it can still read it.
                    open.last_mut()?.code.push_str(documentation(text, *block));
                }
                open.extend(declared.take());
            }
            Step::Token(token) => {
                if token.parent == "global_statement" {
                    globals.insert(token.text);
                }
                last_line = token.node.end_position().row as u32 + 1;
                open.last_mut()?.is_generator |= token.kind == "yield";
            }
            _ => {}
        }
        step.write_to(&mut open.last_mut()?.code);
        if matches!(step, Step::Leave("block", _)) && bodies.pop()? {
            let scope = open.pop()?;
            if scope.is_generator {
                open.last_mut()?.code.push_str(GENERATOR);
            }
            outline.scopes[scope.at].last_line = last_line;
            outline.close(scope);
        }
    }
    outline.close(open.pop()?);
    // Where a nested function is declared global, its qualified name is its plain one.
    nested.is_disjoint(&globals).then_some(outline)
}

/// The text of the string with which a body begins.
pub(super) fn documentation<'t>(text: &'t str, block: Node<'_>) -> &'t str {
    let mut cursor = block.walk();
    let first = block.named_children(&mut cursor).find(|child| !child.is_extra());
    let statement = first.filter(|first| first.kind() == "expression_statement");
    let value = statement.and_then(|statement| statement.named_child(0));
    let is_text =
        |value: &Node<'_>| matches!(value.kind(), "string" | "concatenated_string" | "parenthesized_expression");
    value.filter(is_text).map_or("", |value| &text[value.byte_range()])
}
