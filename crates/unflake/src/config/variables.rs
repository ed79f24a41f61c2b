//! Environment variables that look like settings of unflake and are none.

use std::ffi::OsString;

use crate::config::keys::{KEYS, variable_of};
use crate::diagnostics;
use crate::suggest;

const PREFIX: &str = "UNFLAKE_";
/// Set inside of another unflake, beside further ones: their names are its own business.
const INSIDE: [&str; 3] = ["UNFLAKE_SOCKET", "UNFLAKE_UNDER", "UNFLAKE_FORCED_VALUE"];

/// A variable that has no effect, and which one may be meant.
#[derive(Debug, PartialEq)]
pub(crate) struct UnknownVariable {
    pub(crate) name: String,
    pub(crate) suggestion: Option<String>,
}

/// The variables without effect among all that are set.
pub(crate) fn unknown(names: impl Iterator<Item = OsString>) -> Vec<UnknownVariable> {
    let mut set: Vec<String> = names.filter_map(|name| name.into_string().ok()).collect();
    set.retain(|name| name.starts_with(PREFIX));
    set.sort();
    if set.iter().any(|name| INSIDE.contains(&name.as_str())) {
        return Vec::new();
    }
    let known: Vec<String> =
        KEYS.iter().map(|key| variable_of(key.name)).chain([diagnostics::VARIABLE.to_owned()]).collect();
    set.retain(|name| !known.contains(name));
    // The common beginning says nothing about similarity.
    let rest = |name: &str| name.trim_start_matches(PREFIX).to_owned();
    let endings: Vec<String> = known.iter().map(|name| rest(name)).collect();
    set.into_iter()
        .map(|name| {
            let nearest = suggest::nearest_to(&rest(&name), endings.iter().map(String::as_str));
            UnknownVariable { suggestion: nearest.map(|ending| format!("{PREFIX}{ending}")), name }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<(String, Option<String>)> {
        let found = unknown(names.iter().map(OsString::from));
        found.into_iter().map(|one| (one.name, one.suggestion)).collect()
    }

    #[test]
    fn variables_without_effect_are_found() {
        assert_eq!(names(&["UNFLAKE_FRESH", "UNFLAKE_LOG", "PATH"]), []);
        let (misspelt, fresh) = ("UNFLAKE_FRSH".to_owned(), "UNFLAKE_FRESH".to_owned());
        assert_eq!(names(&[&misspelt]), [(misspelt, Some(fresh))]);
        let other = format!("{PREFIX}SOMETHING");
        assert_eq!(names(&[&other]), [(other, None)]);
    }

    #[test]
    fn inside_of_another_unflake_nothing_is_unknown() {
        assert_eq!(names(&["UNFLAKE_SOCKET", "UNFLAKE_FRSH"]), []);
    }
}
