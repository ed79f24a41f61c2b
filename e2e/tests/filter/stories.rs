//! What people do with the filter, and what it must never do.

use std::fs;

use e2e::{Ran, Story};

/// Fails every third time that it is run, first the second time.
const NOW_AND_THEN: &str = r#"
import os

def turn():
    with open(os.environ["TURNS"], "ab") as file:
        file.write(b".")
    return os.path.getsize(os.environ["TURNS"])

def test_lamp():
    lamp = 0 if turn() % 3 == 2 else 1
    assert lamp == 1

def test_other():
    assert 1 + 1 == 2
"#;

fn call(story: &Story, words: &[&str]) -> Ran {
    let found = story.place().join("found.json");
    let call = story.unflake(words).arg("--json").arg(found).env("TURNS", story.place().join("turns"));
    call.args(["--", "pytest"]).end()
}

fn learned(tests: &str) -> Story {
    let story = Story::of(tests);
    call(&story, &["filter", "learn", "--fresh-by", "fork"]).exits(0);
    story
}

/// So that the next turn is one that fails.
fn at_a_bad_turn(story: &Story) {
    fs::write(story.place().join("turns"), ".").unwrap();
}

fn change(story: &Story, file: &str, from: &str, to: &str) {
    let path = story.project().join(file);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{text}");
    fs::write(path, text.replace(from, to)).unwrap();
}

#[test]
fn a_failure_that_is_let_go_is_told_everywhere() {
    let story = learned(NOW_AND_THEN);
    at_a_bad_turn(&story);
    let junit = story.place().join("junit.xml");
    let ran = call(&story, &["run", "--filter", "--junit", junit.to_str().unwrap()]).exits(0);
    assert_eq!(ran.findings(), ["test_it.py::test_lamp flaky"]);
    for said in ["lamp == 1", "lamp = 0", "score 0.61 in 10 runs", "one failure was let go"] {
        assert!(ran.stdout.contains(said), "{said}\n{}", ran.stdout);
    }
    let junit = fs::read_to_string(junit).unwrap();
    assert!(
        junit.contains("failures=\"0\"") && junit.contains("unflake.filter") && junit.contains("<system-out>"),
        "{junit}"
    );
    assert!(ran.attempts().iter().filter(|one| one.ends_with("suite process")).count() == 2, "{:?}", ran.attempts());
    // It passed, and the history knows better.
    let scores = story.place().join("scores.json");
    story.unflake(["score", "--json", scores.to_str().unwrap()]).end();
    let scores: serde_json::Value = serde_json::from_str(&fs::read_to_string(scores).unwrap()).unwrap();
    let [scored] = &scores["findings"].as_array().unwrap()[..] else { panic!("{scores}") };
    assert_eq!((&scored["test"], &scored["failures"]), (&"test_it.py::test_lamp".into(), &1.into()), "{scored}");
    // Without the filter it is a flaky test as ever.
    at_a_bad_turn(&story);
    let ran = call(&story, &["run"]).exits(0);
    assert_eq!(ran.findings(), ["test_it.py::test_lamp flaky-independent"]);
}

#[test]
fn an_entry_that_has_expired_does_nothing_and_says_so() {
    let story = learned(NOW_AND_THEN);
    let file = fs::read_to_string(story.project().join("unflake-filter.toml")).unwrap();
    let expires = file.lines().find(|line| line.starts_with("expires")).unwrap();
    change(&story, "unflake-filter.toml", expires, "expires = \"2026-01-01\"");
    at_a_bad_turn(&story);
    let ran = call(&story, &["run", "--filter"]).exits(0);
    assert_eq!(ran.findings(), ["test_it.py::test_lamp flaky-independent"]);
    assert!(ran.remarks().contains("expired on 2026-01-01"), "{}", ran.remarks());
}

#[test]
fn an_error_behind_what_was_let_go_counts() {
    let tests = NOW_AND_THEN.replace(
        "assert lamp == 1\n",
        "assert lamp == 1\n    assert not os.path.exists('broken')\n    open('never')\n",
    );
    let story = learned(&tests.replace("    open('never')\n", ""));
    fs::write(story.project().join("test_it.py"), tests).unwrap();
    at_a_bad_turn(&story);
    let ran = call(&story, &["run", "--filter"]).exits(1);
    assert!(ran.findings().contains(&"test_it.py::test_lamp real".to_owned()), "{:?}", ran.findings());
}

#[test]
fn what_could_be_one_of_two_is_not_let_go() {
    let story = learned(NOW_AND_THEN);
    change(
        &story,
        "test_it.py",
        "    assert lamp == 1\n",
        "    assert lamp == 1\n    lamp = 1 - lamp\n    assert lamp == 1\n",
    );
    let ran = call(&story, &["run", "--filter"]).exits(1);
    assert!(ran.findings().contains(&"test_it.py::test_lamp real".to_owned()), "{:?}", ran.findings());
    assert!(ran.remarks().contains("several such assertions"), "{}", ran.remarks());
}

#[test]
fn unittest_helpers_and_loops_are_let_go_one_by_one() {
    let tests = r#"
import os, unittest

def turn():
    with open(os.environ["TURNS"], "ab") as file:
        file.write(b".")
    return os.path.getsize(os.environ["TURNS"])

def check(values, wanted):
    for value in values:
        assert value in wanted

class TestLamp(unittest.TestCase):
    def test_lamp(self):
        lamp = 0 if turn() % 3 == 2 else 1
        self.assertEqual(lamp, 1)
        check([1, lamp], [1])
        self.assertTrue(os.path.exists("test_it.py"))
"#;
    let story = learned(tests);
    at_a_bad_turn(&story);
    let ran = call(&story, &["run", "--filter"]).exits(0);
    assert_eq!(ran.list("findings").len(), 2, "{}", ran.stdout);
    change(&story, "test_it.py", "\"test_it.py\"", "\"gone.py\"");
    at_a_bad_turn(&story);
    let ran = call(&story, &["run", "--filter"]).exits(1);
    assert!(ran.findings().contains(&"test_it.py::TestLamp::test_lamp real".to_owned()), "{:?}", ran.findings());
}

#[test]
fn the_published_rule_lets_go_what_the_strict_one_does_not() {
    let story = learned(NOW_AND_THEN);
    change(&story, "test_it.py", "lamp = 0 if turn() % 3 == 2 else 1", "lamp = 7");
    let ran = call(&story, &["run", "--filter", "--granularity", "off"]).exits(1);
    assert!(ran.findings().contains(&"test_it.py::test_lamp never-like-this".to_owned()), "{:?}", ran.findings());
    let ran = call(&story, &["run", "--filter", "--rule", "published"]).exits(0);
    assert_eq!(ran.findings(), ["test_it.py::test_lamp flaky"]);
}

#[test]
fn what_is_wrong_is_said() {
    let story = Story::of(NOW_AND_THEN);
    let ran = call(&story, &["run", "--filter"]).exits(2);
    assert!(ran.stderr.contains("there is no filter") && ran.stderr.contains("unflake filter learn"), "{}", ran.stderr);
    let ran = story.unflake(["filter", "tune"]).end().exits(2);
    assert!(ran.stderr.contains("unflake filter mark"), "{}", ran.stderr);
    let ran = call(&story, &["filter", "learn", "nowhere"]).exits(2);
    assert!(ran.stderr.contains("no test has `nowhere`"), "{}", ran.stderr);
    let ran = story.unflake(["filter", "show"]).end().exits(0);
    assert!(ran.stdout.contains("nothing is known of assertions yet"), "{}", ran.stdout);
}
