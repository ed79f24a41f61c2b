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

/// The listed tests that `only` selects; all of them without it. A name `FILE::…` selects all tests
/// of a file whose ids do not contain it.
pub(crate) fn select_listed(listed: &[Test], only: Option<&[String]>) -> Selection {
    let tests: Vec<TestId> = listed.iter().map(|test| test.id.clone()).collect();
    let Some(names) = only else { return Selection { tests, unmatched: Vec::new() } };
    let is_in_file = |test: &Test, name: &str| {
        let file = name.split_once("::").map(|(file, _)| file);
        file.is_some() && test.file.as_deref() == file && file.is_some_and(|file| !test.id.as_str().contains(file))
    };
    let by_id = select_tests(&tests, names);
    let ids: HashSet<&TestId> = by_id.tests.iter().collect();
    let selected = |test: &&Test| ids.contains(&test.id) || names.iter().any(|name| is_in_file(test, name));
    let unmatched = by_id.unmatched.iter().filter(|name| !listed.iter().any(|test| is_in_file(test, name)));
    Selection {
        tests: listed.iter().filter(selected).map(|test| test.id.clone()).collect(),
        unmatched: unmatched.cloned().collect(),
    }
}

/// The test that a person means: one whose id is this name, or ends with the whole name and is the only
/// one that does, or else all that the name selects.
pub(crate) fn select_one(listed: &[Test], name: &str) -> Vec<TestId> {
    let matching = select_listed(listed, Some(&[name.to_owned()])).tests;
    let ends = |test: &&TestId| {
        let before = test.as_str().strip_suffix(name).and_then(|before| before.chars().next_back());
        before.is_some_and(|before| !before.is_alphanumeric() && before != '_')
    };
    let mut ending = matching.iter().filter(ends);
    match (ending.next(), ending.next()) {
        (Some(one), None) => vec![one.clone()],
        _ => matching,
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
    fn a_file_selects_tests_whose_ids_do_not_contain_it() {
        let test =
            |id: &str, file: &str| Test { id: id.into(), file: Some(file.into()), line: None, command: Vec::new() };
        let listed = [test("a.OneTest#x", "src/OneTest.java"), test("a.TwoTest#x", "src/TwoTest.java")];
        let names = ["src/OneTest.java::".to_owned(), "src/Main.java::".to_owned()];
        let selection = select_listed(&listed, Some(&names));
        assert_eq!((selection.tests, selection.unmatched), (vec!["a.OneTest#x".into()], vec![names[1].clone()]));
        let listed = [test("test_a.py::test_x", "test_a.py"), test("test_a.py::test_y", "test_a.py")];
        let selection = select_listed(&listed, Some(&["test_a.py::test_x".to_owned()]));
        assert_eq!(selection.tests, ["test_a.py::test_x".into()]);
    }

    #[test]
    fn the_end_of_an_id_means_one_test() {
        let test = |id: &str| Test { id: id.into(), file: None, line: None, command: Vec::new() };
        let listed = ["a/t.py::one", "a/t.py::one_more", "b/t.py::two", "c/t.py::two"].map(test);
        let named = |name: &str| select_one(&listed, name).len();
        assert_eq!(select_one(&listed, "t.py::one"), ["a/t.py::one".into()]);
        assert_eq!(select_one(&listed, "one"), ["a/t.py::one".into()]);
        assert_eq!((named("ne"), named("two"), named("b/t.py::two"), named("none")), (2, 2, 1, 0));
    }

    #[test]
    fn an_exact_id_wins_over_a_part() {
        check(&["shop adds"], &["shop adds"], &[]);
        check(&["adds"], &["shop adds", "shop adds_twice"], &[]);
        check(&["pays", "shop adds", "x"], &["shop adds", "shop pays"], &["x"]);
        check(&[], &[], &[]);
    }
}
