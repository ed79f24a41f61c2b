//! Finds the tests that a person named.

use std::collections::HashSet;

use unflake_model::{Test, TestId};

/// Tests that were selected by name, and the names that match no test.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Selection {
    pub(crate) tests: Vec<TestId>,
    pub(crate) unmatched: Vec<String>,
}

/// A name selects the test with that id, or else every test whose id contains it.
pub(crate) fn select_tests(tests: &[TestId], names: &[String]) -> Selection {
    let all: HashSet<&str> = tests.iter().map(TestId::as_str).collect();
    let (ids, parts): (Vec<&String>, Vec<&String>) = names.iter().partition(|name| all.contains(name.as_str()));
    let ids: HashSet<&str> = ids.into_iter().map(String::as_str).collect();
    let contains = |test: &TestId, part: &str| test.as_str().contains(part);
    let selected = |test: &&TestId| ids.contains(test.as_str()) || parts.iter().any(|part| contains(test, part));
    let unmatched = parts.iter().filter(|part| !tests.iter().any(|test| contains(test, part)));
    Selection {
        tests: tests.iter().filter(selected).cloned().collect(),
        unmatched: unmatched.map(|name| (*name).clone()).collect(),
    }
}

/// The listed tests that `only` selects; all of them without it.
pub(crate) fn select_listed(listed: &[Test], only: Option<&[String]>) -> Selection {
    let tests: Vec<TestId> = listed.iter().map(|test| test.id.clone()).collect();
    match only {
        Some(names) => select_tests(&tests, names),
        None => Selection { tests, unmatched: Vec::new() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(names: &[&str], expected: &[&str], unmatched: &[&str]) {
        let tests = ["shop adds", "shop adds_twice", "shop pays"].map(TestId::from);
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let selection = select_tests(&tests, &names);
        assert_eq!(selection.tests.iter().map(TestId::as_str).collect::<Vec<_>>(), expected);
        assert_eq!(selection.unmatched, unmatched);
    }

    #[test]
    fn an_exact_id_wins_over_a_part() {
        check(&["shop adds"], &["shop adds"], &[]);
        check(&["adds"], &["shop adds", "shop adds_twice"], &[]);
        check(&["pays", "shop adds", "x"], &["shop adds", "shop pays"], &["x"]);
        check(&[], &[], &[]);
    }
}
