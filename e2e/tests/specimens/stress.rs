//! Specimens of stress: copies that meet nowhere give no finding, and copies that share everything give
//! findings that name where they meet.

use serde::Deserialize;

use crate::{Differences, Specimen};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExpectedStress {
    /// How often each test runs.
    runs: u32,
    /// What `--private none` must find; nothing else may be found. Without it there is no finding.
    #[serde(default)]
    shared: Vec<ExpectedMeeting>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectedMeeting {
    test: String,
    /// Part of the sentence.
    contains: String,
}

/// Runs both once.
pub(crate) fn examine(specimen: &Specimen) -> Differences {
    let expected = specimen.stress.as_ref().expect("it has this table");
    let mut wrong = stress(specimen, "all", &[]);
    if !expected.shared.is_empty() {
        wrong.extend(stress(specimen, "none", &expected.shared));
    }
    wrong
}

fn stress(specimen: &Specimen, private: &str, expected: &[ExpectedMeeting]) -> Differences {
    let runs = specimen.stress.as_ref().map_or(1, |stress| stress.runs).to_string();
    let sandbox = specimen.sandbox();
    let words = ["stress", "--for", "1h", "--max-runs", &runs, "--jobs", "4", "--private", private];
    let result = sandbox.unflake(words).json().arg("--").args(specimen.command()).finish();
    let Some(document) = &result.json else { return vec![format!("exit {}: {}", result.code, result.stderr)] };
    let mut wrong = Vec::new();
    if result.list("tests").len() != specimen.tests {
        wrong.push(format!("{} tests: {}", result.list("tests").len(), document["exit"]));
    }
    for finding in result.list("findings") {
        let sentence = finding["sentence"].as_str().unwrap_or_default();
        // Copies of any of the tests may meet.
        let is_meeting = private == "none" && sentence.starts_with("fails when two run at once: ");
        let named = expected.iter().find(|one| finding["test"] == *one.test);
        if !is_meeting || named.is_some_and(|one| !sentence.contains(&one.contains)) {
            wrong.push(format!("--private {private}: {} {sentence}", finding["test"]));
        }
    }
    let is_found = |one: &&ExpectedMeeting| result.list("findings").iter().any(|it| it["test"] == *one.test);
    wrong.extend(expected.iter().filter(|one| !is_found(one)).map(|one| format!("not found: {}", one.test)));
    wrong
}
