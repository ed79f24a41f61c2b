//! Which tests a person means.

use std::collections::HashSet;

use unflake_model::TestId;

/// The tests that have one of these names, or where none has it, have it as a part of theirs; and the names that fit none.
pub(crate) fn chosen(tests: &[TestId], names: &[String]) -> (Vec<TestId>, Vec<String>) {
    let all: HashSet<&str> = tests.iter().map(TestId::as_str).collect();
    let (whole, others): (Vec<&String>, Vec<&String>) = names.iter().partition(|name| all.contains(name.as_str()));
    let whole: HashSet<&str> = whole.into_iter().map(String::as_str).collect();
    let fits = |test: &TestId, name: &str| test.as_str().contains(name);
    let chosen =
        tests.iter().filter(|test| whole.contains(test.as_str()) || others.iter().any(|name| fits(test, name)));
    let nobody = others.iter().filter(|name| !tests.iter().any(|test| fits(test, name)));
    (chosen.cloned().collect(), nobody.map(|name| (*name).clone()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(names: &[&str], expected: &[&str], nobody: &[&str]) {
        let tests = ["shop adds", "shop adds_twice", "shop pays"].map(TestId::from);
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let (chosen, unknown) = chosen(&tests, &names);
        assert_eq!(chosen.iter().map(TestId::as_str).collect::<Vec<_>>(), expected);
        assert_eq!(unknown, nobody);
    }

    #[test]
    fn a_whole_name_goes_before_a_part() {
        check(&["shop adds"], &["shop adds"], &[]);
        check(&["adds"], &["shop adds", "shop adds_twice"], &[]);
        check(&["pays", "shop adds", "x"], &["shop adds", "shop pays"], &["x"]);
        check(&[], &[], &[]);
    }
}
