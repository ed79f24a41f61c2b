//! Specimens whose runs differ, through `unflake measure`, against what must be found of them; and what else can happen to somebody who measures.

mod stories;

use e2e::{Examined, Ran, Story, in_every_run, specimens};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Specimen {
    name: String,
    #[serde(rename = "description")]
    _description: String,
    #[serde(rename = "flaw")]
    _flaw: String,
    #[serde(rename = "source")]
    _source: String,
    tests: usize,
    measure: Expected,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    runs: u32,
    /// All where absent.
    #[serde(default)]
    layers: Vec<String>,
    #[serde(default)]
    suite: Vec<Suite>,
    #[serde(default)]
    finding: Vec<Finding>,
    /// Rules that must have hidden a difference.
    #[serde(default)]
    hides: Vec<String>,
}

/// How the entropy of the suite stands to the average of its tests.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Suite {
    layer: String,
    than_average: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Finding {
    test: String,
    layer: String,
    /// The place of one of the units that differ.
    #[serde(default)]
    at: String,
    /// Stands in the words for that unit.
    #[serde(default)]
    contains: String,
}

#[test]
fn what_differs_is_found_where_it_differs() {
    let read = |(name, text): (String, String)| {
        let specimen: Specimen = toml::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(name, specimen.name);
        specimen
    };
    let all: Vec<Specimen> = specimens(|name| name.starts_with("measure-")).into_iter().map(read).collect();
    in_every_run(
        &all,
        |specimen| specimen.name.clone(),
        |specimen| Examined { wrong: examine(specimen), ..Examined::default() },
    );
}

pub(crate) fn measure(story: &Story, options: &[&str], command: &[&str]) -> Ran {
    let found = story.place().join("found.json");
    story.unflake(["measure", "--json"]).arg(found).args(options).arg("--").args(command).end()
}

pub(crate) const PYTEST: [&str; 3] = ["python", "-m", "pytest"];

/// Measures once and says in what way that is not as expected.
fn examine(specimen: &Specimen) -> Vec<String> {
    let expected = &specimen.measure;
    let runs = expected.runs.to_string();
    let mut options = vec!["--runs", &runs];
    options.extend(expected.layers.iter().flat_map(|layer| ["--layer", layer.as_str()]));
    let ran = measure(&Story::of_specimen(&specimen.name), &options, &PYTEST);
    let Some(document) = &ran.json else { return vec![format!("exit {}: {}", ran.code, ran.stderr)] };
    let mut wrong = Vec::new();
    let measured = &document["measured"];
    if (ran.code, ran.list("tests").len(), &measured["runs"]) != (0, specimen.tests, &expected.runs.into()) {
        wrong.push(format!("exit {}, {} tests, {} runs", ran.code, ran.list("tests").len(), measured["runs"]));
    }
    for finding in ran.list("findings") {
        let of = |one: &&Finding| finding["test"] == *one.test && finding["kind"] == *one.layer;
        match expected.finding.iter().find(of) {
            Some(one) if !has(finding, one) => wrong.push(format!("not what was expected: {finding}")),
            Some(_) => {}
            None => wrong.push(format!("found and not expected: {finding}")),
        }
    }
    let missing = |one: &&Finding| {
        !ran.list("findings").iter().any(|finding| finding["test"] == *one.test && finding["kind"] == *one.layer)
    };
    wrong.extend(expected.finding.iter().filter(missing).map(|one| format!("not found: {} {}", one.test, one.layer)));
    wrong.extend(expected.suite.iter().filter_map(|suite| suite.wrong(measured)));
    for rule in &expected.hides {
        let hid = |one: &Value| one["rule"] == **rule && one["units"].as_u64() > Some(0);
        if !measured["hidden"].as_array().is_some_and(|hidden| hidden.iter().any(hid)) {
            wrong.push(format!("the rule {rule} hid nothing: {}", measured["hidden"]));
        }
    }
    wrong
}

/// Whether a finding has a unit at that place with those words, and numbers that fit together.
fn has(finding: &Value, expected: &Finding) -> bool {
    let runs = finding["runs"].as_u64().unwrap_or(0);
    let groups: Vec<u64> = finding["groups"].as_array().into_iter().flatten().filter_map(Value::as_u64).collect();
    let entropy = finding["entropy"].as_f64().unwrap_or(-1.0);
    let fits =
        groups.len() > 1 && groups.iter().sum::<u64>() == runs && entropy > 0.0 && entropy <= (runs as f64).ln() + 1e-9;
    let units = finding["units"].as_array().into_iter().flatten();
    let place = |unit: &Value| {
        let (file, line) = (unit["file"].as_str().unwrap_or(""), unit["line"].as_u64());
        let last = unit["last"].as_u64().map_or(String::new(), |last| format!("-{last}"));
        line.map_or(file.to_owned(), |line| format!("{file}:{line}{last}"))
    };
    let text = |unit: &Value| {
        let seen = unit["seen"].as_array().into_iter().flatten().filter_map(|seen| seen["value"].as_str());
        let support = unit["support"].as_u64().map_or(String::new(), |rows| format!(" ({rows} values)"));
        format!("{}{support} {}", unit["what"].as_str().unwrap_or(""), seen.collect::<Vec<_>>().join(" "))
    };
    fits && units.into_iter().any(|unit| place(unit) == expected.at && text(unit).contains(&expected.contains))
}

impl Suite {
    fn wrong(&self, measured: &Value) -> Option<String> {
        let layers = measured["layers"].as_array()?;
        let layer = layers.iter().find(|layer| layer["layer"] == *self.layer)?;
        let (suite, average) = (layer["suite"]["entropy"].as_f64()?, layer["entropy"].as_f64()?);
        let right = if self.than_average == "below" { suite < average } else { suite > average };
        (!right).then(|| format!("suite {suite}, average of its tests {average} at the layer {}", self.layer))
    }
}
