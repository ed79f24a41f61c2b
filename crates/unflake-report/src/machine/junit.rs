//! Writes JUnit XML with every failing attempt, in Surefire's dialect for reruns, which CI systems
//! read.
//!
//! | what happened | elements of its `<testcase>` |
//! |---|---|
//! | passed | none |
//! | failed, passed later | `flakyFailure` or `flakyError` per failing attempt |
//! | never passed | `failure` or `error` first, then `rerunFailure` or `rerunError` |
//! | failed, passed later, counts as failed | `failure` or `error`, and `flaky…` per failing attempt |
//! | failed, in quarantine | `skipped` of type `quarantine`, with the failure as text |
//! | skipped, expected failure, not run | `skipped` with one of these as its type |
//!
//! "Counts as failed" is a flaky test where flaky tests gate, or a failure that no later pass
//! excuses, such as a crash. There the first attempt appears twice: most readers know only
//! `failure` and need its text, and those that know `flaky…` take its presence for "has passed".
//! For the same reason `flaky…` and `rerun…` never appear in one `<testcase>`.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, BufWriter, Write};

use unflake_model::{Attempt, Outcome, QuarantineStanding};

use crate::RunReport;
use crate::attempts_by_test::{AttemptsByTest, TestAttempts};
use crate::machine::xml::XmlWriter;
use crate::terminal::quarantine;
use crate::text::format::problem_text;

/// Writes the run as JUnit XML.
pub fn junit(run: &RunReport, out: &mut dyn Write) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    let cases = AttemptsByTest::of(run);
    let statuses: Vec<JunitStatus> = cases.list.iter().map(|case| JunitStatus::of(case, run)).collect();
    let tests = JunitCounts::of(&cases, &statuses);
    let problems = JunitCounts { tests: run.problems.len(), errors: run.problems.len(), ..JunitCounts::default() };

    let mut xml = XmlWriter::new(&mut out)?;
    tests.plus(&problems).open(&mut xml, "testsuites", "unflake", run.totals.seconds, None)?;
    let start = run.attempts.iter().map(|attempt| attempt.started.0).min();
    let start = start.and_then(|start| jiff::Timestamp::from_microsecond(start).ok());
    tests.open(&mut xml, "testsuite", "tests", run.totals.seconds, start)?;
    about_the_run(&mut xml, run)?;
    for (case, status) in cases.list.iter().zip(&statuses) {
        test_case(&mut xml, case, *status, run)?;
    }
    xml.close()?;
    if !run.problems.is_empty() {
        problems.open(&mut xml, "testsuite", "problems", 0.0, None)?;
        for problem in run.problems {
            // An error, so that CI systems that read only this file notice the problem.
            let name = problem.place.as_deref().unwrap_or("runner");
            xml.open("testcase", &[("name", &name), ("classname", &"problems"), ("time", &seconds(0.0))])?;
            let attributes: [(_, &dyn Display); 2] =
                [("message", &problem_text(problem.kind)), ("type", &json_name(&problem.kind))];
            xml.text("error", &attributes, &problem.text)?;
            xml.close()?;
        }
        xml.close()?;
    }
    xml.close()?;
    out.flush()
}

/// The result of a test in JUnit terms. It determines how the attempts are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum JunitStatus {
    Passed,
    Flaky,
    Failed,
    FlakyAndFailed,
    Skipped,
    NotRun,
    Quarantined,
}

impl JunitStatus {
    fn of(case: &TestAttempts, run: &RunReport) -> Self {
        if quarantine::is_excused(run.quarantine, case.id) {
            return Self::Quarantined;
        }
        match (case.has_failed(), case.has_passed()) {
            (true, false) => Self::Failed,
            (true, true) if run.flaky_gates || case.is_real() => Self::FlakyAndFailed,
            (true, true) => Self::Flaky,
            (false, _) => match case.attempts.last().map(|attempt| attempt.outcome) {
                None => Self::NotRun,
                Some(Outcome::Skipped | Outcome::ExpectedFailure) => Self::Skipped,
                Some(_) => Self::Passed,
            },
        }
    }

    fn is_failed(self) -> bool {
        matches!(self, Self::Failed | Self::FlakyAndFailed)
    }
}

#[derive(Default)]
struct JunitCounts {
    tests: usize,
    failures: usize,
    errors: usize,
    skipped: usize,
}

