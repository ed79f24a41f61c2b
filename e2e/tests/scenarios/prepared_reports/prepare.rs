//! `unflake locate --all`: reports that are made in advance.

use e2e::{RunOutput, Sandbox};
use nix::sys::signal::Signal;
use unflake_store::Store;

use super::{QUIET, RETRY, pytest, shop, shop_with};

/// The result for each test, as `name kind`.
fn kinds(result: &RunOutput) -> Vec<String> {
    let word = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let name = |test: String| test.rsplit("::").next().unwrap_or_default().to_owned();
    result.list("tests").iter().map(|test| format!("{} {}", name(word(&test["test"])), word(&test["kind"]))).collect()
}

fn ready(sandbox: &Sandbox) -> usize {
    Store::open(sandbox.project().join(".unflake")).unwrap().prepared(None).unwrap().len()
}

#[test]
fn a_report_is_prepared_once_and_reused() {
    let sandbox = shop();
    let first = pytest(&sandbox, "locate --all", &["--runs", "30", "--max-runs", "30"]).expect_exit(0);
    assert_eq!(kinds(&first), ["test_retry located", "test_quiet not-reproduced"], "the worst comes first");
    let quiet = &first.list("tests")[1];
    assert!(quiet["meaning"].as_str().unwrap().contains("30 of 30 runs passed"), "{quiet}");
    let page = sandbox.project().join(first.list("tests")[0]["page"].as_str().unwrap());
    assert!(std::fs::read_to_string(page).unwrap().contains("random.random"));

    let attempts = |sandbox: &Sandbox| sandbox.history().iter().map(|run| run.attempts).sum::<u64>();
    let before = attempts(&sandbox);
    let second = pytest(&sandbox, "locate --all", &["--runs", "30", "--max-runs", "30"]).expect_exit(0);
    assert_eq!(kinds(&second), ["test_retry ready", "test_quiet ready"]);
    assert_eq!(attempts(&sandbox), before, "nothing is run again");
    assert_eq!(second.list("tests")[0]["finding"]["sentence"], first.list("tests")[0]["finding"]["sentence"]);

    // `locate` answers from the prepared report and gives its age.
    let located = pytest(&sandbox, "locate", &["test_retry", "--runs", "30", "--max-runs", "30"]).expect_exit(1);
    assert_eq!(attempts(&sandbox), before, "nothing is run again");
    assert_eq!(located.finding(RETRY)["sentence"], first.list("tests")[0]["finding"]["sentence"]);
    let reported = sandbox.redact(&located.stdout);
    assert!(reported.contains("): shop/mail.py:4"), "{reported}");
    assert!(
        reported.contains("ago from the same files with `python -m pytest`; --again makes a new report"),
        "{reported}"
    );
    let nothing = pytest(&sandbox, "locate", &["test_quiet", "--runs", "30", "--max-runs", "30"]).expect_exit(0);
    assert!(nothing.stdout.contains("30 of 30 runs passed"), "{}", nothing.stdout);
    assert_eq!(attempts(&sandbox), before, "nothing is run again");
    // More runs than the report has are made.
    pytest(&sandbox, "locate", &["test_quiet", "--runs", "30", "--max-runs", "40"]).expect_exit(0);
    assert_eq!(attempts(&sandbox), before + 40);
    pytest(&sandbox, "locate", &["test_quiet", "--runs", "30", "--max-runs", "30", "--again"]).expect_exit(0);
    assert_eq!(attempts(&sandbox), before + 70);
}

#[test]
fn changed_files_need_new_reports() {
    let sandbox = shop();
    pytest(&sandbox, "locate --all", &["--runs", "30", "--max-runs", "30"]).expect_exit(0);
    let sandbox = sandbox.file("shop/mail.py", super::MAIL.replace("> limit", ">= limit"));
    let changed =
        pytest(&sandbox, "locate --all", &["--runs", "30", "--max-runs", "30", "--min-score", "0.2"]).expect_exit(0);
    assert_eq!(kinds(&changed), ["test_retry located"]);
    sandbox.commit("another limit");
    // The working tree now has the old content on top of another commit: reports are made again.
    let sandbox = sandbox.file("shop/mail.py", super::MAIL);
    let back =
        pytest(&sandbox, "locate --all", &["--runs", "30", "--max-runs", "30", "--min-score", "0.2"]).expect_exit(0);
    assert_eq!(kinds(&back), ["test_retry located"]);
    let again =
        pytest(&sandbox, "locate --all", &["--runs", "30", "--max-runs", "30", "--min-score", "0.2"]).expect_exit(0);
    assert_eq!(kinds(&again), ["test_retry ready"]);
}

