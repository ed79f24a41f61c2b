//! Specimens through `unflake why`: the first finding must be the root cause that `[why]` expects,
//! whatever technique finds it, with a command that fails every time.

use std::sync::Arc;

use libtest_mimic::Trial;
use serde::Deserialize;
use serde_json::Value;

use crate::{Differences, Specimen, in_every_run};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExpectedDiagnosis {
    test: String,
    /// The technique that names the root cause, and its kind as in the JSON report.
    technique: String,
    kind: Option<String>,
    confidence: String,
    /// Part of the finding as JSON: a cell, a culprit, a line.
    contains: String,
    /// Whether no command of the report fails every time.
    #[serde(default)]
    sometimes: bool,
    /// Part of the default test run.
    #[serde(default)]
    quick: bool,
}

pub(crate) fn trial(specimen: &Arc<Specimen>, name: &str) -> Trial {
    let ignored = !expected(specimen).quick;
    let specimen = Arc::clone(specimen);
    Trial::test(name, move || in_every_run(None, || examine(&specimen))).with_ignored_flag(ignored)
}

fn expected(specimen: &Specimen) -> &ExpectedDiagnosis {
    specimen.why.as_ref().expect("it has this table")
}

fn examine(specimen: &Specimen) -> Differences {
    let (sandbox, expected) = (specimen.sandbox(), expected(specimen));
    let invocation = sandbox.unflake(["why", &expected.test]).json().args(&specimen.options);
    let result = invocation.arg("--").args(specimen.command()).finish();
    let findings = result.list("findings");
    let Some(first) = findings.first() else {
        return vec![format!("exit {}: no finding; {}", result.code, result.remarks())];
    };
    let mut differences = Vec::new();
    let mut check = |what: &str, found: &Value, expected: &str| {
        if found != expected {
            differences.push(format!("the {what} is {found} instead of {expected}: {}", first["sentence"]));
        }
    };
    check("test", &first["test"], &expected.test);
    check("technique", &first["technique"], &expected.technique);
    check("confidence", &first["confidence"], &expected.confidence);
    if let Some(kind) = &expected.kind {
        check("kind", &first["kind"], kind);
    }
    if !first.to_string().contains(&expected.contains) {
        differences.push(format!("{} is not in {first}", expected.contains));
    }
    let mut commands = findings.iter().flat_map(|finding| finding["reproduce"].as_array().into_iter().flatten());
    if !expected.sometimes && !commands.any(|one| one["shows"] == "always-fails") {
        differences.push(format!("no command fails every time: {}", first["reproduce"]));
    }
    if result.code != 1 {
        differences.push(format!("exit {} instead of 1", result.code));
    }
    differences
}
