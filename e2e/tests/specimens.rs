//! Every specimen through `unflake run`, against what its `specimen.toml` says must be found. Those of `nio` and `order` are in
//! `pollution.rs`.
//!
//! `UNFLAKE_SPECIMEN_RUNS=20 cargo test -p e2e --test specimens -- --nocapture` runs each twenty times;
//! `UNFLAKE_SPECIMENS=rust` chooses those whose names have that in them.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::OnceLock;

use e2e::{Examined, Ran, Story, built, in_every_run, python, specimens};
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
    #[serde(default = "pytest")]
    args: Vec<String>,
    #[serde(default)]
    options: Vec<String>,
    /// Commands that make it ready to be run.
    #[serde(default)]
    build: Vec<Vec<String>>,
    exit: i32,
    tests: usize,
    #[serde(default)]
    finding: Vec<Expected>,
    rate: Option<Rate>,
    #[serde(skip)]
    built: OnceLock<PathBuf>,
}

/// Of a test that is left to chance: how often it fails.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rate {
    test: String,
    #[serde(rename = "alone")]
    _alone: f64,
    #[serde(rename = "loaded")]
    _loaded: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
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

fn pytest() -> Vec<String> {
    vec!["pytest".to_owned()]
}

/// Specimens of other commands, which have stories of their own.
const OTHERS: [&str; 6] = ["leak-", "locate-", "factor-", "filter-", "measure-", "jvm-"];

#[test]
fn every_specimen_gives_its_finding_in_every_run() {
    let read = |(name, text): (String, String)| {
        let specimen: Specimen = toml::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(name, specimen.name);
        specimen
    };
    let specimens: Vec<Specimen> =
        specimens(|name| !OTHERS.iter().any(|other| name.starts_with(other))).into_iter().map(read).collect();
    in_every_run(
        &specimens,
        |specimen| specimen.name.clone(),
        |specimen| Examined { wrong: examine(specimen), ..Examined::default() },
    );
}

/// Runs a specimen once and says in what way it is not as expected.
fn examine(specimen: &Specimen) -> Vec<String> {
    let story = Story::copy_of(specimen.built.get_or_init(|| built(&specimen.name, &specimen.build)));
    let runner = [python().to_str().unwrap(), "-m", "pytest"];
    let command = specimen.args.iter().flat_map(|word| match word.as_str() {
        "pytest" => runner.to_vec(),
        other => vec![other],
    });
    let ran = story.running("", "").args(&specimen.options).arg("--").args(command).end();
    let mut differences = Vec::new();
    let mut check = |what: &str, found: String, expected: String| {
        if found != expected {
            differences.push(format!("{what}: {found} instead of {expected}"));
        }
    };
    if let Some(rate) = &specimen.rate {
        // Nobody knows how often it fails this time; but no other test does.
        let others = ran.list("findings").iter().filter(|finding| finding["test"] != rate.test.as_str());
        check("tests", ran.list("tests").len().to_string(), specimen.tests.to_string());
        check("findings", brief(others.map(found)), "{}".to_owned());
        return differences;
    }
    check("exit", format!("{} ({})", ran.code, meaning(&ran)), format!("{} ({})", specimen.exit, meaning(&ran)));
    check("tests", ran.list("tests").len().to_string(), specimen.tests.to_string());
    check("attempts in the history", story.remembered().len().to_string(), ran.list("attempts").len().to_string());
    check("findings", brief(ran.list("findings").iter().map(found)), brief(specimen.finding.iter().map(expected)));
    for expected in &specimen.finding {
        let first = ran.list("attempts").iter().find(|attempt| attempt["test"] == expected.test.as_str());
        let Some(first) = first else { continue };
        let outcome = first["outcome"].as_str().unwrap_or("crashed");
        let message = first["failure"]["message"].as_str().unwrap_or_default();
        check(&expected.test, outcome.to_owned(), expected.outcome.clone());
        if let Some(death) = &expected.death {
            let told = if message.starts_with(death) { death } else { message };
            check(&expected.test, told.to_owned(), death.clone());
        }
        if let Some(part) = &expected.message_contains
            && !message.contains(part)
        {
            check(&expected.test, message.to_owned(), format!("something with {part:?}"));
        }
    }
    differences
}

fn meaning(ran: &Ran) -> String {
    ran.json()["exit"]["meaning"].as_str().unwrap_or_default().to_owned()
}

fn brief(findings: impl Iterator<Item = String>) -> String {
    format!("{:?}", findings.collect::<BTreeSet<_>>())
}

fn found(finding: &Value) -> String {
    let word = |value: &Value| value.as_str().unwrap_or("none").to_owned();
    let rerun = if finding["evidence"]["not_rerun"].is_null() { "" } else { " not-rerun" };
    let [test, technique, kind, rung] = ["test", "technique", "kind", "rung"].map(|name| word(&finding[name]));
    format!("{test} {technique} {kind} {rung}{rerun}")
}

fn expected(finding: &Expected) -> String {
    let Expected { test, technique, kind, .. } = finding;
    let rung = finding.rung.as_deref().unwrap_or("none");
    let rerun = if finding.not_rerun { " not-rerun" } else { "" };
    format!("{test} {technique} {kind} {rung}{rerun}")
}
