//! `unflake locate`: crashes, and tests that never fail or always fail. What it must find is in the
//! specimens of `specimens/divergence`.

use e2e::{RunOutput, Sandbox};

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

fn locate(sandbox: &Sandbox, options: &[&str]) -> RunOutput {
    sandbox.unflake(["locate"]).json().args(options).args(["--", "python", "-m", "pytest"]).finish()
}

#[test]
fn a_crashed_run_counts_as_failing_with_its_trace() {
    let sandbox = Sandbox::with_tests(DIES);
    let result = locate(&sandbox, &["by_chance"]).expect_exit(1);
    let finding = result.finding("test_it.py::test_by_chance");
    assert_eq!(finding["kind"], "randomness");
    let first = &finding["locations"][0];
    assert_eq!((&first["file"], &first["line"]), (&"test_it.py".into(), &4.into()), "{finding:#}");
    assert_eq!(finding["shows"]["line"], 8);
    let reports: Vec<_> = std::fs::read_dir(sandbox.project().join(".unflake/reports")).unwrap().collect();
    let [Ok(report)] = &reports[..] else { panic!("{reports:?}") };
    assert!(report.file_name().to_string_lossy().starts_with("test_by_chance-"), "{report:?}");
    let page = std::fs::read_to_string(report.path()).unwrap();
    assert!(page.contains("random.randrange"), "{page}");

    // Without a test it takes the one that was flaky most recently.
    let again = locate(&sandbox, &[]).expect_exit(1);
    assert_eq!(again.list("findings")[0]["test"], "test_it.py::test_by_chance");
}

#[test]
fn runs_that_all_pass_or_all_fail_have_no_divergence() {
    let sandbox = Sandbox::with_tests(DIES);
    let passed = locate(&sandbox, &["test_passes", "--runs", "5", "--max-runs", "6"]).expect_exit(0);
    assert!(passed.list("findings").is_empty());
    assert!(passed.json()["exit"]["meaning"].as_str().unwrap().contains("6 of 6 runs passed"), "{}", passed.json());
    let failed = locate(&sandbox, &["test_fails", "--runs", "5", "--max-runs", "6"]).expect_exit(1);
    assert!(
        failed.json()["exit"]["meaning"].as_str().unwrap().contains("6 of 6 traced runs failed"),
        "{}",
        failed.json()
    );
    let ambiguous = sandbox.unflake(["locate", "test_", "--", "python", "-m", "pytest"]).finish().expect_exit(2);
    assert!(ambiguous.stderr.contains("3 tests have `test_` in their names"), "{}", ambiguous.stderr);
}
