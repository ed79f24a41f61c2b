use std::fs;

use e2e::{Story, flaky, python};

use crate::report;

/// What pytest itself writes and what unflake sees of the same tests is the history of the same tests.
#[test]
fn results_of_the_plain_runner_and_of_ours_are_of_one_test() {
    let story = flaky();
    let python = python().to_str().unwrap();
    let plain = story.command(python).args(["-m", "pytest", "-q", "--junit-xml=plain.xml"]).output().unwrap();
    assert_eq!(plain.status.code(), Some(1));
    let said =
        story.unflake(["import", "plain.xml", "--revision", "c0ffee00c0ffee00", "--branch", "main"]).end().exits(0);
    assert!(said.stdout.contains("1 report read · 2 results · 1 failed · 0 flaky"), "{}", said.stdout);
    story.run("", &format!("{python} -m pytest")).exits(0);

    let said = story.unflake(["history", "test_flaky"]).end().exits(0);
    let lines: Vec<&str> = said.stdout.lines().collect();
    assert!(
        lines.iter().any(|line| line.contains("failed") && line.contains("c0ffee00") && line.contains("main")),
        "{}",
        said.stdout
    );
    assert!(lines.iter().any(|line| line.contains("passed") && line.contains("suite")), "{}", said.stdout);
    let known = story.unflake(["history", "test_"]).end().exits(0).stdout;
    assert_eq!(known.matches("test_it.py::").count(), 2, "{known}");
}

#[test]
fn the_same_file_adds_nothing_and_another_does() {
    let one = report(0, &[("test_a", true), ("test_b", false)]);
    let story = Story::new()
        .with("reports/one.xml", &one)
        .with("reports/deeper/two.xml", report(1, &[("test_a", true)]))
        .with("reports/notes.xml", "<notes/>")
        .with("copy.xml", &one);
    let said = story.unflake(["import", "reports"]).end().exits(0);
    assert!(said.stdout.contains("2 reports read · 3 results · 1 failed"), "{}", said.stdout);
    let said = story
        .unflake(["import", "reports", "copy.xml"])
        .env("GITHUB_ACTIONS", "true")
        .env("GITHUB_RUN_ID", "7")
        .end()
        .exits(0);
    assert!(said.stdout.contains("0 reports read · 3 reports known already"), "{}", said.stdout);
}

/// A report without a time may be that of another run in which everything went alike.
#[test]
fn reports_that_do_not_say_when_are_told_apart_by_the_run() {
    let story = Story::new().with("one.xml", "<testsuite name='s'><testcase name='a' classname='A'/></testsuite>");
    for (run, attempt, word) in [
        ("7", "1", "1 report read"),
        ("7", "1", "known already"),
        ("7", "2", "1 report read"),
        ("8", "1", "1 report read"),
    ] {
        let call = story.unflake(["import", "one.xml"]).env("GITHUB_ACTIONS", "true").env("GITHUB_RUN_ID", run);
        let said = call.env("GITHUB_RUN_ATTEMPT", attempt).end().exits(0);
        assert!(said.stdout.contains(word), "{run} {attempt}: {}", said.stdout);
    }
}

#[test]
fn what_is_broken_or_means_harm_is_told_and_harms_nobody() {
    let whole = report(0, &[("test_a", true), ("test_b", false), ("test_c", true)]);
    let mut bomb = String::from("<!DOCTYPE t [<!ENTITY a0 \"ha\">");
    (1..40).for_each(|n| bomb += &format!("<!ENTITY a{n} \"&a{};&a{};&a{};\">", n - 1, n - 1, n - 1));
    bomb += "]><testsuite name='&a39;'><testcase name='b &a39;' classname='&a39;'><failure>&a39;</failure></testcase></testsuite>";
    let story = Story::new()
        .with("cut.xml", &whole[..whole.len() - 60])
        .with("bomb.xml", bomb)
        .with("deep.xml", "<testsuite>".repeat(1_000_000))
        .with("wide.xml", format!("<testsuite><testcase name='{}'/></testsuite>", "x".repeat(3 << 20)))
        .with("nested.json", format!("{{\"results\":{}", "[".repeat(1_000_000)))
        .with("binary.xml", [b"<testsuite>".as_slice(), &[0, 255, 60, 60, 60]].concat())
        .with("empty.xml", "")
        .with("escape.xml", "<testsuite><testcase name='&#27;[31m::error::x\u{7}'><failure message='&#27;]0;x'/></testcase></testsuite>");
    let said = story.unflake(["import", "cut.xml"]).end().exits(3);
    assert!(said.stdout.contains("CUT") && said.stdout.contains("what stands before is kept"), "{}", said.stdout);
    assert!(said.stdout.contains("2 results · 1 failed"), "{}", said.stdout);
    story.unflake(["import", "bomb.xml"]).end().exits(0);
    for (file, why) in [
        ("deep.xml", "more than 64 elements"),
        ("wide.xml", "longer than 1024 KiB"),
        ("nested.json", ""),
        ("binary.xml", ""),
    ] {
        let said = story.unflake(["import", file]).end().exits(3);
        assert!(said.stdout.contains(why), "{}", said.stdout);
    }
    for file in ["empty.xml", "missing.xml"] {
        story.unflake(["import", "--quiet", file]).end().exits(2);
    }
    let said = story.unflake(["import", "escape.xml"]).end();
    assert!(!said.stdout.contains('\u{1b}'), "{:?}", said.stdout);
    let said = story.unflake(["score", "--all"]).end().exits(0);
    assert!(!said.stdout.contains('\u{1b}') && !said.stdout.contains('\u{7}'), "{:?}", said.stdout);
    assert!(fs::metadata(story.project().join(".unflake/history.db")).unwrap().len() < 1 << 20);
}
