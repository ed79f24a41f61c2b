//! JUnit XML with every attempt in it, as Surefire writes reruns and as CI systems read them.
//!
//! | what happened | elements of its `<testcase>` |
//! |---|---|
//! | passed | none |
//! | failed, passed later | `flakyFailure` or `flakyError` for every failing attempt |
//! | never passed | `failure` or `error` for the first attempt, `rerunFailure` or `rerunError` for the others |
//! | failed, passed later, and counts as failed | `failure` or `error`, and `flaky…` for every failing attempt |
//! | skipped, or planned and not run | `skipped` |
//!
//! The last but one is a flaky test where flaky tests gate, or a failure that no later pass excuses, such as a crash.
//! There the first attempt appears twice: most readers know `failure` alone and shall see its text, and those that know
//! `flaky…` take its presence for "has passed". Hence also: never `flaky…` and `rerun…` in one `<testcase>`.

use std::io::{self, Write};
use std::time::Duration;

use quick_junit::{FlakyOrRerun, NonSuccessKind, Property, Report, TestCase, TestCaseStatus, TestRerun, TestSuite};
use unflake_model::{Attempt, Outcome, Problem};

use crate::Run;
use crate::cases::{Case, Cases};
use crate::summary::problem_in_words;

/// Writes the run as JUnit XML.
pub fn junit(run: &Run, out: &mut dyn Write) -> io::Result<()> {
    let mut report = Report::new("unflake");
    report.set_time(duration(run.totals.seconds));
    report.add_test_suite(tests(run));
    if !run.problems.is_empty() {
        let mut suite = TestSuite::new("problems");
        suite.add_test_cases(run.problems.iter().map(problem));
        report.add_test_suite(suite);
    }
    report.serialize(out).map_err(io::Error::other)
}

fn tests(run: &Run) -> TestSuite {
    let mut suite = TestSuite::new("tests");
    suite.set_time(duration(run.totals.seconds));
    let properties = [
        ("command", Some(run.command.join(" "))),
        ("runner", run.runner.map(str::to_owned)),
        ("language", run.language.map(str::to_owned)),
        ("seed", run.seed.map(|seed| seed.to_string())),
    ];
    for (name, value) in properties {
        suite.add_properties(value.map(|value| Property::new(name, legal(&value))));
    }
    suite.add_test_cases(Cases::of(run).list.iter().map(|case| test_case(case, run)));
    suite
}

fn test_case(case: &Case, run: &Run) -> TestCase {
    let id = legal(case.id.as_str());
    let (class, name) = id.rsplit_once("::").unwrap_or(("", &id));
    let mut junit = TestCase::new(name, status(case, run));
    junit.set_classname(class);
    // The time of the attempt that counts: the pass where there is one, the first otherwise.
    let counts = case.attempts.iter().find(|attempt| attempt.outcome.is_pass()).or(case.attempts.first());
    junit.set_time(duration(counts.map_or(0.0, |attempt| attempt.seconds)));
    if let Some(file) = case.file {
        junit.extra.insert("file".into(), legal(file).into());
    }
    if let Some(line) = case.line {
        junit.extra.insert("line".into(), line.to_string().into());
    }
    if let Some(finding) = case.finding {
        let verdict = finding.verdict();
        junit.add_property(Property::new("unflake.verdict", word(&verdict.kind)));
        junit.add_properties(verdict.rung.map(|rung| Property::new("unflake.rung", word(&rung))));
        junit.add_property(Property::new("unflake.sentence", legal(&finding.sentence)));
        junit.add_properties(finding.repeat.as_ref().map(|command| Property::new("unflake.repeat", legal(command))));
    }
    // What the other failing attempts printed is in their own elements.
    if let (TestCaseStatus::NonSuccess { .. }, Some(first)) = (&junit.status, case.failures().next()) {
        junit.system_out = (!first.stdout.is_empty()).then(|| legal(&first.stdout).into());
        junit.system_err = (!first.stderr.is_empty()).then(|| legal(&first.stderr).into());
    }
    junit
}