const SLOW: &str = "\
import random, time

def test_slow():
    time.sleep(0.4)
    assert random.random() < 0.5

def test_quick():
    assert random.random() < 0.5
";

#[test]
fn the_budget_is_kept_and_the_rest_comes_next_time() {
    let sandbox = shop_with(SLOW, &[("test_slow", 2), ("test_quick", 3)]);
    let first = pytest(&sandbox, "locate --all", &["--for", "6", "--jobs", "1"]).expect_exit(0);
    assert_eq!(kinds(&first), ["test_slow cut-short", "test_quick left"]);
    let meaning = first.json()["exit"]["meaning"].as_str().unwrap();
    assert_eq!(meaning, "1 out of budget, 1 not reached");
    let runs = sandbox.history().len();
    let second = pytest(&sandbox, "locate --all", &[]).expect_exit(0);
    assert_eq!(kinds(&second), ["test_slow located", "test_quick located"]);
    // Tests without a report come first.
    let store = Store::open(sandbox.project().join(".unflake")).unwrap();
    let attempts = store.attempts_in(sandbox.history()[sandbox.history().len() - runs - 1].id).unwrap();
    assert!(attempts.iter().all(|attempt| attempt.test.as_str().ends_with("test_quick")), "{attempts:?}");
}

#[test]
fn prepare_resumes_after_an_interrupt() {
    let sandbox = shop_with(SLOW, &[("test_slow", 3), ("test_quick", 2)]);
    let running = sandbox.unflake(["locate", "--all", "--", "python", "-m", "pytest"]).start();
    running.wait_until("a report", || ready(&sandbox) > 0);
    running.signal(Signal::SIGINT);
    let stopped = running.finish().expect_exit(130);
    assert!(stopped.stdout.contains("1 located, 1 not reached"), "{}", stopped.stdout);
    let next = pytest(&sandbox, "locate --all", &[]).expect_exit(0);
    assert_eq!(kinds(&next), ["test_quick ready", "test_slow located"]);
}

#[test]
fn reasons_for_missing_reports_are_given() {
    let sandbox = shop();
    let none = pytest(&sandbox, "locate --all", &["--min-score", "0.9"]).expect_exit(0);
    assert_eq!(none.json()["exit"]["meaning"], "no test reaches this score");
    // A test that is known from CI and no longer exists.
    let sandbox = sandbox.file("tests/test_shop.py", super::TESTS.replace("test_quiet", "test_other"));
    let gone =
        pytest(&sandbox, "locate --all", &["--min-score", "0.1", "--runs", "30", "--max-runs", "30"]).expect_exit(0);
    assert_eq!(kinds(&gone), ["test_retry located", "test_quiet failed"]);
    assert!(gone.list("tests")[1]["meaning"].as_str().unwrap().contains(QUIET), "{}", gone.json());
    // The tests create an untracked file, so the files differ before and after the runs.
    let sandbox = sandbox.file("tests/test_shop.py", format!("open('left.txt', 'a').write('x')\n{}", super::TESTS));
    let moving = pytest(&sandbox, "locate --all", &["--min-score", "0.2"]).expect_exit(4);
    assert_eq!(kinds(&moving), ["test_retry failed"]);
    assert!(moving.list("notes")[0].as_str().unwrap().contains("changed during the run"), "{}", moving.json());

    let elsewhere = Sandbox::with_tests("def test_it(): pass\n");
    let refused = elsewhere.unflake(["locate", "--all", "--", "python", "-m", "pytest"]).finish().expect_exit(2);
    assert!(refused.stderr.contains("prepared reports need git"), "{}", refused.stderr);
}
