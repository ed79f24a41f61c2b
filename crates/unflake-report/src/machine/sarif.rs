//! Writes SARIF 2.1.0 for code scanning: root-cause lines and real failures as results.

use std::collections::BTreeMap;
use std::io::{self, Write};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};
use unflake_model::{Detail, Finding, Fingerprint, SourceLine, WriteSite};

use crate::attempts_by_test::AttemptsByTest;
use crate::causes::causes;
use crate::divergence_text;
use crate::text::format;
use crate::{RunReport, one_line};

/// What a path must not contain as it is.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'_').remove(b'.').remove(b'~');
const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// A line of the project.
struct ResultPlace {
    file: String,
    line: u32,
}

/// Writes the findings that have a line in the project. `version` is that of unflake.
pub fn sarif(run: &RunReport, version: &str, out: &mut dyn Write) -> io::Result<()> {
    let cases = AttemptsByTest::of(run);
    let mut rules: BTreeMap<String, Value> = BTreeMap::new();
    let mut results = Vec::new();
    for (finding, cause) in run.findings.iter().zip(causes(run.findings)) {
        let places = places(&cases, finding);
        if places.is_empty() || run.not_useful(finding).is_some() {
            continue;
        }
        let rule = rule_id(finding);
        results.push(result(finding, &cause, &rule, &places));
        rules.entry(rule.clone()).or_insert_with(|| {
            let text = description(finding);
            json!({ "id": rule, "shortDescription": { "text": text } })
        });
    }
    let rules: Vec<Value> = rules.into_values().collect();
    let driver = json!({ "name": "unflake", "semanticVersion": version, "rules": rules });
    let invocation = json!({ "executionSuccessful": run.problems.is_empty(), "exitCode": run.exit.code });
    let run = json!({ "tool": { "driver": driver }, "invocations": [invocation], "results": results });
    let document = json!({ "$schema": SCHEMA, "version": "2.1.0", "runs": [run] });
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)
}

/// The lines of the root cause, or of a real failure, the most likely first.
fn places(cases: &AttemptsByTest, finding: &Finding) -> Vec<ResultPlace> {
    let places = match &finding.detail {
        Detail::Verdict(_) if finding.is_real() => {
            let failures = cases.get(&finding.test).into_iter().flat_map(|case| case.failures());
            let places = failures
                .filter_map(|attempt| attempt.failure.as_ref())
                .filter_map(|failure| Some(ResultPlace { file: failure.file.clone()?, line: failure.line? }));
            places.take(1).collect()
        }
        Detail::Divergence(divergence) => {
            divergence.locations.iter().take(1).map(|start| ResultPlace::from(&start.line)).collect()
        }
        Detail::State(leak) => {
            leak.cells.iter().filter_map(|cell| cell.written.as_ref()).map(ResultPlace::from).collect()
        }
        Detail::Filter(filtered) => {
            vec![ResultPlace { file: filtered.assertion.spot.file.clone(), line: filtered.line }]
        }
        _ => Vec::new(),
    };
    places.into_iter().filter(|place| is_in_project(&place.file) && place.line > 0).collect()
}

/// Code scanning shows files of the repository only.
fn is_in_project(file: &str) -> bool {
    !file.is_empty() && !file.starts_with('/') && !file.starts_with("..")
}

fn rule_id(finding: &Finding) -> String {
    format!("{}/{}", finding.technique(), finding.kind())
}

/// What a rule is about; independent of the finding.
fn description(finding: &Finding) -> String {
    match &finding.detail {
        Detail::Divergence(divergence) => {
            format!("Failing runs of a flaky test diverge here: {}", divergence_text::cause_name(divergence.kind))
        }
        Detail::State(_) => "A test leaves state behind that changes the outcome of another".to_owned(),
        Detail::Filter(_) => "An assertion that varies without a change".to_owned(),
        _ => "A test fails in every attempt".to_owned(),
    }
}

fn result(finding: &Finding, cause: &Fingerprint, rule: &str, places: &[ResultPlace]) -> Value {
    let level = if finding.is_real() { "error" } else { "warning" };
    let sentence = divergence_text::finding_sentence(finding);
    let mut text = format!("{} {}", one_line(finding.test.as_str()), one_line(&sentence));
    if let Some(command) = finding.command() {
        text.push_str(&format!("\nreproduce: {}", one_line(command)));
    }
    let shows = match &finding.detail {
        Detail::Divergence(divergence) => divergence.shows.as_ref().filter(|line| is_in_project(&line.file)),
        _ => None,
    };
    let mut result = json!({
        "ruleId": rule,
        "level": level,
        "message": { "text": text },
        "locations": places.iter().map(ResultPlace::location).collect::<Vec<_>>(),
        "partialFingerprints": { "unflakeFinding/v1": finding.id().0, "unflakeCause/v1": cause.0 },
        "properties": {
            "test": finding.test.as_str(),
            "finding": format::short(&finding.id()),
            "confidence": finding.confidence(),
        },
    });
    if let Some(line) = shows {
        let mut related = ResultPlace::from(line).location();
        related["message"] = json!({ "text": "the failure shows here" });
        result["relatedLocations"] = json!([related]);
    }
    result
}

impl ResultPlace {
    fn location(&self) -> Value {
        json!({
            "physicalLocation": {
                "artifactLocation": { "uri": uri(&self.file), "uriBaseId": "%SRCROOT%" },
                "region": { "startLine": self.line },
            }
        })
    }
}

impl From<&SourceLine> for ResultPlace {
    fn from(line: &SourceLine) -> Self {
        Self { file: line.file.to_string(), line: line.line }
    }
}

impl From<&WriteSite> for ResultPlace {
    fn from(site: &WriteSite) -> Self {
        Self { file: site.file.clone(), line: site.line }
    }
}

/// A relative path as a URI reference.
fn uri(path: &str) -> String {
    utf8_percent_encode(path, RESERVED).to_string()
}
