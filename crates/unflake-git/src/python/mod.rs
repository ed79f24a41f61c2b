//! Functions of Python sources, told without Python.
//!
//! A source is taken apart by its tokens and its indentation alone, which is enough to say what belongs to which function
//! and does not depend on the version of the language. Where anything is odd the answer is None.

mod scopes;
mod tokens;

#[cfg(test)]
mod tests;

use unflake_model::ChangedFunctions;

pub use scopes::Scope;
use scopes::{Outline, outline};

/// Longer sources are not looked into.
const LONGEST: usize = 2 << 20;

/// Every function and class of a source in the order in which they begin, or None where it cannot be told.
pub fn scopes(source: &[u8]) -> Option<Vec<Scope>> {
    Some(read(source)?.outline.scopes)
}

/// What changed from one source to another, or None where it cannot be told.
pub fn changed(before: &[u8], after: &[u8]) -> Option<ChangedFunctions> {
    let (before, after) = (read(before)?, read(after)?);
    if before.encoding != after.encoding {
        return None;
    }
    let (before, after) = (before.outline, after.outline);
    let differing = |one: &Outline, other: &Outline| {
        let differs = |(name, text): &(&String, &String)| other.own.get(*name) != Some(*text);
        one.own.iter().filter(differs).map(|(name, _)| name.clone()).collect()
    };
    let mut changed = ChangedFunctions {
        before: differing(&before, &after),
        after: differing(&after, &before),
        ..ChangedFunctions::default()
    };
    let names = changed.before.iter().chain(&changed.after);
    changed.bodies =
        names.filter(|name| before.bodies.contains(*name) || after.bodies.contains(*name)).cloned().collect();
    Some(changed)
}

struct Source {
    outline: Outline,
    encoding: Option<String>,
}

fn read(source: &[u8]) -> Option<Source> {
    if source.len() > LONGEST {
        return None;
    }
    let text = str::from_utf8(source).ok()?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n").replace('\r', "\n");
    let encoding = encoding(&text);
    let readable = match encoding.as_deref() {
        None | Some("utf-8" | "utf8") => true,
        Some("ascii" | "us-ascii" | "latin-1" | "latin1" | "iso-8859-1" | "iso-8859-15") => text.is_ascii(),
        Some(_) => false,
    };
    if !readable || text.contains('\0') {
        return None;
    }
    Some(Source { outline: outline(&text)?, encoding })
}

/// What a comment in the first two lines says of the encoding.
fn encoding(text: &str) -> Option<String> {
    text.split('\n').take(2).find_map(|line| {
        let comment = line.trim_start_matches([' ', '\t', '\x0c']).strip_prefix('#')?;
        // Any of the places will do: `coding` may stand there more than once.
        comment.match_indices("coding").find_map(|(at, word)| {
            let rest = comment[at + word.len()..].strip_prefix([':', '='])?.trim_start_matches([' ', '\t']);
            let is_name = |one: char| one.is_alphanumeric() || "-_.".contains(one);
            let name = &rest[..rest.find(|one| !is_name(one)).unwrap_or(rest.len())];
            (!name.is_empty()).then(|| name.to_ascii_lowercase().replace('_', "-"))
        })
    })
}
