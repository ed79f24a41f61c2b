//! Specimens of verdicts: `unflake run` must classify each failure as `[run]` expects.

use e2e::RunOutput;
use serde::Deserialize;
use serde_json::Value;

use crate::{Differences, Specimen, set_text};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExpectedRun {
    exit: i32,
    #[serde(default)]
    finding: Vec<ExpectedVerdict>,
    rate: Option<FailureRate>,
}

/// How often a test fails whose outcome is random.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FailureRate {
    test: String,
    #[serde(rename = "alone")]
    _alone: f64,
    #[serde(rename = "loaded")]
    _loaded: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectedVerdict {
    test: String,
    technique: String,
    kind: String,
    rung: Option<String>,
    outcome: String,
    death: Option<String>,
    message_contains: Option<String>,
    #[serde(default)]
    not_rerun: bool,
}

/// Runs a specimen once.
pub(crate) fn examine(specimen: &Specimen) -> Differences {
    let expected = specimen.run.as_ref().expect("it has this table");
    let sandbox = specimen.sandbox();
    let run = sandbox
        .run_invocation("--new-processes 8", "")
        .args(&specimen.options)
        .arg("--")
        .args(specimen.command())
        .finish();
    let mut differences = Vec::new();
    let mut check = |what: &str, found: String, expected: String| {
        if found != expected {
            differences.push(format!("{what}: {found} instead of {expected}"));
        }
    };
    check("tests", run.list("tests").len().to_string(), specimen.tests.to_string());
    if let Some(rate) = &expected.rate {
        // This test may fail or pass, and no other test may fail.
        let others = run.list("findings").iter().filter(|finding| finding["test"] != rate.test.as_str());
        check("findings", set_text(others.map(found_verdict)), "{}".to_owned());
        return differences;
    }
    check("exit", format!("{} ({})", run.code, meaning(&run)), format!("{} ({})", expected.exit, meaning(&run)));
    let (stored, reported) = (sandbox.stored_attempts().len(), run.list("attempts").len());
    check("attempts in the history", stored.to_string(), reported.to_string());
    let found = set_text(run.list("findings").iter().map(found_verdict));
    check("findings", found, set_text(expected.finding.iter().map(ExpectedVerdict::summary)));
    for expected in &expected.finding {
        let first = run.list("attempts").iter().find(|attempt| attempt["test"] == expected.test.as_str());
        let Some(first) = first else { continue };
        let outcome = first["outcome"].as_str().unwrap_or("crashed");
        let message = first["failure"]["message"].as_str().unwrap_or_default();
        check(&expected.test, outcome.to_owned(), expected.outcome.clone());
        if let Some(death) = &expected.death {
            let found = if message.starts_with(death) { death } else { message };
            check(&expected.test, found.to_owned(), death.clone());
        }
        if let Some(part) = &expected.message_contains
            && !message.contains(part)
        {
            check(&expected.test, message.to_owned(), format!("a message with {part:?}"));
        }
    }
    differences
}

fn meaning(run: &RunOutput) -> String {
    run.json()["exit"]["meaning"].as_str().unwrap_or_default().to_owned()
}

fn found_verdict(finding: &Value) -> String {
    let word = |value: &Value| value.as_str().unwrap_or("none").to_owned();
    let rerun = if finding["evidence"]["not_rerun"].is_null() { "" } else { " not-rerun" };
    let [test, technique, kind, rung] = ["test", "technique", "kind", "rung"].map(|name| word(&finding[name]));
    format!("{test} {technique} {kind} {rung}{rerun}")
}

impl ExpectedVerdict {
    fn summary(&self) -> String {
        let Self { test, technique, kind, .. } = self;
        let rung = self.rung.as_deref().unwrap_or("none");
        let rerun = if self.not_rerun { " not-rerun" } else { "" };
        format!("{test} {technique} {kind} {rung}{rerun}")
    }
}