impl JunitCounts {
    fn of(cases: &AttemptsByTest, statuses: &[JunitStatus]) -> Self {
        let mut counts = Self { tests: statuses.len(), ..Self::default() };
        for (case, status) in cases.list.iter().zip(statuses) {
            counts.skipped +=
                usize::from(matches!(status, JunitStatus::Skipped | JunitStatus::NotRun | JunitStatus::Quarantined));
            if let Some(first) = case.failures().next().filter(|_| status.is_failed()) {
                *(if is_error(first) { &mut counts.errors } else { &mut counts.failures }) += 1;
            }
        }
        counts
    }

    fn plus(&self, other: &Self) -> Self {
        Self {
            tests: self.tests + other.tests,
            failures: self.failures + other.failures,
            errors: self.errors + other.errors,
            skipped: self.skipped + other.skipped,
        }
    }

    fn open(
        &self,
        xml: &mut XmlWriter,
        element: &'static str,
        name: &str,
        duration: f64,
        start: Option<jiff::Timestamp>,
    ) -> io::Result<()> {
        let duration = seconds(duration);
        let mut attributes: Vec<(&str, &dyn Display)> = vec![
            ("name", &name),
            ("tests", &self.tests),
            ("failures", &self.failures),
            ("errors", &self.errors),
            ("skipped", &self.skipped),
            ("time", &duration),
        ];
        attributes.extend(start.as_ref().map(|start| ("timestamp", start as &dyn Display)));
        xml.open(element, &attributes)
    }
}

fn about_the_run(xml: &mut XmlWriter, run: &RunReport) -> io::Result<()> {
    let command = run.command.join(" ");
    properties(
        xml,
        &[
            ("command", Some(&command)),
            ("runner", run.runner.as_ref().map(|runner| runner as &dyn Display)),
            ("language", run.language.as_ref().map(|language| language as &dyn Display)),
            ("seed", run.seed.as_ref().map(|seed| seed as &dyn Display)),
        ],
    )
}

fn properties(xml: &mut XmlWriter, properties: &[(&str, Option<&dyn Display>)]) -> io::Result<()> {
    xml.open("properties", &[])?;
    for (name, value) in properties {
        if let Some(value) = value {
            xml.empty("property", &[("name", name), ("value", value)])?;
        }
    }
    xml.close()
}

fn test_case(xml: &mut XmlWriter, case: &TestAttempts, status: JunitStatus, run: &RunReport) -> io::Result<()> {
    let (class, name) = class_and_name(case.id.as_str());
    // The attempt that counts: the pass where there is one, otherwise the first.
    let counts = case.attempts.iter().find(|attempt| attempt.outcome.is_pass()).or(case.attempts.first());
    let duration = seconds(counts.map_or(0.0, |attempt| attempt.seconds));
    let mut attributes: Vec<(&str, &dyn Display)> = vec![("name", &name), ("classname", &class), ("time", &duration)];
    attributes.extend(case.file.as_ref().map(|file| ("file", file as &dyn Display)));
    attributes.extend(case.line.as_ref().map(|line| ("line", line as &dyn Display)));
    if status == JunitStatus::Passed && case.finding.is_none() && case.filtered.is_empty() {
        return xml.empty("testcase", &attributes);
    }
    xml.open("testcase", &attributes)?;
    if let Some((finding, verdict)) = case.finding.and_then(|finding| Some((finding, finding.verdict()?))) {
        let rung = verdict.rung.map(|rung| json_name(&rung));
        properties(
            xml,
            &[
                ("unflake.verdict", Some(&json_name(&verdict.kind))),
                ("unflake.rung", rung.as_ref().map(|rung| rung as &dyn Display)),
                ("unflake.sentence", Some(&finding.sentence)),
                ("unflake.reproduce", finding.reproduce.first().map(|one| &one.command as &dyn Display)),
            ],
        )?;
    } else if !case.filtered.is_empty() {
        let excused: Vec<(&str, Option<&dyn Display>)> =
            case.filtered.iter().map(|finding| ("unflake.filter", Some(&finding.sentence as &dyn Display))).collect();
        properties(xml, &excused)?;
    }
    result(xml, case, status, run)?;
    // Readers that ignore properties also see failures that the assertion filter excused.
    if status == JunitStatus::Passed && !case.filtered.is_empty() {
        let sentences: Vec<&str> = case.filtered.iter().map(|finding| finding.sentence.as_str()).collect();
        xml.text("system-out", &[], &sentences.join("\n"))?;
    }
    xml.close()
}

