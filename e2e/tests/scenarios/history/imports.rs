//! `unflake history import`: what counts as the same test and the same report, and hostile files.

use std::fs;

use e2e::{Sandbox, flaky, python};

use super::report;

#[test]
fn imported_results_and_own_runs_share_test_ids() {
    let sandbox = flaky();
    let python = python().to_str().unwrap();
    let plain = sandbox.command(python).args(["-m", "pytest", "-q", "--junit-xml=plain.xml"]).output().unwrap();
    assert_eq!(plain.status.code(), Some(1));
    let printed = sandbox
        .unflake(["history", "import", "plain.xml", "--revision", "c0ffee00c0ffee00", "--branch", "main"])
        .finish()
        .expect_exit(0);
    assert!(printed.stdout.contains("1 report read, 2 results, 1 failed, 0 flaky"), "{}", printed.stdout);
    sandbox.run("", &format!("{python} -m pytest")).expect_exit(0);

    let printed = sandbox.unflake(["history", "show", "test_flaky"]).finish().expect_exit(0);
    let lines: Vec<&str> = printed.stdout.lines().collect();
    assert!(
        lines.iter().any(|line| line.contains("failed") && line.contains("c0ffee00") && line.contains("main")),
        "{}",
        printed.stdout
    );
    assert!(lines.iter().any(|line| line.contains("passed") && line.contains("suite")), "{}", printed.stdout);
    let known = sandbox.unflake(["history", "show", "test_"]).finish().expect_exit(0).stdout;
    let named = known.lines().filter(|line| line.trim_start().starts_with("test_it.py::"));
    assert_eq!(named.count(), 2, "{known}");
}

#[test]
fn importing_a_file_twice_adds_nothing() {
    let one = report(0, &[("test_a", true), ("test_b", false)]);
    let sandbox = Sandbox::new()
        .file("reports/one.xml", &one)
        .file("reports/deeper/two.xml", report(1, &[("test_a", true)]))
        .file("reports/notes.xml", "<notes/>")
        .file("copy.xml", &one);
    let printed = sandbox.unflake(["history", "import", "reports"]).finish().expect_exit(0);
    assert!(printed.stdout.contains("2 reports read, 3 results, 1 failed"), "{}", printed.stdout);
    let printed = sandbox
        .unflake(["history", "import", "reports", "copy.xml"])
        .env("GITHUB_ACTIONS", "true")
        .env("GITHUB_RUN_ID", "7")
        .finish()
        .expect_exit(0);
    assert!(printed.stdout.contains("0 reports read, 3 reports already imported"), "{}", printed.stdout);
}

/// Equal reports without a timestamp may be of different runs.
#[test]
fn reports_without_timestamps_are_distinguished_by_ci_run() {
    let sandbox = Sandbox::new().file("one.xml", "<testsuite name='s'><testcase name='a' classname='A'/></testsuite>");
    for (run, attempt, word) in [
        ("7", "1", "1 report read"),
        ("7", "1", "already imported"),
        ("7", "2", "1 report read"),
        ("8", "1", "1 report read"),
    ] {
        let call =
            sandbox.unflake(["history", "import", "one.xml"]).env("GITHUB_ACTIONS", "true").env("GITHUB_RUN_ID", run);
        let printed = call.env("GITHUB_RUN_ATTEMPT", attempt).finish().expect_exit(0);
        assert!(printed.stdout.contains(word), "{run} {attempt}: {}", printed.stdout);
    }
}

#[test]
fn broken_and_hostile_reports_are_rejected_safely() {
    let whole = report(0, &[("test_a", true), ("test_b", false), ("test_c", true)]);
    let mut bomb = String::from("<!DOCTYPE t [<!ENTITY a0 \"ha\">");
    (1..40).for_each(|n| bomb += &format!("<!ENTITY a{n} \"&a{};&a{};&a{};\">", n - 1, n - 1, n - 1));
    bomb += "]><testsuite name='&a39;'><testcase name='b &a39;' classname='&a39;'><failure>&a39;</failure></testcase></testsuite>";
    let sandbox = Sandbox::new()
        .file("cut.xml", &whole[..whole.len() - 60])
        .file("bomb.xml", bomb)
        .file("deep.xml", "<testsuite>".repeat(1_000_000))
        .file("wide.xml", format!("<testsuite><testcase name='{}'/></testsuite>", "x".repeat(3 << 20)))
        .file("nested.json", format!("{{\"results\":{}", "[".repeat(1_000_000)))
        .file("binary.xml", [b"<testsuite>".as_slice(), &[0, 255, 60, 60, 60]].concat())
        .file("empty.xml", "")
        .file("escape.xml", "<testsuite><testcase name='&#27;[31m::error::x\u{7}'><failure message='&#27;]0;x'/></testcase></testsuite>");
    let printed = sandbox.unflake(["history", "import", "cut.xml"]).finish().expect_exit(3);
    assert!(
        printed.stdout.contains("PARTIAL") && printed.stdout.contains("earlier results are imported"),
        "{}",
        printed.stdout
    );
    assert!(printed.stdout.contains("2 results, 1 failed"), "{}", printed.stdout);
    sandbox.unflake(["history", "import", "bomb.xml"]).finish().expect_exit(0);
    for (file, why) in [
        ("deep.xml", "more than 64 elements"),
        ("wide.xml", "longer than 1024 KiB"),
        ("nested.json", ""),
        ("binary.xml", ""),
    ] {
        let printed = sandbox.unflake(["history", "import", file]).finish().expect_exit(3);
        assert!(printed.stdout.contains(why), "{}", printed.stdout);
    }
    for file in ["empty.xml", "missing.xml"] {
        sandbox.unflake(["history", "import", "--quiet", file]).finish().expect_exit(2);
    }
    let printed = sandbox.unflake(["history", "import", "escape.xml"]).finish();
    assert!(!printed.stdout.contains('\u{1b}'), "{:?}", printed.stdout);
    let printed = sandbox.unflake(["history", "score", "--all"]).finish().expect_exit(0);
    assert!(!printed.stdout.contains('\u{1b}') && !printed.stdout.contains('\u{7}'), "{:?}", printed.stdout);
    assert!(fs::metadata(sandbox.project().join(".unflake/history.db")).unwrap().len() < 1 << 20);
}
