//! Failures that are set apart: only those that are named, only until their last day, and never out of sight.

use std::fs;

use e2e::{Ran, Story, shop};

const FAILING: &str = "tests/test_shop.py::test_two";

/// A project whose one failing test has been seen to fail, and is in quarantine.
fn in_quarantine(more: &[&str]) -> Story {
    let story = shop();
    story.run("", "python -m pytest").exits(1);
    let words =
        ["quarantine", "add", FAILING, "--reason", "rounding, see the issue", "--owner", "@ada", "--issue", "#12"];
    let ran = story.unflake(words.iter().chain(more)).end().exits(0);
    assert!(ran.stdout.contains("is in quarantine until"), "{}", ran.stdout);
    story
}

fn file(story: &Story) -> String {
    fs::read_to_string(story.project().join(".unflake/quarantine.toml")).expect("the file is there")
}

fn rewrite(story: &Story, change: impl Fn(&str) -> String) {
    fs::write(story.project().join(".unflake/quarantine.toml"), change(&file(story))).expect("written");
}

/// The quarantine of a run, by test and what it came to.
fn standings(ran: &Ran) -> Vec<String> {
    ran.list("quarantine").iter().map(|one| format!("{} {}", one["id"], one["standing"]).replace('"', "")).collect()
}

#[test]
fn a_failure_in_quarantine_is_run_shown_and_excused() {
    let story = in_quarantine(&[]);
    let ran = story.run("--junit junit.xml", "python -m pytest").exits(0);
    assert_eq!(standings(&ran), [format!("{FAILING} excused")]);
    assert_eq!(ran.findings(), [format!("{FAILING} real")], "what it is stays as it is");
    let told = story.plain(&ran.stdout);
    assert!(told.contains("3 tests · 1 in quarantine failed"), "{told}");
    assert!(told.contains("fails as foretold, and is excused until"), "{told}");
    assert!(told.contains("rounding, see the issue (@ada, #12)"), "{told}");
    assert!(told.contains("assert 2 == 3"), "{told}");
    assert!(told.trim_end().ends_with("exit 0: only one failure that is in quarantine"), "{told}");
    let junit = fs::read_to_string(story.project().join("junit.xml")).expect("a report");
    assert!(junit.contains("failures=\"0\" errors=\"0\" skipped=\"1\""), "{junit}");
    assert!(junit.contains("type=\"quarantine\""), "{junit}");
}

#[test]
fn another_failure_of_the_same_test_counts() {
    let story = in_quarantine(&[]).with("shop.py", "def price(n):\n    raise LookupError('no such price')\n");
    let ran = story.run("", "python -m pytest").exits(1);
    assert_eq!(standings(&ran), [format!("{FAILING} failed-otherwise")]);
    assert!(
        story.plain(&ran.stdout).contains("is in quarantine, but for another failure than it has now"),
        "{}",
        ran.stdout
    );
}

#[test]
fn after_its_last_day_it_counts_again() {
    let story = in_quarantine(&["--days", "3"]);
    rewrite(&story, |text| {
        let dated = |line: &str| match line.split(' ').next() {
            Some("added") => "added = \"2025-01-01\"".to_owned(),
            Some("expires") => "expires = \"2025-01-04\"".to_owned(),
            _ => line.to_owned(),
        };
        text.lines().map(dated).collect::<Vec<_>>().join("\n")
    });
    let ran = story.run("", "python -m pytest").exits(1);
    assert_eq!(standings(&ran), [format!("{FAILING} expired")]);
    assert!(story.plain(&ran.stdout).contains("was over on 2025-01-04: it counts again"), "{}", ran.stdout);
    let listed = story.unflake(["quarantine"]).end().exits(0);
    assert!(listed.stdout.contains("was over on 2025-01-04"), "{}", listed.stdout);
}

#[test]
fn what_is_to_be_skipped_does_not_run_and_is_said() {
    let story = in_quarantine(&["--skip"]);
    let ran = story.run("--junit junit.xml", "python -m pytest").exits(0);
    assert_eq!(ran.attempts().len(), 2);
    assert_eq!(standings(&ran), [format!("{FAILING} left-out")]);
    assert!(story.plain(&ran.stdout).contains("was left out: rounding"), "{}", ran.stdout);
    let junit = fs::read_to_string(story.project().join("junit.xml")).expect("a report");
    assert!(junit.contains("type=\"quarantine\""), "{junit}");
}

#[test]
fn a_file_that_cannot_be_trusted_stops_the_run() {
    let story = in_quarantine(&[]);
    rewrite(&story, |text| text.replace("owner = \"@ada\"", "owner = \"\""));
    let ran = story.run("", "python -m pytest").exits(2);
    assert!(ran.stderr.contains("its owner is empty"), "{}", ran.stderr);
}

#[test]
fn only_what_was_seen_to_fail_can_be_set_apart() {
    let story = shop();
    story.run("", "python -m pytest").exits(1);
    let words = ["quarantine", "add", "tests/test_shop.py::test_one", "--reason", "why not", "--owner", "@ada"];
    let ran = story.unflake(words).end().exits(2);
    assert!(ran.stderr.contains("knows no failure"), "{}", ran.stderr);
    let longer = ["quarantine", "add", FAILING, "--reason", "why not", "--owner", "@ada", "--days", "90"];
    assert!(story.unflake(longer).end().exits(2).stderr.contains("1 to 30 days"));
}

#[test]
fn the_file_is_for_git_and_the_history_is_not() {
    let story = in_quarantine(&[]);
    let git = |words: &str| {
        let done = story.command("git").args(words.split(' ')).output().expect("git runs");
        String::from_utf8_lossy(&done.stdout).into_owned()
    };
    git("init -q");
    git("add .unflake");
    assert_eq!(git("ls-files .unflake"), ".unflake/quarantine.toml\n");
    story.unflake(["quarantine", "remove", FAILING]).end().exits(0);
    story.run("", "python -m pytest").exits(1);
}
