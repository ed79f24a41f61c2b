//! Specimens of variance: all their tests pass, and `unflake measure` must find what differs from
//! run to run.
use serde::Deserialize;
use serde_json::Value;

use crate::{Differences, Specimen};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExpectedMeasurement {
    runs: u32,
    /// Absent: all layers.
    #[serde(default)]
    layers: Vec<String>,
    #[serde(default)]
    suite: Vec<ExpectedSuite>,
    #[serde(default)]
    finding: Vec<ExpectedVariance>,
    /// Noise rules that must have hidden a difference.
    #[serde(default)]
    hides: Vec<String>,
}

/// How the entropy of the suite compares with the average of its tests.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectedSuite {
    layer: String,
    than_average: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectedVariance {
    test: String,
    layer: String,
    /// The location of one of the units that differ.
    #[serde(default)]
    at: String,
    /// Part of the description of that unit.
    #[serde(default)]
    contains: String,
}

/// Measures once.
pub(crate) fn examine(specimen: &Specimen) -> Differences {
    let expected = specimen.measure.as_ref().expect("it has this table");
    let runs = expected.runs.to_string();
    let layers = expected.layers.iter().flat_map(|layer| ["--layer", layer.as_str()]);
    let sandbox = specimen.sandbox();
    let invocation = sandbox.unflake(["measure", "--runs", &runs, "--for", "0"]).json().args(layers);
    let result = invocation.arg("--").args(specimen.command()).finish();
    let Some(document) = &result.json else { return vec![format!("exit {}: {}", result.code, result.stderr)] };
    let mut wrong = Vec::new();
    let measured = &document["measured"];
    if (result.code, result.list("tests").len(), &measured["runs"]) != (0, specimen.tests, &expected.runs.into()) {
        wrong.push(format!("exit {}, {} tests, {} runs", result.code, result.list("tests").len(), measured["runs"]));
    }
    for finding in result.list("findings") {
        let of = |one: &&ExpectedVariance| finding["test"] == *one.test && finding["kind"] == *one.layer;
        match expected.finding.iter().find(of) {
            Some(one) if !has(finding, one) => wrong.push(format!("differs from what is expected: {finding}")),
            Some(_) => {}
            None => wrong.push(format!("not expected: {finding}")),
        }
    }
    let missing = |one: &&ExpectedVariance| {
        !result.list("findings").iter().any(|finding| finding["test"] == *one.test && finding["kind"] == *one.layer)
    };
    wrong.extend(expected.finding.iter().filter(missing).map(|one| format!("not found: {} {}", one.test, one.layer)));
    wrong.extend(expected.suite.iter().filter_map(|suite| suite.difference(measured)));
    for rule in &expected.hides {
        let hid = |one: &Value| one["rule"] == **rule && one["units"].as_u64() > Some(0);
        if !measured["hidden"].as_array().is_some_and(|hidden| hidden.iter().any(hid)) {
            wrong.push(format!("the rule {rule} hid nothing: {}", measured["hidden"]));
        }
    }
    wrong
}

/// Whether a finding has a unit at that location with that description, and consistent numbers.
fn has(finding: &Value, expected: &ExpectedVariance) -> bool {
    let runs = finding["runs"].as_u64().unwrap_or(0);
    let groups: Vec<u64> = finding["groups"].as_array().into_iter().flatten().filter_map(Value::as_u64).collect();
    let entropy = finding["entropy"].as_f64().unwrap_or(-1.0);
    let consistent =
        groups.len() > 1 && groups.iter().sum::<u64>() == runs && entropy > 0.0 && entropy <= (runs as f64).ln() + 1e-9;
    let units = finding["units"].as_array().into_iter().flatten();
    let location = |unit: &Value| {
        let (file, line) = (unit["file"].as_str().unwrap_or(""), unit["line"].as_u64());
        let last = unit["last"].as_u64().map_or(String::new(), |last| format!("-{last}"));
        line.map_or(file.to_owned(), |line| format!("{file}:{line}{last}"))
    };
    let text = |unit: &Value| {
        let seen = unit["seen"].as_array().into_iter().flatten().filter_map(|seen| seen["value"].as_str());
        let support = unit["support"].as_u64().map_or(String::new(), |rows| format!(" ({rows} values)"));
        format!("{}{support} {}", unit["what"].as_str().unwrap_or(""), seen.collect::<Vec<_>>().join(" "))
    };
    consistent && units.into_iter().any(|unit| location(unit) == expected.at && text(unit).contains(&expected.contains))
}

impl ExpectedSuite {
    fn difference(&self, measured: &Value) -> Option<String> {
        let layers = measured["layers"].as_array()?;
        let layer = layers.iter().find(|layer| layer["layer"] == *self.layer)?;
        let (suite, average) = (layer["suite"]["entropy"].as_f64()?, layer["entropy"].as_f64()?);
        let right = if self.than_average == "below" { suite < average } else { suite > average };
        (!right).then(|| format!("suite {suite}, average of its tests {average} at the layer {}", self.layer))
    }
}
