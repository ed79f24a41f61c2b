//! Feedback on findings: `unflake report feedback`.

use e2e::Sandbox;

use super::{RETRY, pytest, shop};

fn answer(sandbox: &Sandbox, words: &[&str]) -> String {
    sandbox.unflake(["report", "feedback"].iter().chain(words)).finish().expect_exit(0).stdout
}

#[test]
fn feedback_lowers_a_finding_and_can_be_withdrawn() {
    let sandbox = shop();
    let few = ["test_retry", "--runs", "30"];
    let first = pytest(&sandbox, "locate", &few).expect_exit(1);
    let id = first.finding(RETRY)["id"].as_str().unwrap()[..8].to_owned();
    assert!(first.stdout.contains(&format!("finding {id}")), "{}", first.stdout);
    assert!(first.stdout.contains("fix  "), "{}", first.stdout);
    assert!(answer(&sandbox, &[]).contains(&format!("{id}  {RETRY}")));

    let printed = answer(&sandbox, &[&id, "not-useful", "--why", "we know that one"]);
    assert!(
        printed.contains("shown last and shortened")
            && printed.contains(&format!("unflake report feedback {id} useful")),
        "{printed}"
    );
    let second = pytest(&sandbox, "locate", &few).expect_exit(1);
    assert_eq!(second.finding(RETRY)["id"], first.finding(RETRY)["id"], "the same finding, from other runs");
    assert_eq!(second.finding(RETRY)["not_useful"]["why"], "we know that one");
    assert!(second.stdout.contains("marked as not useful on 20"), "{}", second.stdout);
    assert!(second.stdout.contains("shop/mail.py:4"), "it is still shown\n{}", second.stdout);
    assert!(!second.stdout.contains("fix  "), "{}", second.stdout);
    let history = sandbox.unflake(["history", "show", "test_retry", "--limit", "1"]).finish().expect_exit(0).stdout;
    assert!(history.contains("we know that one"), "{history}");
    assert!(answer(&sandbox, &[]).contains("not useful"));

    // The name of the test selects the finding where it is unambiguous.
    answer(&sandbox, &["test_retry", "useful"]);
    let third = pytest(&sandbox, "locate", &few).expect_exit(1);
    assert!(third.stdout.contains("fix  "), "{}", third.stdout);
    assert_eq!(third.finding(RETRY).get("not_useful"), None);
}

const FAILING: &str = "\
import os

def first(name):
    mark = os.environ['MARK'] + name
    first = not os.path.exists(mark)
    open(mark, 'a').close()
    return first

def test_a_flaky():
    assert not first('a')

def test_b_flaky():
    assert not first('b')

def test_real():
    assert 1 == 2
";

#[test]
fn feedback_hides_no_failure_and_changes_no_exit_code() {
    let sandbox = Sandbox::with_tests(FAILING);
    let run = |options: &str| {
        ["marka", "markb"].iter().for_each(|mark| drop(std::fs::remove_file(sandbox.root().join(mark))));
        sandbox.run_invocation(options, "python -m pytest").env("MARK", sandbox.root().join("mark")).finish()
    };
    let first = run("").expect_exit(1);
    let flaky = ["test_it.py::test_a_flaky flaky-independent", "test_it.py::test_b_flaky flaky-independent"];
    assert_eq!(first.findings(), [flaky[0], flaky[1], "test_it.py::test_real real"]);
    let at = |text: &str, what: &str| text.find(what).unwrap_or_else(|| panic!("{what}\n{text}"));
    assert!(at(&first.stdout, "FLAKY    test_it.py::test_a") < at(&first.stdout, "FLAKY    test_it.py::test_b"));
    let id = |test: &str| first.finding(test)["id"].as_str().unwrap().to_owned();
    answer(&sandbox, &[&id("test_it.py::test_a_flaky"), "not-useful"]);
    // Real failures accept no feedback.
    let refused =
        sandbox.unflake(["report", "feedback", &id("test_it.py::test_real"), "not-useful"]).finish().expect_exit(2);
    assert!(refused.stderr.contains("no finding and no test with a finding matches"), "{}", refused.stderr);

    let second = run("").expect_exit(1);
    assert_eq!(second.findings(), first.findings());
    let reported = sandbox.redact(&second.stdout);
    assert!(reported.contains("REAL     test_it.py::test_real\n         failed"), "{reported}");
    assert!(reported.contains("FLAKY    test_it.py::test_a_flaky\n         marked as not useful on"), "{reported}");
    assert!(
        at(&reported, "FLAKY    test_it.py::test_b") < at(&reported, "FLAKY    test_it.py::test_a"),
        "it comes after others\n{reported}"
    );
    let gating = run("--flaky-result fail").expect_exit(1);
    assert!(!gating.stdout.contains("marked as"), "what fails a run is shown in full\n{}", gating.stdout);
}

#[test]
fn feedback_on_an_unknown_finding_is_rejected() {
    let sandbox = shop();
    let unknown = sandbox.unflake(["report", "feedback", "deadbeef", "not-useful"]).finish().expect_exit(2);
    assert!(unknown.stderr.contains("matches `deadbeef`"), "{}", unknown.stderr);
    pytest(&sandbox, "locate", &["test_retry", "--runs", "20"]).expect_exit(1);
    let undecided = sandbox.unflake(["report", "feedback", "test_retry"]).finish().expect_exit(2);
    assert!(undecided.stderr.contains("not-useful"), "{}", undecided.stderr);
    sandbox.unflake(["report", "feedback", "test_retry", "perhaps"]).finish().expect_exit(2);
}
