//! Findings that people answer.

use e2e::Story;

use crate::{RETRY, pytest, shop};

fn answer(story: &Story, words: &[&str]) -> String {
    story.unflake(["answer"].iter().chain(words)).end().exits(0).stdout
}

#[test]
fn an_answer_lowers_a_finding_and_can_be_taken_back() {
    let story = shop();
    let few = ["test_retry", "--runs", "30"];
    let first = pytest(&story, "locate", &few).exits(1);
    let id = first.finding(RETRY)["id"].as_str().unwrap()[..8].to_owned();
    assert!(first.stdout.contains(&format!("finding {id}")), "{}", first.stdout);
    assert!(first.stdout.contains("what people do"), "{}", first.stdout);
    assert!(answer(&story, &[]).contains(&format!("{id}  {RETRY}")));

    let said = answer(&story, &[&id, "not-useful", "--why", "we know that one"]);
    assert!(
        said.contains("it will come after others") && said.contains(&format!("unflake answer {id} useful")),
        "{said}"
    );
    let second = pytest(&story, "locate", &few).exits(1);
    assert_eq!(second.finding(RETRY)["id"], first.finding(RETRY)["id"], "it is the same finding, of other runs");
    assert_eq!(second.finding(RETRY)["not_useful"]["why"], "we know that one");
    assert!(second.stdout.contains("you said not useful on 20"), "{}", second.stdout);
    assert!(second.stdout.contains("starts at shop/mail.py:4"), "it is still told\n{}", second.stdout);
    assert!(!second.stdout.contains("what people do"), "{}", second.stdout);
    let history = story.unflake(["history", "test_retry", "--limit", "1"]).end().exits(0).stdout;
    assert!(history.contains("we know that one"), "{history}");
    assert!(answer(&story, &[]).contains("you said not useful on"));

    // By the name of the test, if that says which one is meant.
    answer(&story, &["test_retry", "useful"]);
    let third = pytest(&story, "locate", &few).exits(1);
    assert!(third.stdout.contains("what people do"), "{}", third.stdout);
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
fn no_answer_hides_a_failure_or_changes_how_a_run_ends() {
    let story = Story::of(FAILING);
    let run = |options: &str| {
        ["marka", "markb"].iter().for_each(|mark| drop(std::fs::remove_file(story.place().join(mark))));
        story.running(options, "python -m pytest").env("MARK", story.place().join("mark")).end()
    };
    let first = run("").exits(1);
    let flaky = ["test_it.py::test_a_flaky flaky-independent", "test_it.py::test_b_flaky flaky-independent"];
    assert_eq!(first.findings(), [flaky[0], flaky[1], "test_it.py::test_real real"]);
    let at = |text: &str, what: &str| text.find(what).unwrap_or_else(|| panic!("{what}\n{text}"));
    assert!(at(&first.stdout, "FLAKY  test_it.py::test_a") < at(&first.stdout, "FLAKY  test_it.py::test_b"));
    let id = |test: &str| first.finding(test)["id"].as_str().unwrap().to_owned();
    answer(&story, &[&id("test_it.py::test_a_flaky"), "not-useful"]);
    // A real failure is no matter of opinion.
    let refused = story.unflake(["answer", &id("test_it.py::test_real"), "not-useful"]).end().exits(2);
    assert!(refused.stderr.contains("nothing was found that is called"), "{}", refused.stderr);

    let second = run("").exits(1);
    assert_eq!(second.findings(), first.findings());
    let told = story.plain(&second.stdout);
    assert!(told.contains("REAL   test_it.py::test_real\n         failed"), "{told}");
    assert!(told.contains("FLAKY  test_it.py::test_a_flaky\n         you said not useful on"), "{told}");
    assert!(at(&told, "FLAKY  test_it.py::test_b") < at(&told, "FLAKY  test_it.py::test_a"), "after others\n{told}");
    let gating = run("--flaky-result fail").exits(1);
    assert!(!gating.stdout.contains("you said"), "what fails a run is told in full\n{}", gating.stdout);
}

#[test]
fn what_is_not_known_cannot_be_answered() {
    let story = shop();
    let nobody = story.unflake(["answer", "deadbeef", "not-useful"]).end().exits(2);
    assert!(nobody.stderr.contains("nothing was found that is called `deadbeef`"), "{}", nobody.stderr);
    pytest(&story, "locate", &["test_retry", "--runs", "20"]).exits(1);
    let undecided = story.unflake(["answer", "test_retry"]).end().exits(2);
    assert!(undecided.stderr.contains("not-useful"), "{}", undecided.stderr);
    story.unflake(["answer", "test_retry", "perhaps"]).end().exits(2);
}