fn status(case: &Case, run: &Run) -> TestCaseStatus {
    let Some(first) = case.failures().next() else { return status_without_failure(case, run) };
    let passed = case.has_passed();
    if passed && !run.flaky_gates && !case.is_real() {
        let mut status = TestCaseStatus::success();
        status.add_reruns(case.failures().map(rerun));
        return status;
    }
    let mut status = TestCaseStatus::non_success(kind(first));
    status.set_message(message(first)).set_type(type_of(first)).set_description(trace(first));
    if passed {
        status.set_rerun_kind(FlakyOrRerun::Flaky).add_reruns(case.failures().map(rerun));
    } else {
        status.add_reruns(case.failures().skip(1).map(rerun));
    }
    status
}

fn status_without_failure(case: &Case, run: &Run) -> TestCaseStatus {
    let mut skipped = TestCaseStatus::skipped();
    match case.attempts.last() {
        None => skipped.set_type("not-run").set_message(match run.left_why {
            Some(why) => format!("not run: {}", legal(why)),
            None => "not run".to_owned(),
        }),
        Some(last) if matches!(last.outcome, Outcome::Skipped | Outcome::ExpectedFailure) => {
            skipped.set_type(last.outcome.word()).set_message(message(last))
        }
        Some(_) => return TestCaseStatus::success(),
    };
    skipped
}

fn rerun(attempt: &Attempt) -> TestRerun {
    let mut rerun = TestRerun::new(kind(attempt));
    rerun.set_time(duration(attempt.seconds)).set_message(message(attempt)).set_type(type_of(attempt));
    rerun.set_stack_trace(trace(attempt));
    rerun.system_out = (!attempt.stdout.is_empty()).then(|| legal(&attempt.stdout).into());
    rerun.system_err = (!attempt.stderr.is_empty()).then(|| legal(&attempt.stderr).into());
    rerun
}

/// A problem is an error, so that a CI system that reads nothing else sees that something is wrong.
fn problem(problem: &Problem) -> TestCase {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
    status
        .set_type(word(&problem.kind))
        .set_message(problem_in_words(problem.kind))
        .set_description(legal(&problem.text));
    let mut case = TestCase::new(legal(problem.place.as_deref().unwrap_or("runner")), status);
    case.set_classname("problems").set_time(Duration::ZERO);
    case
}

/// An error is what went wrong around the test. A crash or a time-out is the test's own.
fn kind(attempt: &Attempt) -> NonSuccessKind {
    match attempt.outcome {
        Outcome::Error => NonSuccessKind::Error,
        _ => NonSuccessKind::Failure,
    }
}

fn message(attempt: &Attempt) -> String {
    match (&attempt.failure, attempt.outcome) {
        (Some(failure), _) if !failure.message.is_empty() => legal(&failure.message),
        (_, Outcome::Crashed(death)) => death.to_string(),
        (_, outcome) => outcome.word().to_owned(),
    }
}

fn type_of(attempt: &Attempt) -> String {
    match &attempt.failure {
        Some(failure) if !failure.kind.is_empty() => legal(&failure.kind),
        _ => attempt.outcome.word().to_owned(),
    }
}

fn trace(attempt: &Attempt) -> String {
    match &attempt.failure {
        Some(failure) if !failure.trace.is_empty() => legal(&failure.trace),
        _ => message(attempt),
    }
}

/// The name that the word has in JSON, so that both say the same.
fn word(word: &impl serde::Serialize) -> String {
    match serde_json::to_value(word) {
        Ok(serde_json::Value::String(word)) => word,
        _ => unreachable!("a plain enum is written as its name"),
    }
}

/// The text in characters that XML 1.0 allows. Escape sequences become visible before quick-junit would drop them
/// together with what follows them.
fn legal(text: &str) -> String {
    let mut legal = crate::plain(text).into_owned();
    if legal.contains(['\u{fffe}', '\u{ffff}']) {
        legal = legal.replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}");
    }
    legal
}

fn duration(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}
