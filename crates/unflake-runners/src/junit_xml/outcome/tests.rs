//! Tests of `outcome`.

use super::*;

use crate::driver::test_result::TestResult;
use crate::process::spec::{ExitKind, ProcessEnd};

fn report(xml: &str) -> Vec<Reported> {
    report::read(xml.as_bytes()).unwrap().tests
}

fn end(exit: ExitKind) -> ProcessEnd {
    ProcessEnd { exit, stdout: "printed".to_owned(), stderr: String::new(), seconds: 1.0 }
}

/// How it ended, in words.
fn words(result: &TestResult) -> String {
    let message = result.failure.as_ref().map(|failure| format!(" {}", failure.message)).unwrap_or_default();
    format!("{:?}{message}", result.outcome)
}

fn alone(name: &str, xml: &str, exit: ExitKind) -> String {
    let one = ReportedTestName {
        suite: "s".to_owned(),
        classname: "c".to_owned(),
        name: name.to_owned(),
        file: None,
        line: None,
        nth: 0,
    };
    words(&judge_alone(&one, &report(xml), &end(exit), Path::new("/nowhere")))
}

const MIXED: &str = "<testsuite name='s'><testcase classname='c' name='good'/><testcase classname='c' name='left'><skipped/>\
    </testcase><testcase classname='c' name='here'><skipped message='no disk'/></testcase><testcase classname='c' name='bad'>\
    <failure message='1 is not 2' type='E'>trace</failure></testcase><testcase classname='d' name='other'/></testsuite>";
const GOOD: &str = "<testsuite name='s'><testcase classname='c' name='good'/></testsuite>";

#[test]
fn its_own_entry_decides() {
    assert_eq!(alone("good", GOOD, ExitKind::Exit(0)), "Passed");
    assert_eq!(alone("good", MIXED, ExitKind::Exit(1)), "Passed");
    assert_eq!(alone("bad", MIXED, ExitKind::Exit(1)), "Failed 1 is not 2");
    assert_eq!(alone("bad", MIXED, ExitKind::Exit(0)), "Failed 1 is not 2");
    assert_eq!(alone("here", MIXED, ExitKind::Exit(1)), "Skipped no disk");
}

#[test]
fn what_did_not_run_has_not_passed() {
    assert_eq!(
        alone("other", MIXED, ExitKind::Exit(0)),
        "Error it did not run: the report has 5 other tests, and the command exited with code 0"
    );
    assert_eq!(
        alone("left", MIXED, ExitKind::Exit(0)),
        "Error it did not run: the report has it as skipped, without a reason, and the command exited with code 0"
    );
    assert_eq!(
        alone("good", "<testsuites/>", ExitKind::Exit(5)),
        "Error it did not run: the report has no test at all, and the command exited with code 5"
    );
}

#[test]
fn an_exit_code_that_no_test_explains_is_not_a_pass() {
    assert_eq!(
        alone("good", GOOD, ExitKind::Exit(3)),
        "Error the report has no failed test, but the command exited with code 3"
    );
}

fn whole(xml: &str, exit: ExitKind) -> Vec<String> {
    judge_whole(&report(xml), &end(exit), Path::new("/nowhere")).iter().map(words).collect()
}

#[test]
fn the_whole_command_lists_all_its_tests() {
    let expected = ["Passed", "Skipped skipped", "Skipped no disk", "Failed 1 is not 2", "Passed"];
    assert_eq!(whole(MIXED, ExitKind::Exit(1)), expected);
    assert_eq!(whole(GOOD, ExitKind::Exit(0)), ["Passed"]);
}

#[test]
fn what_goes_wrong_outside_of_all_tests_is_not_lost() {
    assert_eq!(
        whole(GOOD, ExitKind::Exit(2)),
        ["Error the report has no failed test, but the command exited with code 2"]
    );
    assert_eq!(
        whole(MIXED, ExitKind::Signal(11))[4],
        "Crashed(Signal(11)) after its last test the command was killed by SIGSEGV"
    );
    let last = judge_whole(&report(GOOD), &end(ExitKind::Exit(2)), Path::new("/nowhere")).remove(0);
    // So that no later pass excuses it.
    assert_eq!(last.failure.unwrap().phase, Phase::SharedTearDown);
}

