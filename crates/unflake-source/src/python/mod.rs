//! Python: outlines, which functions changed between two versions of a file, hashes of functions.
//!
//! No interpreter is needed, and the answers do not depend on the version of the language.

mod functions;
mod layout;
mod outline;

#[cfg(test)]
mod tests;

use tree_sitter::Tree;
use unflake_model::ChangedFunctions;

pub use functions::function_hashes;
use outline::Outline;
pub use outline::Scope;

use crate::syntax::{self, Step};

/// Every function and class of a source, in the order in which they begin.
pub fn scopes(source: &[u8]) -> Option<Vec<Scope>> {
    Some(PythonSource::read(source)?.outline()?.scopes)
}

/// The functions and classes whose code differs between two versions of a source. None: any may.
pub fn changed_functions(before: &[u8], after: &[u8]) -> Option<ChangedFunctions> {
    let (before, after) = (PythonSource::read(before)?, PythonSource::read(after)?);
    if before.encoding != after.encoding {
        return None;
    }
    let (before, after) = (before.outline()?, after.outline()?);
    let mut changed = ChangedFunctions {
        before: before.differing(&after),
        after: after.differing(&before),
        ..ChangedFunctions::default()
    };
    let names = changed.before.iter().chain(&changed.after);
    changed.bodies =
        names.filter(|name| before.bodies.contains(*name) || after.bodies.contains(*name)).cloned().collect();
    Some(changed)
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
