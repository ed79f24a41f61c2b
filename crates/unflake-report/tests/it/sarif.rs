//! SARIF 2.1.0 for code scanning.

use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::Value;
use unflake_model::{Cell, Detail, Finding, Leak, LeakKind, WriteSite};
use unflake_report::sarif;

use crate::divergences;
use crate::samples::{self, Sample, failing, hostile, written};

fn document(sample: &Sample) -> Value {
    serde_json::from_str(&written(|out| sarif(&sample.run(), "0.1.0", out))).unwrap()
}

/// A real failure, a divergence, and leaked state.
fn sample() -> Sample {
    let written = WriteSite { file: "shop/cache of tea.py".into(), line: 27, function: "warm".into() };
    let cell = Cell {
        path: "shop.cache._entries".into(),
        kind: "module global".into(),
        after: Some("{'vat': 20}".into()),
        written: Some(written),
        ..Cell::default()
    };
    let after = vec!["tests/test_warm.py::test_warmup".into()];
    let leak = Leak { kind: LeakKind::Proven, after, cells: vec![cell], unknown: Vec::new(), evidence: None };
    let state = Finding {
        test: samples::COLD.into(),
        detail: Detail::State(leak),
        sentence: "test_warmup leaves shop.cache._entries behind".into(),
        reproduce: Vec::new(),
        replays: Vec::new(),
    };
    Sample::new(1, "1 real failure")
        .with(samples::TOTAL, [failing(samples::TOTAL, "AssertionError", "assert 3 == 4")])
        .found(samples::real(samples::TOTAL))
        .found(divergences::drawn().finding)
        .found(state)
}

#[test]
fn root_causes_and_real_failures_are_results() {
    assert_snapshot!(written(|out| sarif(&sample().run(), "0.1.0", out)));
}

/// The properties that the standard requires of each object that is written.
fn check_required(document: &Value) {
    assert_eq!(document["version"], "2.1.0");
    for run in document["runs"].as_array().unwrap() {
        let driver = &run["tool"]["driver"];
        assert!(driver["name"].is_string());
        let rules: Vec<&str> =
            driver["rules"].as_array().unwrap().iter().map(|rule| rule["id"].as_str().unwrap()).collect();
        for invocation in run["invocations"].as_array().unwrap() {
            assert!(invocation["executionSuccessful"].is_boolean());
        }
        for result in run["results"].as_array().unwrap() {
            assert!(result["message"]["text"].is_string());
            assert!(["none", "note", "warning", "error"].contains(&result["level"].as_str().unwrap()));
            assert!(rules.contains(&result["ruleId"].as_str().unwrap()), "{result}");
            let related = result["relatedLocations"].as_array().into_iter().flatten();
            for location in result["locations"].as_array().unwrap().iter().chain(related) {
                let physical = &location["physicalLocation"];
                let uri = physical["artifactLocation"]["uri"].as_str().unwrap();
                assert!(!uri.is_empty() && !uri.contains([' ', ':', '\\']) && uri.is_ascii(), "{uri}");
                assert!(physical["region"]["startLine"].as_u64().unwrap() > 0);
            }
            let fingerprints = result["partialFingerprints"].as_object().unwrap();
            assert!(fingerprints.values().all(Value::is_string));
        }
    }
}

#[test]
fn required_properties_are_present() {
    let document = document(&sample());
    check_required(&document);
    assert_eq!(document["runs"][0]["results"].as_array().unwrap().len(), 3);
}

proptest! {
    #[test]
    fn hostile_names_give_valid_documents(name in hostile(), message in hostile()) {
        let id = format!("tests/t.py::{name}");
        let mut attempt = failing(&id, "AssertionError", &message);
        attempt.failure.as_mut().unwrap().file = Some(name);
        let sample = Sample::new(1, "1 real failure").with(&id, [attempt]).found(samples::real(&id));
        check_required(&document(&sample));
    }
}
