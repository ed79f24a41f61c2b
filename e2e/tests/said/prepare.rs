//! Reports that are ready before anyone asks.

use e2e::{Ran, Story};
use nix::sys::signal::Signal;
use unflake_store::Store;

use crate::{QUIET, RETRY, commit, pytest, shop, shop_with};

/// What became of each test, as `name kind`.
fn kinds(ran: &Ran) -> Vec<String> {
    let word = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let name = |test: String| test.rsplit("::").next().unwrap_or_default().to_owned();
    ran.list("tests").iter().map(|test| format!("{} {}", name(word(&test["test"])), word(&test["kind"]))).collect()
}

fn ready(story: &Story) -> usize {
    Store::open(story.project().join(".unflake")).unwrap().prepared(None).unwrap().len()
}

#[test]
fn a_report_is_made_once_and_then_ready() {
    let story = shop();
    let first = pytest(&story, "prepare", &["--runs", "30", "--most", "30"]).exits(0);
    assert_eq!(kinds(&first), ["test_retry located", "test_quiet not-reproduced"], "the worst comes first");
    let quiet = &first.list("tests")[1];
    assert!(quiet["meaning"].as_str().unwrap().starts_with("passed in all 30 runs"), "{quiet}");
    let page = story.project().join(first.list("tests")[0]["page"].as_str().unwrap());
    assert!(std::fs::read_to_string(page).unwrap().contains("random.random"));

    let attempts = |story: &Story| story.history().iter().map(|run| run.attempts).sum::<u64>();
    let before = attempts(&story);
    let second = pytest(&story, "prepare", &["--runs", "30", "--most", "30"]).exits(0);
    assert_eq!(kinds(&second), ["test_retry ready", "test_quiet ready"]);
    assert_eq!(attempts(&story), before, "nothing is run again");
    assert_eq!(second.list("tests")[0]["finding"]["sentence"], first.list("tests")[0]["finding"]["sentence"]);

    // Whoever asks where it starts is told at once, and how old that is.
    let located = pytest(&story, "locate", &["test_retry", "--runs", "30", "--most", "30"]).exits(1);
    assert_eq!(attempts(&story), before, "nothing is run again");
    assert_eq!(located.finding(RETRY)["sentence"], first.list("tests")[0]["finding"]["sentence"]);
    let told = story.plain(&located.stdout);
    assert!(told.contains("starts at shop/mail.py:4"), "{told}");
    assert!(told.contains("ago of the same files with `python -m pytest`; --again makes it anew"), "{told}");
    let nothing = pytest(&story, "locate", &["test_quiet", "--runs", "30", "--most", "30"]).exits(0);
    assert!(nothing.stdout.contains("passed in all 30 runs"), "{}", nothing.stdout);
    assert_eq!(attempts(&story), before, "nothing is run again");
    // More than was tried is tried.
    pytest(&story, "locate", &["test_quiet", "--runs", "30", "--most", "40"]).exits(0);
    assert_eq!(attempts(&story), before + 40);
    pytest(&story, "locate", &["test_quiet", "--runs", "30", "--most", "30", "--again"]).exits(0);
    assert_eq!(attempts(&story), before + 70);
}

#[test]
fn other_files_need_other_reports() {
    let story = shop();
    pytest(&story, "prepare", &["--runs", "30", "--most", "30"]).exits(0);
    let story = story.with("shop/mail.py", crate::MAIL.replace("> limit", ">= limit"));
    let changed = pytest(&story, "prepare", &["--runs", "30", "--most", "30", "--at-least", "0.2"]).exits(0);
    assert_eq!(kinds(&changed), ["test_retry located"]);
    commit(&story, "as it was, in a commit");
    // In a commit they are the same files, but nobody can see that from outside.
    let story = story.with("shop/mail.py", crate::MAIL);
    let back = pytest(&story, "prepare", &["--runs", "30", "--most", "30", "--at-least", "0.2"]).exits(0);
    assert_eq!(kinds(&back), ["test_retry located"]);
    let again = pytest(&story, "prepare", &["--runs", "30", "--most", "30", "--at-least", "0.2"]).exits(0);
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
fn the_budget_is_kept_and_what_is_left_comes_next() {
    let story = shop_with(SLOW, &[("test_slow", 2), ("test_quick", 3)]);
    let began = std::time::Instant::now();
    let first = pytest(&story, "prepare", &["--for", "6", "--jobs", "1"]).exits(0);
    assert!(began.elapsed().as_secs_f64() < 20.0, "{:?}", began.elapsed());
    assert_eq!(kinds(&first), ["test_slow cut-short", "test_quick left"]);
    let meaning = first.json()["exit"]["meaning"].as_str().unwrap();
    assert_eq!(meaning, "1 cut short, 1 left for the next time");
    let runs = story.history().len();
    let second = pytest(&story, "prepare", &[]).exits(0);
    assert_eq!(kinds(&second), ["test_slow located", "test_quick located"]);
    // What had no report at all came first.
    let store = Store::open(story.project().join(".unflake")).unwrap();
    let attempts = store.attempts_in(story.history()[story.history().len() - runs - 1].id).unwrap();
    assert!(attempts.iter().all(|attempt| attempt.test.as_str().ends_with("test_quick")), "{attempts:?}");
}

#[test]
fn it_goes_on_where_it_was_stopped() {
    let story = shop_with(SLOW, &[("test_slow", 3), ("test_quick", 2)]);
    let running = story.unflake(["prepare", "--", "python", "-m", "pytest"]).start();
    running.wait_until("a report", || ready(&story) > 0);
    running.signal(Signal::SIGINT);
    let stopped = running.end().exits(130);
    assert!(stopped.stdout.contains("1 located, 1 left for the next time"), "{}", stopped.stdout);
    let next = pytest(&story, "prepare", &[]).exits(0);
    assert_eq!(kinds(&next), ["test_quick ready", "test_slow located"]);
}

#[test]
fn what_cannot_be_prepared_is_said() {
    let story = shop();
    let nobody = pytest(&story, "prepare", &["--at-least", "0.9"]).exits(0);
    assert_eq!(nobody.json()["exit"]["meaning"], "no test is so flaky");
    // A test that is known from CI and that the runner does not have any more.
    let story = story.with("tests/test_shop.py", crate::TESTS.replace("test_quiet", "test_other"));
    let gone = pytest(&story, "prepare", &["--at-least", "0.1", "--runs", "30", "--most", "30"]).exits(0);
    assert_eq!(kinds(&gone), ["test_retry located", "test_quiet failed"]);
    assert!(gone.list("tests")[1]["meaning"].as_str().unwrap().contains(QUIET), "{}", gone.json());
    // The tests write a file that git sees, so nobody knows what a report would be about.
    let story = story.with("tests/test_shop.py", format!("open('left.txt', 'a').write('x')\n{}", crate::TESTS));
    let moving = pytest(&story, "prepare", &["--at-least", "0.2"]).exits(4);
    assert_eq!(kinds(&moving), ["test_retry failed"]);
    assert!(moving.list("notes")[0].as_str().unwrap().contains("changed meanwhile"), "{}", moving.json());

    let elsewhere = Story::of("def test_it(): pass\n");
    let refused = elsewhere.unflake(["prepare", "--", "python", "-m", "pytest"]).end().exits(2);
    assert!(refused.stderr.contains("only git can tell"), "{}", refused.stderr);
}
