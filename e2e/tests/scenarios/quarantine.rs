//! `unflake quarantine`: only named failures are excused, only until they expire, and they stay
//! visible.

use std::fs;

use e2e::{RunOutput, Sandbox, python, shop};

const FAILING: &str = "tests/test_shop.py::test_two";

/// A project with one failing test, which is in quarantine.
fn in_quarantine(more: &[&str]) -> Sandbox {
    let sandbox = shop();
    sandbox.run("", "python -m pytest").expect_exit(1);
    let words =
        ["quarantine", "add", FAILING, "--reason", "rounding, see the issue", "--owner", "@ada", "--issue", "#12"];
    let result = sandbox.unflake(words.iter().chain(more)).finish().expect_exit(0);
    assert!(result.stdout.contains("is in quarantine until"), "{}", result.stdout);
    sandbox
}

fn file(sandbox: &Sandbox) -> String {
    fs::read_to_string(sandbox.project().join(".unflake/quarantine.toml")).expect("the file is there")
}

fn rewrite(sandbox: &Sandbox, change: impl Fn(&str) -> String) {
    fs::write(sandbox.project().join(".unflake/quarantine.toml"), change(&file(sandbox))).expect("written");
}

/// The quarantine entries of a run, as `test standing`.
fn standings(result: &RunOutput) -> Vec<String> {
    result.list("quarantine").iter().map(|one| format!("{} {}", one["id"], one["standing"]).replace('"', "")).collect()
}

#[test]
fn a_quarantined_failure_runs_and_is_excused() {
    let sandbox = in_quarantine(&[]);
    let result = sandbox.run("--junit junit.xml", "python -m pytest").expect_exit(0);
    assert_eq!(standings(&result), [format!("{FAILING} excused")]);
    assert_eq!(result.findings(), [format!("{FAILING} real")], "the verdict does not change");
    let reported = sandbox.redact(&result.stdout);
    assert!(reported.contains("3 tests, 1 quarantined"), "{reported}");
    assert!(reported.contains("fails as expected, excused until"), "{reported}");
    assert!(reported.contains("rounding, see the issue (@ada, #12)"), "{reported}");
    assert!(reported.contains("assert 2 == 3"), "{reported}");
    assert!(reported.trim_end().ends_with("exit 0: no failure but 1 in quarantine"), "{reported}");
    let junit = fs::read_to_string(sandbox.project().join("junit.xml")).expect("a report");
    assert!(junit.contains("failures=\"0\" errors=\"0\" skipped=\"1\""), "{junit}");
    assert!(junit.contains("type=\"quarantine\""), "{junit}");
}

#[test]
fn another_failure_of_the_same_test_counts() {
    let sandbox = in_quarantine(&[]).file("shop.py", "def price(n):\n    raise LookupError('no such price')\n");
    let result = sandbox.run("", "python -m pytest").expect_exit(1);
    assert_eq!(standings(&result), [format!("{FAILING} failed-otherwise")]);
    assert!(sandbox.redact(&result.stdout).contains("is in quarantine for another failure"), "{}", result.stdout);
}

#[test]
fn an_expired_quarantine_counts_again() {
    let sandbox = in_quarantine(&["--days", "3"]);
    rewrite(&sandbox, |text| {
        let dated = |line: &str| match line.split(' ').next() {
            Some("added") => "added = \"2025-01-01\"".to_owned(),
            Some("expires") => "expires = \"2025-01-04\"".to_owned(),
            _ => line.to_owned(),
        };
        text.lines().map(dated).collect::<Vec<_>>().join("\n")
    });
    let result = sandbox.run("", "python -m pytest").expect_exit(1);
    assert_eq!(standings(&result), [format!("{FAILING} expired")]);
    assert!(sandbox.redact(&result.stdout).contains("expired on 2025-01-04: its failures count"), "{}", result.stdout);
    let listed = sandbox.unflake(["quarantine", "list"]).finish().expect_exit(0);
    assert!(listed.stdout.contains("expired on 2025-01-04"), "{}", listed.stdout);
}

#[test]
fn a_skipped_quarantined_test_does_not_run() {
    let sandbox = in_quarantine(&["--skip"]);
    let result = sandbox.run("--junit junit.xml", "python -m pytest").expect_exit(0);
    assert_eq!(result.attempts().len(), 2);
    assert_eq!(standings(&result), [format!("{FAILING} left-out")]);
    assert!(sandbox.redact(&result.stdout).contains("was skipped: rounding"), "{}", result.stdout);
    let junit = fs::read_to_string(sandbox.project().join("junit.xml")).expect("a report");
    assert!(junit.contains("type=\"quarantine\""), "{junit}");
}

#[test]
fn an_invalid_quarantine_file_stops_the_run() {
    let sandbox = in_quarantine(&[]);
    rewrite(&sandbox, |text| text.replace("owner = \"@ada\"", "owner = \"\""));
    let result = sandbox.run("", "python -m pytest").expect_exit(2);
    assert!(result.stderr.contains("its owner is empty"), "{}", result.stderr);
}

#[test]
fn only_observed_failures_can_be_quarantined() {
    let sandbox = shop();
    sandbox.run("", "python -m pytest").expect_exit(1);
    let words = ["quarantine", "add", "tests/test_shop.py::test_one", "--reason", "why not", "--owner", "@ada"];
    let result = sandbox.unflake(words).finish().expect_exit(2);
    assert!(result.stderr.contains("no failure of"), "{}", result.stderr);
    let longer = ["quarantine", "add", FAILING, "--reason", "why not", "--owner", "@ada", "--days", "90"];
    assert!(sandbox.unflake(longer).finish().expect_exit(2).stderr.contains("1 to 30 days"));
}

#[test]
fn an_imported_failure_can_be_quarantined() {
    let sandbox = shop();
    let plain = sandbox.command(python()).args(["-m", "pytest", "--junit-xml=report.xml"]).output().expect("it starts");
    assert_eq!(plain.status.code(), Some(1));
    sandbox.unflake(["history", "import", "report.xml"]).finish().expect_exit(0);
    let words = ["quarantine", "add", FAILING, "--reason", "rounding", "--owner", "@ada"];
    sandbox.unflake(words).finish().expect_exit(0);
    let result = sandbox.run("", "python -m pytest").expect_exit(0);
    assert_eq!(standings(&result), [format!("{FAILING} excused")]);

    let sandbox = sandbox.file("shop.py", "def price(n):\n    raise LookupError('no such price')\n");
    let result = sandbox.run("", "python -m pytest").expect_exit(1);
    assert_eq!(standings(&result), [format!("{FAILING} failed-otherwise")]);
}

#[test]
fn git_tracks_the_quarantine_and_not_the_history() {
    let sandbox = in_quarantine(&[]);
    sandbox.git(&["init", "-q"]);
    sandbox.git(&["add", ".unflake"]);
    assert_eq!(sandbox.git(&["ls-files", ".unflake"]), ".unflake/quarantine.toml");
    sandbox.unflake(["quarantine", "remove", FAILING]).finish().expect_exit(0);
    sandbox.run("", "python -m pytest").expect_exit(1);
}
