//! The summary of a run on a terminal.

use insta::assert_snapshot;
use unflake_model::{Attempt, Death, Failure, Outcome, Phase, Problem, ProblemKind, TestId, VerdictKind};

use unflake_report::TerminalStyle;

use crate::samples::*;

fn killed(id: &str, outcome: Outcome, seconds: f64, message: &str, trace: &str) -> Attempt {
    let failure = Failure {
        phase: Phase::Process,
        kind: String::new(),
        message: message.into(),
        trace: trace.into(),
        file: None,
        line: None,
    };
    Attempt { seconds, failure: Some(failure), ..attempt(id, outcome) }
}

#[test]
fn all_passed() {
    assert_snapshot!(Sample::new(0, "all tests passed").passing(909).summary(&WIDE, false));
}

#[test]
fn one_real_failure_and_two_kinds_of_flaky() {
    assert_snapshot!(mixed().summary(&WIDE, false));
}

#[test]
fn the_same_narrow() {
    assert_snapshot!(mixed().summary(&NARROW, false));
}

#[test]
fn the_same_in_ascii() {
    assert_snapshot!(mixed().summary(&ASCII, false));
}

#[test]
fn the_same_in_colour() {
    assert_snapshot!(mixed().summary(&COLOUR, false).replace('\x1b', "ESC"));
}

#[test]
fn the_same_quiet() {
    assert_snapshot!(mixed().summary(&WIDE, true));
}

#[test]
fn quiet_shows_flaky_tests_only_if_they_gate() {
    assert_eq!(Sample::new(0, "all tests passed").passing(3).summary(&WIDE, true), "3 tests, all passed, 14.2 s\n");
    let mut sample = mixed();
    sample.flaky_gates = true;
    assert!(sample.summary(&WIDE, true).contains("FLAKY"));
}

#[test]
fn a_crash() {
    let trace = "Fatal Python error: Segmentation fault\n\nCurrent thread 0x00007f (most recent call first):\n  File \
                 \"shop/fast.py\", line 88 in blend\n  File \"tests/test_image.py\", line 9 in test_blend";
    let id = "tests/test_image.py::test_blend";
    let crash = killed(id, Outcome::Crashed(Death::Signal(11)), 0.1, "killed by SIGSEGV", trace);
    let sentence = "crashed (killed by SIGSEGV) in 1 of 2 attempts; a crash is never excused by a later pass";
    let sample = Sample::new(1, "1 real failure")
        .passing(3)
        .with(id, [crash, attempt(id, Outcome::Passed)])
        .found(finding(id, VerdictKind::Real, None, sentence));
    assert_snapshot!(sample.summary(&WIDE, false));
}

#[test]
fn a_timeout() {
    let id = "tests/test_lock.py::test_both";
    let trace: String = (1..=30).map(|line| format!("  File \"shop/lock.py\", line {line} in acquire\n")).collect();
    let slow = || killed(id, Outcome::TimedOut, 60.0, "", &trace);
    let sample = Sample::new(1, "1 real failure").passing(3).with(id, [slow(), slow()]).found(finding(
        id,
        VerdictKind::Real,
        None,
        "timed out in 2 of 2 attempts",
    ));
    assert_snapshot!(sample.summary(&WIDE, false));
}

#[test]
fn a_failing_setup() {
    let id = "tests/test_db.py::test_rows";
    let mut error = failing(id, "OperationalError", "could not connect to server: Connection refused");
    error.outcome = Outcome::Error;
    error.failure.as_mut().unwrap().phase = Phase::SetUp;
    let sample = Sample::new(1, "1 real failure").passing(3).with(id, [error]).found(real(id));
    assert_snapshot!(sample.summary(&WIDE, false));
}

#[test]
fn a_file_that_cannot_be_loaded() {
    let mut sample = Sample::new(3, "a file of tests could not be loaded").passing(40);
    sample.problems = vec![collection_error()];
    sample.deselected = 12;
    assert_snapshot!(sample.summary(&WIDE, false));
}