#[test]
fn trouble_outside_of_the_tests_of_a_suite_can_pass_too() {
    let bad = "<testsuite name='s'><testcase name='a'/><error message='late'/></testsuite>";
    let tests = report(bad);
    let known = known(tests.clone(), Path::new("/nowhere"));
    assert_eq!(known[1].id(), "s (outside of its tests)");
    let judge = |xml: &str, exit| words(&judge_alone(&known[1], &report(xml), &end(exit), Path::new("/nowhere")));
    assert_eq!(judge(bad, ExitKind::Exit(1)), "Failed late");
    assert_eq!(judge("<testsuite name='s'><testcase name='a'/></testsuite>", ExitKind::Exit(0)), "Passed");
    assert!(
        judge("<testsuite name='t'><testcase name='a'/></testsuite>", ExitKind::Exit(0))
            .starts_with("Error it did not run")
    );
}

#[test]
fn tests_with_the_same_name_are_distinguished_if_possible() {
    let two = "<testsuite><testcase name='a'/><testcase name='a'><failure message='x'/></testcase></testsuite>";
    let known = known(report(two), Path::new("/nowhere"));
    assert_eq!((known[0].nth, known[1].nth), (0, 1));
    assert_eq!((known[0].found_in(&report(two)), known[1].found_in(&report(two))), (Some(0), Some(1)));
    let fewer = report("<testsuite><testcase name='a'/></testsuite>");
    assert_eq!(known[1].found_in(&fewer), Some(0));
}

#[test]
fn names_and_files_are_made_of_what_the_report_has() {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("shop.test.js"), "").unwrap();
    let known = known(
        report(
            "<testsuite name='shop.test.js'><testcase name='a'/><testcase classname='com.Shop' name='b' file='S.java'/>\
             <testcase name=''/></testsuite>",
        ),
        place.path(),
    );
    let listed: Vec<(String, Option<&str>)> = known.iter().map(|one| (one.id(), one.file.as_deref())).collect();
    let file = Some("shop.test.js");
    let expected = [("shop.test.js a", file), ("com.Shop b", Some("S.java")), ("shop.test.js", file)];
    assert_eq!(listed, expected.map(|(id, file)| (id.to_owned(), file)));
}

#[test]
fn a_failure_without_a_message_shows_its_text() {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("shop_test.go"), "").unwrap();
    let trouble = JunitError {
        kind: String::new(),
        message: "Failed".to_owned(),
        text: "=== RUN   TestPrice\n    shop_test.go:12: got 2\n--- FAIL: TestPrice (0.00s)".to_owned(),
        is_error: false,
    };
    let failure = failure_of(&trouble, place.path());
    assert_eq!((failure.kind.as_str(), failure.message.as_str()), ("Failure", "shop_test.go:12: got 2"));
    assert_eq!((failure.file.as_deref(), failure.line), (Some("shop_test.go"), Some(12)));
    assert_eq!(
        failure_of(&JunitError::default(), place.path()).message,
        "the test failed, and the report has no message"
    );
    let trouble = JunitError { message: "failed on setup with \"OSError\"".to_owned(), ..JunitError::default() };
    assert_eq!(failure_of(&trouble, place.path()).phase, Phase::SetUp);
}

#[test]
fn a_report_from_before_is_not_taken_for_a_result() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("report.xml");
    std::fs::write(&path, GOOD).unwrap();
    let before = FileStamps::now(&path);
    let Err(why) = read_written(&before) else { panic!("it is old") };
    assert_eq!(
        no_report(&why, &before, "report.xml", &end(ExitKind::Exit(1))),
        "no report was written to `report.xml`; the existing one is older than this run. The command exited with code 1 \
         and printed:\nprinted"
    );
    std::thread::sleep(std::time::Duration::from_millis(20));
    std::fs::write(&path, &GOOD[..20]).unwrap();
    let Err(NoReport::Bad(why)) = read_written(&before) else { panic!("it is broken") };
    assert!(why.ends_with("report.xml` cannot be read: it is truncated"), "{why}");
}
