//! Reads pytest-reportlog: one report per phase of each test, in the order in which the phases end.

use std::collections::HashMap;
use std::io::BufRead;

use serde_json::Value;
use unflake_model::{Failure, Outcome, Phase};

use crate::bounded_text;
use crate::json_lines::{self, seconds, text_field};
use crate::timestamp;
use crate::{ReportedAttempt, ReportedTest, TestSink};

/// Tests that may be incomplete at the same time; with xdist there are as many as workers.
const MAX_OPEN: usize = 10_000;

pub(crate) fn read(source: impl BufRead, sink: &mut TestSink) -> Result<(), String> {
    let mut open: HashMap<String, ReportedTest> = HashMap::new();
    let mut too_many = false;
    json_lines::for_each_object(source, |report| {
        if text_field(&report, "$report_type") != "TestReport" {
            return true;
        }
        let id = bounded_text::name(text_field(&report, "nodeid").to_owned());
        let case = open.entry(id.clone()).or_insert_with(|| new_test(id.clone(), &report));
        add(&mut case.attempts[0], &report);
        if text_field(&report, "when") == "teardown" {
            return open.remove(&id).is_none_or(|case| sink(case).is_continue());
        }
        too_many = open.len() > MAX_OPEN;
        !too_many
    })?;
    if too_many {
        return Err(format!("more than {MAX_OPEN} tests begin in it and do not end"));
    }
    Ok(())
}

fn new_test(id: String, report: &Value) -> ReportedTest {
    let location = &report["location"];
    ReportedTest {
        id,
        file: location[0].as_str().map(str::to_owned),
        line: location[1].as_u64().and_then(|line| u32::try_from(line + 1).ok()),
        when: report["start"].as_f64().and_then(|start| timestamp::from_milliseconds(start * 1000.0)),
        before: None,
        attempts: vec![ReportedAttempt { outcome: Outcome::Passed, seconds: 0.0, failure: None }],
    }
}

/// The first phase that fails determines the outcome.
fn add(attempt: &mut ReportedAttempt, report: &Value) {
    attempt.seconds += seconds(report, "duration");
    if attempt.outcome != Outcome::Passed {
        return;
    }
    let phase = match text_field(report, "when") {
        "setup" => Phase::SetUp,
        "teardown" => Phase::TearDown,
        _ => Phase::Call,
    };
    let expected = report.get("wasxfail").is_some();
    attempt.outcome = match text_field(report, "outcome") {
        "skipped" if expected => Outcome::ExpectedFailure,
        "skipped" => Outcome::Skipped,
        "passed" if expected && phase == Phase::Call => Outcome::UnexpectedPass,
        // pytest-rerunfailures writes `rerun` for a failure that it is going to retry.
        "failed" | "rerun" if phase == Phase::Call => Outcome::Failed,
        "failed" | "rerun" => Outcome::Error,
        _ => return,
    };
    if attempt.outcome != Outcome::UnexpectedPass {
        let (message, trace) = message_and_trace(&report["longrepr"]);
        let kind =
            message.split(':').next().filter(|kind| kind.chars().all(|c| c.is_alphanumeric() || "._".contains(c)));
        attempt.failure = Some(Failure {
            phase,
            kind: bounded_text::message(kind.unwrap_or_default()),
            message: bounded_text::message(&message),
            trace: bounded_text::trace(&trace),
            file: report["longrepr"]["reprcrash"]["path"].as_str().map(str::to_owned),
            line: report["longrepr"]["reprcrash"]["lineno"].as_u64().and_then(|line| line.try_into().ok()),
        });
    }
}

/// The message and the stack trace. pytest writes a string, an array (file, line, reason), or an
/// object.
fn message_and_trace(message_and_trace: &Value) -> (String, String) {
    match message_and_trace {
        Value::String(text) => (text.lines().next_back().unwrap_or_default().to_owned(), text.clone()),
        Value::Array(parts) => (parts.get(2).and_then(Value::as_str).unwrap_or_default().to_owned(), String::new()),
        Value::Object(_) => {
            let entries = message_and_trace["reprtraceback"]["reprentries"].as_array();
            let lines = entries.into_iter().flatten().filter_map(|entry| entry["data"]["lines"].as_array()).flatten();
            let trace: Vec<&str> = lines.filter_map(Value::as_str).collect();
            (text_field(&message_and_trace["reprcrash"], "message").to_owned(), trace.join("\n"))
        }
        _ => (String::new(), String::new()),
    }
}
