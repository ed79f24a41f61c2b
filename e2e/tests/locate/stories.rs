//! What else can happen to somebody who asks where a test starts to fail.

use e2e::{Ran, Story};

const DIES: &str = "\
import os, random

def pick():
    return random.randrange(10)

def act(number):
    if number < 4:
        os.abort()
    return number

def test_by_chance():
    assert act(pick()) >= 4

def test_passes():
    pass

def test_fails():
    assert not pick.__name__
";

fn locate(story: &Story, options: &[&str]) -> Ran {
    let found = story.place().join("found.json");
    story.unflake(["locate", "--json"]).arg(found).args(options).args(["--", "python", "-m", "pytest"]).end()
}

#[test]
fn a_run_that_crashed_is_a_failing_run_with_its_trace() {
    let story = Story::of(DIES);
    let ran = locate(&story, &["by_chance"]).exits(1);
    let finding = ran.finding("test_it.py::test_by_chance");
    assert_eq!(finding["kind"], "randomness");
    let first = &finding["locations"][0];
    assert_eq!((&first["file"], &first["line"]), (&"test_it.py".into(), &4.into()), "{finding:#}");
    assert_eq!(finding["shows"]["line"], 8);
    let page = std::fs::read_to_string(story.project().join(".unflake/reports/test_by_chance.html")).unwrap();
    assert!(page.contains("random.randrange"), "{page}");

    // Without a test it is the one that was flaky lately.
    let again = locate(&story, &[]).exits(1);
    assert_eq!(again.list("findings")[0]["test"], "test_it.py::test_by_chance");
}

#[test]
fn where_nothing_can_be_compared_that_is_said() {
    let story = Story::of(DIES);
    let passed = locate(&story, &["test_passes", "--runs", "5", "--most", "6"]).exits(0);
    assert!(passed.list("findings").is_empty());
    assert!(
        passed.json()["exit"]["meaning"].as_str().unwrap().starts_with("passed in all 6 runs"),
        "{}",
        passed.json()
    );
    let failed = locate(&story, &["test_fails", "--runs", "5", "--most", "6"]).exits(1);
    assert!(
        failed.json()["exit"]["meaning"].as_str().unwrap().starts_with("failed in all 6 runs"),
        "{}",
        failed.json()
    );
    let nobody = story.unflake(["locate", "test_", "--", "python", "-m", "pytest"]).end().exits(2);
    assert!(nobody.stderr.contains("3 tests have `test_` in their names"), "{}", nobody.stderr);
}
