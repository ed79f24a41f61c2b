//! Tests of `assertion_matching`.

use super::*;

fn test(id: &str) -> Test {
    let file = id.split("::").next().map(Into::into);
    Test { id: id.into(), file, line: None, command: Vec::new() }
}

fn spot(place: &str, expression: &str, ordinal: u32) -> AssertionKey {
    let (file, function) = place.split_once(' ').unwrap();
    AssertionKey { file: file.to_owned(), function: function.to_owned(), expression: expression.to_owned(), ordinal }
}

fn site(place: &str, expression: &str, ordinal: u32, body: &str) -> AssertionSite {
    AssertionSite { spot: spot(place, expression, ordinal), line: 1, body: body.to_owned() }
}

/// Learns an assertion in one version of the code and looks it up in another. Each version is given
/// as tests, assertion sites and file hash.
fn found(
    wanted: (&str, &AssertionKey),
    before: (&[&str], &[AssertionSite], &str),
    after: (&[&str], &[AssertionSite], &str),
) -> Result<(String, AssertionKey), String> {
    let code = |(tests, _, hash): (&[&str], &[AssertionSite], &str)| {
        let tests: Vec<Test> = tests.iter().map(|id| test(id)).collect();
        let sources = tests.iter().map(|test| (test.file.as_deref().unwrap().to_owned(), hash.to_owned())).collect();
        (tests, sources)
    };
    let ((old_tests, old_sources), (new_tests, new_sources)) = (code(before), code(after));
    let assertion = Assertion { test: wanted.0.into(), spot: wanted.1.clone() };
    let learned = AssertionSource::new(&old_tests, before.1, &old_sources).learned(&assertion);
    let now = AssertionSource::new(&new_tests, after.1, &new_sources).find(&learned);
    now.map(|now| (now.test.to_string(), now.spot))
}

const TEST: &str = "t.py::test_a";

#[test]
fn an_assertion_is_found_although_its_function_changed_around_it() {
    let was = [site("t.py test_a", "x == 1", 0, "b1")];
    let now = [site("t.py test_a", "x == 1", 0, "b2"), site("t.py test_a", "y == 2", 0, "b2")];
    let answer = found((TEST, &was[0].spot), (&[TEST], &was, ""), (&[TEST], &now, ""));
    assert_eq!(answer, Ok((TEST.to_owned(), was[0].spot.clone())));
}

#[test]
fn one_of_two_equal_assertions_is_found_only_while_its_function_is_unchanged() {
    let two = |body| [site("t.py test_a", "ok()", 0, body), site("t.py test_a", "ok()", 1, body)];
    let (was, changed) = (two("b1"), two("b2"));
    let wanted = (TEST, &was[1].spot);
    assert!(found(wanted, (&[TEST], &was, ""), (&[TEST], &was, "")).is_ok());
    assert!(found(wanted, (&[TEST], &was, ""), (&[TEST], &changed, "")).unwrap_err().contains("several"));
    // A second equal assertion may have been inserted before the only one.
    let one = [site("t.py test_a", "ok()", 0, "b1")];
    let answer = found((TEST, &one[0].spot), (&[TEST], &one, ""), (&[TEST], &changed, ""));
    assert!(answer.unwrap_err().contains("several"));
}

#[test]
fn a_moved_file_is_followed() {
    let was = [site("t.py test_a", "x == 1", 0, "b1")];
    let now = [site("deep/t.py test_a", "x == 1", 0, "b1")];
    let wanted = (TEST, &was[0].spot);
    let answer = found(wanted, (&[TEST], &was, ""), (&["deep/t.py::test_a"], &now, ""));
    assert_eq!(answer, Ok(("deep/t.py::test_a".to_owned(), now[0].spot.clone())));
    // A test of the same name with other code is another test.
    let other = [site("deep/t.py test_a", "x == 1", 0, "b2")];
    assert!(found(wanted, (&[TEST], &was, ""), (&["deep/t.py::test_a"], &other, "")).is_err());
}

#[test]
fn a_moved_helper_is_followed_while_its_test_stays() {
    let (was, now) = ([site("help.py check", "x == 1", 0, "b1")], [site("util.py check", "x == 1", 0, "b1")]);
    let answer = found((TEST, &was[0].spot), (&[TEST], &was, ""), (&[TEST], &now, ""));
    assert_eq!(answer, Ok((TEST.to_owned(), now[0].spot.clone())));
}

#[test]
fn a_renamed_test_is_followed_by_its_body() {
    let (was, now) = ([site("t.py TestIt.test_a", "x == 1", 0, "b1")], [site("t.py TestIt.test_b", "x == 1", 0, "b1")]);
    let before: &[&str] = &["t.py::TestIt::test_a[1]"];
    let answer = found((before[0], &was[0].spot), (before, &was, ""), (&["t.py::TestIt::test_b[1]"], &now, "new"));
    assert_eq!(answer, Ok(("t.py::TestIt::test_b[1]".to_owned(), now[0].spot.clone())));
}