/// Splits an id at its last `::`, but not inside the parameters in brackets that many runners
/// append.
fn class_and_name(id: &str) -> (&str, &str) {
    let parameters = id.find('[').unwrap_or(id.len());
    match id[..parameters].rfind("::") {
        Some(at) => (&id[..at], &id[at + 2..]),
        None => ("", id),
    }
}

fn result(xml: &mut XmlWriter, case: &TestAttempts, status: JunitStatus, run: &RunReport) -> io::Result<()> {
    let Some(first) = case.failures().next() else { return skipped(xml, case, status, run) };
    if let Some(one) =
        run.quarantine.iter().find(|one| status == JunitStatus::Quarantined && one.entry.test == *case.id)
    {
        xml.text("skipped", &[("message", &quarantine::reason(one)), ("type", &"quarantine")], &trace(first))?;
        return output(xml, first);
    }
    if !status.is_failed() {
        return case.failures().try_for_each(|attempt| rerun(xml, attempt, ["flakyFailure", "flakyError"]));
    }
    let element = if is_error(first) { "error" } else { "failure" };
    xml.text(element, &[("message", &message(first)), ("type", &type_of(first))], &trace(first))?;
    if status == JunitStatus::FlakyAndFailed {
        case.failures().try_for_each(|attempt| rerun(xml, attempt, ["flakyFailure", "flakyError"]))?;
    } else {
        case.failures().skip(1).try_for_each(|attempt| rerun(xml, attempt, ["rerunFailure", "rerunError"]))?;
    }
    output(xml, first)
}

fn skipped(xml: &mut XmlWriter, case: &TestAttempts, status: JunitStatus, run: &RunReport) -> io::Result<()> {
    match (status, case.attempts.last()) {
        (JunitStatus::NotRun, _) => {
            if let Some(one) = run
                .quarantine
                .iter()
                .find(|one| one.entry.test == *case.id && one.standing == QuarantineStanding::LeftOut)
            {
                return xml.empty("skipped", &[("message", &quarantine::reason(one)), ("type", &"quarantine")]);
            }
            let why = run.left_why.map_or(Cow::Borrowed("not run"), |why| Cow::Owned(format!("not run: {why}")));
            xml.empty("skipped", &[("message", &why), ("type", &"not-run")])
        }
        (JunitStatus::Skipped, Some(last)) => {
            xml.empty("skipped", &[("message", &message(last)), ("type", &last.outcome.word())])
        }
        _ => Ok(()),
    }
}

/// A failing attempt other than the one that determines the result.
fn rerun(xml: &mut XmlWriter, attempt: &Attempt, [failure, error]: [&'static str; 2]) -> io::Result<()> {
    let element = if is_error(attempt) { error } else { failure };
    let duration = seconds(attempt.seconds);
    xml.open(element, &[("message", &message(attempt)), ("type", &type_of(attempt)), ("time", &duration)])?;
    xml.text("stackTrace", &[], &trace(attempt))?;
    output(xml, attempt)?;
    xml.close()
}

fn output(xml: &mut XmlWriter, attempt: &Attempt) -> io::Result<()> {
    for (element, text) in [("system-out", &attempt.stdout), ("system-err", &attempt.stderr)] {
        if !text.is_empty() {
            xml.text(element, &[], text)?;
        }
    }
    Ok(())
}

/// An error is a failure outside of the test body. A crash or timeout belongs to the test.
fn is_error(attempt: &Attempt) -> bool {
    attempt.outcome == Outcome::Error
}

fn message(attempt: &Attempt) -> Cow<'_, str> {
    match (&attempt.failure, attempt.outcome) {
        (Some(failure), _) if !failure.message.is_empty() => Cow::Borrowed(&failure.message),
        (_, Outcome::Crashed(death)) => Cow::Owned(death.to_string()),
        (_, outcome) => Cow::Borrowed(outcome.word()),
    }
}

fn type_of(attempt: &Attempt) -> &str {
    match &attempt.failure {
        Some(failure) if !failure.kind.is_empty() => &failure.kind,
        _ => attempt.outcome.word(),
    }
}

fn trace(attempt: &Attempt) -> Cow<'_, str> {
    match &attempt.failure {
        Some(failure) if !failure.trace.is_empty() => Cow::Borrowed(&failure.trace),
        _ => message(attempt),
    }
}

/// The JSON name of an enum value, so that both formats use the same.
fn json_name(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => name,
        _ => unreachable!("a plain enum is written as its name"),
    }
}

fn seconds(seconds: f64) -> String {
    format!("{:.3}", if seconds.is_finite() { seconds.clamp(0.0, 1e12) } else { 0.0 })
}
