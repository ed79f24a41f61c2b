//! Python: outlines, which functions changed between two versions of a file, hashes of functions.
//!
//! No interpreter is needed, and the answers do not depend on the version of the language.

mod bodies;
mod expressions;
mod functions;
mod layout;
mod name_uses;
mod outline;
mod statements;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use tree_sitter::Tree;
use unflake_model::ChangedFunctions;

pub use functions::function_hashes;
pub use name_uses::{ChangedNames, NameUses};
use outline::Outline;
pub use outline::Scope;

use crate::syntax::{self, Step};

/// Every function and class of a source, in the order in which they begin.
pub fn scopes(source: &[u8]) -> Option<Vec<Scope>> {
    Some(PythonSource::read(source)?.outline()?.scopes)
}

/// What differs between two versions of a source.
#[derive(Debug, Default)]
pub struct PythonChange {
    /// Who uses the changed names is not known yet.
    pub functions: ChangedFunctions,
    pub names: ChangedNames,
    /// Names that changed statements take from other modules. If one of them is a module, anything
    /// may have changed.
    pub taken: BTreeSet<String>,
}

/// The functions and classes whose code differs between two versions of a source. None: any may.
pub fn changed_functions(before: &[u8], after: &[u8]) -> Option<PythonChange> {
    let (before, after) = (PythonSource::read(before)?, PythonSource::read(after)?);
    if before.encoding != after.encoding {
        return None;
    }
    let (one, other) = (before.outline()?, after.outline()?);
    let mut functions =
        ChangedFunctions { before: one.differing(&other), after: other.differing(&one), ..ChangedFunctions::default() };
    let bodies = bodies::compare((&before.text, before.tree.root_node()), (&after.text, after.tree.root_node()));
    for (changed, outline) in [(&mut functions.before, &one), (&mut functions.after, &other)] {
        // The body of a class in a function runs with that function.
        let is_function = |name: &str| outline.scopes.iter().any(|scope| !scope.is_class && scope.name == name);
        let is_body = |name: &String| outline.bodies.contains(name) && !name.contains("<locals>") && !is_function(name);
        let is_changed = |name: &String| !is_body(name) || bodies.anything.contains(name);
        changed.retain(is_changed);
        let is_whole = |scope: &&Scope| {
            let is_in = |class: &String| scope.name.strip_prefix(class).is_some_and(|rest| rest.starts_with('.'));
            !scope.is_class && (bodies.functions.contains(&scope.name) || bodies.classes.iter().any(is_in))
        };
        changed.extend(outline.scopes.iter().filter(is_whole).map(|scope| scope.name.clone()));
        changed.extend(bodies.anything.iter().cloned());
    }
    functions.bodies = bodies.anything;
    functions.names = bodies.names.union(&bodies.attributes).cloned().collect();
    let names = ChangedNames {
        names: bodies.names,
        attributes: bodies.attributes,
        removed: bodies.removed,
        library: bodies.library,
    };
    Some(PythonChange { functions, names, taken: bodies.taken })
}

/// A source without a syntax error.
struct PythonSource {
    text: String,
    tree: Tree,
    encoding: Option<String>,
}

impl PythonSource {
    fn read(source: &[u8]) -> Option<Self> {
        let text = syntax::normalized(str::from_utf8(source).ok()?);
        let encoding = encoding(&text);
        let is_decoded = match encoding.as_deref() {
            None | Some("utf-8" | "utf8") => true,
            Some("ascii" | "us-ascii" | "latin-1" | "latin1" | "iso-8859-1" | "iso-8859-15") => text.is_ascii(),
            Some(_) => false,
        };
        if !is_decoded {
            return None;
        }
        let tree = syntax::parse(&tree_sitter_python::LANGUAGE.into(), &text)?;
        Some(Self { text, tree, encoding })
    }

    /// The walk through the whole source. None where its layout is not Python's.
    fn steps(&self) -> Option<Vec<Step<'_>>> {
        let steps = syntax::steps(&self.text, self.tree.root_node(), &["string"])?;
        layout::is_valid(&self.text, &steps).then_some(steps)
    }

    fn outline(&self) -> Option<Outline> {
        outline::outline(&self.text, &self.steps()?)
    }
}

/// The encoding that a comment in the first two lines declares.
fn encoding(text: &str) -> Option<String> {
    text.split('\n').take(2).find_map(|line| {
        let comment = line.trim_start_matches([' ', '\t', '\x0c']).strip_prefix('#')?;
        // `coding` may occur before the one that has a name behind it.
        comment.match_indices("coding").find_map(|(at, word)| {
            let rest = comment[at + word.len()..].strip_prefix([':', '='])?.trim_start_matches([' ', '\t']);
            let is_name = |one: char| one.is_alphanumeric() || "-_.".contains(one);
            let name = &rest[..rest.find(|one| !is_name(one)).unwrap_or(rest.len())];
            (!name.is_empty()).then(|| name.to_ascii_lowercase().replace('_', "-"))
        })
    })
}
