//! `unflake filter` and `unflake run --filter`.

mod versions;

use std::fs;

use e2e::{RunOutput, Sandbox};

/// Fails in every third attempt, starting with the second.
const FAILS_EVERY_THIRD_TIME: &str = r#"
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

fn call(sandbox: &Sandbox, words: &[&str]) -> RunOutput {
    let call = sandbox.unflake(words).json().env("TURNS", sandbox.root().join("turns"));
    call.args(["--", "pytest"]).finish()
}

fn learned(tests: &str) -> Sandbox {
    let sandbox = Sandbox::with_tests(tests);
    call(&sandbox, &["filter", "learn", "--fresh-by", "fork"]).expect_exit(0);
    sandbox
}

/// Makes the next attempt one that fails.
fn fail_next(sandbox: &Sandbox) {
    fs::write(sandbox.root().join("turns"), ".").unwrap();
}

fn change(sandbox: &Sandbox, file: &str, from: &str, to: &str) {
    let path = sandbox.project().join(file);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{text}");
    fs::write(path, text.replace(from, to)).unwrap();
}

#[test]
fn a_filtered_failure_appears_in_every_report() {
    let sandbox = learned(FAILS_EVERY_THIRD_TIME);
    fail_next(&sandbox);
    let junit = sandbox.root().join("junit.xml");
    let result = call(&sandbox, &["run", "--filter", "--junit", junit.to_str().unwrap()]).expect_exit(0);
    assert_eq!(result.findings(), ["test_it.py::test_lamp flaky"]);
    for printed in ["lamp == 1", "lamp = 0", "score 0.61 in 10 runs", "1 failure excused by the filter"] {
        assert!(result.stdout.contains(printed), "{printed}\n{}", result.stdout);
    }
    let junit = fs::read_to_string(junit).unwrap();
    assert!(
        junit.contains("failures=\"0\"") && junit.contains("unflake.filter") && junit.contains("<system-out>"),
        "{junit}"
    );
    assert!(
        result.attempts().iter().filter(|one| one.ends_with("suite process")).count() == 2,
        "{:?}",
        result.attempts()
    );
    // The test counts as passed, and the history has the failure.
    let scores = sandbox.root().join("scores.json");
    sandbox.unflake(["history", "score", "--json", scores.to_str().unwrap()]).finish();
    let scores: serde_json::Value = serde_json::from_str(&fs::read_to_string(scores).unwrap()).unwrap();
    let [scored] = &scores["findings"].as_array().unwrap()[..] else { panic!("{scores}") };
    assert_eq!((&scored["test"], &scored["failures"]), (&"test_it.py::test_lamp".into(), &1.into()), "{scored}");
    // Without the filter it is a flaky test.
    fail_next(&sandbox);
    let result = call(&sandbox, &["run"]).expect_exit(0);
    assert_eq!(result.findings(), ["test_it.py::test_lamp flaky-independent"]);
}

#[test]
fn an_expired_entry_is_ignored_with_a_note() {
    let sandbox = learned(FAILS_EVERY_THIRD_TIME);
    let file = fs::read_to_string(sandbox.project().join("unflake-filter.toml")).unwrap();
    let expires = file.lines().find(|line| line.starts_with("expires")).unwrap();
    change(&sandbox, "unflake-filter.toml", expires, "expires = \"2026-01-01\"");
    fail_next(&sandbox);
    let result = call(&sandbox, &["run", "--filter"]).expect_exit(0);
    assert_eq!(result.findings(), ["test_it.py::test_lamp flaky-independent"]);
    assert!(result.remarks().contains("expired on 2026-01-01"), "{}", result.remarks());
}

#[test]
fn an_error_after_a_filtered_assertion_counts() {
    let tests = FAILS_EVERY_THIRD_TIME.replace(
        "assert lamp == 1\n",
        "assert lamp == 1\n    assert not os.path.exists('broken')\n    open('never')\n",
    );
    let sandbox = learned(&tests.replace("    open('never')\n", ""));
    fs::write(sandbox.project().join("test_it.py"), tests).unwrap();
    fail_next(&sandbox);
    let result = call(&sandbox, &["run", "--filter"]).expect_exit(1);
    assert!(result.findings().contains(&"test_it.py::test_lamp real".to_owned()), "{:?}", result.findings());
}

#[test]
fn an_ambiguous_assertion_is_not_filtered() {
    let sandbox = learned(FAILS_EVERY_THIRD_TIME);
    change(
        &sandbox,
        "test_it.py",
        "    assert lamp == 1\n",
        "    assert lamp == 1\n    lamp = 1 - lamp\n    assert lamp == 1\n",
    );
    let result = call(&sandbox, &["run", "--filter"]).expect_exit(1);
    assert!(result.findings().contains(&"test_it.py::test_lamp real".to_owned()), "{:?}", result.findings());
    assert!(result.remarks().contains("several such assertions"), "{}", result.remarks());
}

#[test]
fn assertions_in_unittest_helpers_and_loops_are_filtered_one_by_one() {
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
    let sandbox = learned(tests);
    fail_next(&sandbox);
    let result = call(&sandbox, &["run", "--filter"]).expect_exit(0);
    assert_eq!(result.list("findings").len(), 2, "{}", result.stdout);
    change(&sandbox, "test_it.py", "\"test_it.py\"", "\"gone.py\"");
    fail_next(&sandbox);
    let result = call(&sandbox, &["run", "--filter"]).expect_exit(1);
    assert!(result.findings().contains(&"test_it.py::TestLamp::test_lamp real".to_owned()), "{:?}", result.findings());
}

#[test]
fn the_published_rule_filters_more_than_the_strict_one() {
    let sandbox = learned(FAILS_EVERY_THIRD_TIME);
    change(&sandbox, "test_it.py", "lamp = 0 if turn() % 3 == 2 else 1", "lamp = 7");
    let result = call(&sandbox, &["run", "--filter", "--granularity", "off"]).expect_exit(1);
    assert!(result.findings().contains(&"test_it.py::test_lamp never-like-this".to_owned()), "{:?}", result.findings());
    let result = call(&sandbox, &["run", "--filter", "--rule", "published"]).expect_exit(0);
    assert_eq!(result.findings(), ["test_it.py::test_lamp flaky"]);
}

#[test]
fn a_missing_filter_and_unknown_tests_are_reported() {
    let sandbox = Sandbox::with_tests(FAILS_EVERY_THIRD_TIME);
    let result = call(&sandbox, &["run", "--filter"]).expect_exit(2);
    assert!(
        result.stderr.contains("there is no filter") && result.stderr.contains("unflake filter learn"),
        "{}",
        result.stderr
    );
    let result = sandbox.unflake(["filter", "tune"]).finish().expect_exit(2);
    assert!(result.stderr.contains("unflake filter label"), "{}", result.stderr);
    let result = call(&sandbox, &["filter", "learn", "nowhere"]).expect_exit(2);
    assert!(result.stderr.contains("no test has `nowhere`"), "{}", result.stderr);
    let result = sandbox.unflake(["filter", "show"]).finish().expect_exit(0);
    assert!(result.stdout.contains("no assertion samples yet"), "{}", result.stdout);
}
