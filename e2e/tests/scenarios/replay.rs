//! `unflake replay`: named tests, in the given order, in one session of the runner.

use e2e::Sandbox;

/// A counter that the tests of one process share.
const COUNTED: &str = "import pytest\n\
    seen = []\n\
    @pytest.fixture(scope='session')\n\
    def shared():\n    return []\n\
    def test_first():\n    seen.append(1)\n\
    def test_only_alone():\n    assert not seen, 'came too late'\n\
    def test_once(shared):\n    shared.append(1)\n    assert shared == [1]\n\
    def test_skipped():\n    pytest.skip('no')\n";

/// The exit code, and each line of the report that names an outcome.
#[track_caller]
fn replay(sandbox: &Sandbox, tests: &[&str]) -> (i32, Vec<String>) {
    let result = sandbox.unflake(["replay"]).args(tests).args(["--", "pytest"]).finish();
    let words = ["PASSED", "FAILED", "SKIPPED"];
    let outcomes = result.stdout.lines().filter(|line| words.iter().any(|word| line.contains(word)));
    (result.code, outcomes.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect())
}

#[test]
fn tests_run_in_the_order_in_which_they_are_named() {
    let sandbox = Sandbox::with_tests(COUNTED);
    let passed = |name: &str| format!("PASSED test_it.py::{name}");
    let late = ["test_first", "test_only_alone"];
    assert_eq!(replay(&sandbox, &late), (1, vec![passed("test_first"), "FAILED test_it.py::test_only_alone".into()]));
    let early = ["test_only_alone", "test_first"];
    assert_eq!(replay(&sandbox, &early), (0, early.map(passed).to_vec()));
    assert_eq!(sandbox.history().len(), 2);
    assert_eq!(sandbox.stored_attempts().len(), 2);
}

#[test]
fn a_test_that_is_named_twice_runs_twice_with_the_same_fixtures() {
    let sandbox = Sandbox::with_tests(COUNTED);
    let expected = vec!["PASSED test_it.py::test_once".to_owned(), "FAILED test_it.py::test_once".to_owned()];
    assert_eq!(replay(&sandbox, &["test_once", "test_once"]), (1, expected));
}

#[test]
fn an_order_is_read_from_a_file() {
    let sandbox = Sandbox::with_tests(COUNTED).file("order", "test_first\n\ntest_only_alone\n").file("none", "\n");
    let result = sandbox.unflake(["replay", "--order", "order", "--", "pytest"]).finish().expect_exit(1);
    assert!(result.stdout.contains("came too late"), "{}", result.stdout);
    let result = sandbox.unflake(["replay", "--order", "none", "--", "pytest"]).finish().expect_exit(2);
    assert!(result.stderr.contains("it names no test"), "{}", result.stderr);
}

#[test]
fn what_cannot_be_run_has_its_own_exit_codes() {
    let sandbox = Sandbox::with_tests(COUNTED);
    assert_eq!(replay(&sandbox, &["test_skipped"]).0, 4);
    assert_eq!(replay(&sandbox, &["test_unknown"]), (2, Vec::new()));
    assert_eq!(replay(&sandbox, &["test_"]), (2, Vec::new()));
    let broken = Sandbox::with_tests("import nothing_of_this_name\ndef test_a(): pass\n");
    assert_eq!(replay(&broken, &["test_a"]).0, 4);
}

#[test]
fn tests_of_a_runner_without_an_order_run_in_processes_one_after_the_other() {
    let sandbox = Sandbox::specimen("rerun/rust/leaked_environment_variable");
    let test = "mailer tests::mails_go_out";
    let result = sandbox.unflake(["replay", test, test, "--", "cargo", "test"]).finish().expect_exit(0);
    assert_eq!(result.stdout.matches(test).count(), 2, "{}", result.stdout);
    assert!(result.stdout.contains("the tests ran in 2 processes"), "{}", result.stdout);
}

#[test]
fn tests_of_one_process_run_at_once_only_where_the_runner_can() {
    let sandbox = Sandbox::with_tests("def test_a(): pass\ndef test_b(): pass\n");
    let command = ["replay", "test_a", "test_b", "--at-once", "2", "--", "python", "-m", "pytest"];
    let refused = sandbox.unflake(command).finish().expect_exit(2);
    assert!(refused.stderr.contains("one after the other"), "{}", refused.stderr);
}
