//! The functions and classes of a source: where they are, and the code that is theirs alone.

use std::collections::{BTreeMap, BTreeSet};

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
    /// The code of each scope by its name, the module's too. Scopes of one name are joined.
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
}

impl OpenScope {
    fn new(name: &str, kind: &'static str, at: usize) -> Self {
        // The code of a function is not that of a class, even if the body is the same.
        Self { name: name.to_owned(), kind, code: format!("{kind}\0"), at }
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
            Step::Enter("block", _) => {
                bodies.push(declared.is_some());
                open.extend(declared.take());
            }
            Step::Token(token) => {
                if token.parent == "global_statement" {
                    globals.insert(token.text);
                }
                last_line = token.node.end_position().row as u32 + 1;
            }
            _ => {}
        }
        step.write_to(&mut open.last_mut()?.code);
        if matches!(step, Step::Leave("block", _)) && bodies.pop()? {
            let scope = open.pop()?;
            outline.scopes[scope.at].last_line = last_line;
            outline.close(scope);
        }
    }
    outline.close(open.pop()?);
    // Where a nested function is declared global, its qualified name is its plain one.
    nested.is_disjoint(&globals).then_some(outline)
}