#[test]
fn renamed_methods_and_moved_classes_are_followed() {
    let follow = |id: &str, was: &str, now: &str| {
        let (was, now) = ([site(was, "x(1)", 0, "b1")], [site(now, "x(1)", 0, "b1")]);
        let tests = ["a.b.CartTest#sum", "a.b.CartTest#total(int)", "a.c.SackTest#total", "Top#one"];
        let code = |tests: &[&str]| tests.iter().map(|id| test(id)).collect::<Vec<_>>();
        let (old, new, none) = (code(&[id]), code(&tests), HashMap::new());
        let assertion = Assertion { test: id.into(), spot: was[0].spot.clone() };
        let learned = AssertionSource::new(&old, &was, &none).learned(&assertion);
        AssertionSource::new(&new, &now, &none).find(&learned).map(|found| found.test.to_string()).ok()
    };
    let cart = "src/a/b/CartTest.j";
    let renamed = follow("a.b.CartTest#add", &format!("{cart} CartTest.add"), &format!("{cart} CartTest.sum"));
    assert_eq!(renamed.as_deref(), Some("a.b.CartTest#sum"));
    let given = follow("a.b.CartTest#add(int)", &format!("{cart} CartTest.add"), &format!("{cart} CartTest.total"));
    assert_eq!(given.as_deref(), Some("a.b.CartTest#total(int)"));
    let moved = follow("a.b.SackTest#total", "src/a/b/SackTest.j SackTest.total", "src/a/c/SackTest.j SackTest.total");
    assert_eq!(moved.as_deref(), Some("a.c.SackTest#total"));
    let to_top = follow("a.Top#one", "src/a/Top.j Top.one", "src/Top.j Top.one");
    assert_eq!(to_top, None, "it is not certain where packages begin");
    // Index-named parameters may have been reassigned.
    assert_eq!(
        follow("a.b.CartTest#add(int)[1]", &format!("{cart} CartTest.add"), &format!("{cart} CartTest.total")),
        None
    );
}

#[test]
fn two_functions_with_the_same_body_match_nothing() {
    let was = [site("t.py test_a", "x == 1", 0, "b1")];
    let now = [site("t.py test_b", "x == 1", 0, "b1"), site("t.py test_c", "x == 1", 0, "b1")];
    let answer = found((TEST, &was[0].spot), (&[TEST], &was, ""), (&["t.py::test_b", "t.py::test_c"], &now, ""));
    assert!(answer.unwrap_err().contains("several match"));
    // Nor does the remaining twin when one of two disappears.
    let (both, one) = ([now[0].clone(), now[1].clone()], [now[1].clone()]);
    let tests: &[&str] = &["t.py::test_b", "t.py::test_c"];
    let answer = found(("t.py::test_b", &now[0].spot), (tests, &both, ""), (&["t.py::test_c"], &one, ""));
    assert!(answer.unwrap_err().contains("others were identical"));
}

#[test]
fn a_new_test_that_reuses_an_old_name_is_not_the_old_test() {
    let was = [site("t.py test_a", "x == 1", 0, "b1")];
    let now = [site("t.py test_a", "x == 1", 0, "b2"), site("t.py test_b", "x == 1", 0, "b1")];
    let answer = found((TEST, &was[0].spot), (&[TEST], &was, ""), (&[TEST, "t.py::test_b"], &now, ""));
    assert!(answer.unwrap_err().contains("has its former code"));
}

#[test]
fn a_rewritten_assertion_is_a_different_assertion() {
    let (was, now) = ([site("t.py test_a", "x == 1", 0, "b1")], [site("t.py test_a", "x == 2", 0, "b2")]);
    assert!(found((TEST, &was[0].spot), (&[TEST], &was, ""), (&[TEST], &now, "")).is_err());
}

#[test]
fn reordered_parameters_are_followed_when_unambiguous() {
    let sites = [site("t.py test_a", "x == 1", 0, "b1")];
    let look = |before: &[&str], after: &[&str]| {
        found((before[0], &sites[0].spot), (before, &sites, "old"), (after, &sites, "new")).map(|found| found.0)
    };
    assert_eq!(look(&["t.py::test_a[red-3]"], &["t.py::test_a[3-red]"]), Ok("t.py::test_a[3-red]".to_owned()));
    assert_eq!(look(&["t.py::test_a[red-3]"], &["t.py::test_a[red-3]"]), Ok("t.py::test_a[red-3]".to_owned()));
    // Both orders exist before and after, so ids may have been swapped.
    let both: &[&str] = &["t.py::test_a[1-2]", "t.py::test_a[2-1]"];
    assert!(look(both, both).unwrap_err().contains("another order"));
    assert!(look(both, &["t.py::test_a[2-1]"]).is_err());
}

#[test]
fn index_named_parameters_match_only_while_their_file_is_unchanged() {
    let sites = [site("t.py test_a", "x == 1", 0, "b1")];
    let tests: &[&str] = &["t.py::test_a[case0]", "t.py::test_a[case1]"];
    let look = |hash: &str| found((tests[0], &sites[0].spot), (tests, &sites, "old"), (tests, &sites, hash));
    assert!(look("old").is_ok());
    assert!(look("new").unwrap_err().contains("only numbered"));
    let (tests, place): (&[&str], _) = (&["C#m(int)[1]", "C#m(int)[2]"], [site("C.j C.m", "x(1)", 0, "b1")]);
    let look = |hash: &str| found((tests[0], &place[0].spot), (tests, &place, "old"), (tests, &place, hash));
    assert!(look("old").is_ok());
    assert!(look("new").unwrap_err().contains("only numbered"));
}