#[test]
fn a_runner_that_does_not_start() {
    let mut sample = Sample::new(4, "the runner did not accept its command line");
    sample.totals.seconds = 0.31;
    sample.problems = vec![Problem {
        kind: ProblemKind::Usage,
        place: None,
        text: "ERROR: usage: pytest [options] [file_or_dir]\npytest: error: unrecognized arguments: --nope".into(),
    }];
    assert_snapshot!(sample.summary(&WIDE, false));
}

#[test]
fn a_runner_that_ends_early() {
    let mut sample = Sample::new(4, "the tests could not run");
    sample.problems = vec![Problem {
        kind: ProblemKind::Start,
        place: None,
        text: "the runner exited before it listed its tests (the process exited with code 1)\nNo module named pytest"
            .into(),
    }];
    assert_snapshot!(sample.summary(&WIDE, false));
}

#[test]
fn no_tests() {
    let mut sample = Sample::new(5, "no tests found");
    sample.deselected = 12;
    assert_snapshot!(sample.summary(&WIDE, false));
}

#[test]
fn stopped_in_the_middle() {
    let mut sample = Sample::new(130, "interrupted")
        .passing(412)
        .with(TOTAL, [failing(TOTAL, "AssertionError", "assert 9.89 == 9.90")]);
    for at in 0..496 {
        let id = format!("tests/test_later.py::test_{at}");
        sample.list(&id);
        sample.left.push(TestId::new(id));
    }
    sample.left_why = Some("the run was stopped".into());
    sample.totals.interrupted = true;
    assert_snapshot!(sample.summary(&WIDE, false));
}

#[test]
fn tests_that_could_not_be_run() {
    let mut sample = Sample::new(6, "2 tests were not run").passing(3);
    for id in [COLD, RETRY] {
        sample.list(id);
        sample.left.push(TestId::new(id));
    }
    sample.left_why = Some("the environment could not be replaced after a crash".into());
    sample.notes = vec![
        "reruns at the end were left out: 31 of 909 tests failed, more than 1 %".into(),
        "forking is unsafe here (3 threads are alive); fresh environments are new processes".into(),
    ];
    assert_snapshot!(sample.summary(&WIDE, false));
}

#[test]
fn many_failures() {
    let mut sample = Sample::new(1, "23 real failures").passing(100);
    for at in 0..23 {
        let id = format!("tests/test_api.py::test_{at}");
        let message = if at == 0 { "x\n".repeat(50) } else { format!("assert {at} == 200") };
        sample = sample.with(&id, [failing(&id, "AssertionError", &message)]).found(real(&id));
    }
    assert_snapshot!(sample.summary(&WIDE, false));
}

#[test]
fn a_failure_of_several_kinds() {
    let sample = Sample::new(1, "1 real failure")
        .passing(3)
        .with(
            RETRY,
            [
                failing(RETRY, "TimeoutError", "gave up after 2 s"),
                failing(RETRY, "ConnectionError", "refused\n  by 127.0.0.1"),
                failing(RETRY, "TimeoutError", "gave up after 2.1 s"),
            ],
        )
        .found(real(RETRY));
    assert_snapshot!(sample.summary(&WIDE, false));
}

#[test]
fn a_megabyte_of_text_is_shown_in_a_few_lines() {
    let mut attempt = failing(TOTAL, "AssertionError", &"x".repeat(1 << 20));
    attempt.stdout = "y\n".repeat(1 << 20);
    let mut sample = Sample::new(1, "1 real failure").with(TOTAL, [attempt]).found(real(TOTAL));
    sample.problems = vec![Problem { text: "z ".repeat(1 << 20), ..collection_error() }];
    for style in [WIDE, TerminalStyle { width: usize::MAX, ..WIDE }] {
        let page = sample.summary(&style, false);
        assert!(page.lines().count() < 50 && page.len() < 10_000, "{page}");
        assert!(page.contains("1048566 lines left out"), "{page}");
    }
}

#[test]
fn hostile_text() {
    let id = "tests/test_evil.py::test_a[\x1b[2J\n::set-env name=PATH::/evil]";
    let message = "::error file=a.py::fooled\n##[add-mask]x\n\x1b[31mred\x1b[0m \x1b]0;title\x07 user\u{202e}txt.exe";
    let sample = Sample::new(1, "1 real failure").with(id, [failing(id, "::warning::Error", message)]).found(real(id));
    assert_snapshot!(sample.summary(&NARROW, false));
}
