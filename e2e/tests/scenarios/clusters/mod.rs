//! Sessions on other machines: the same findings as here, and nothing lost or counted twice when a
//! part of the cluster is killed.

mod reapi;
mod slurm;

use std::collections::BTreeMap;

use e2e::RunOutput;
use serde_json::Value;

/// Tests of which one depends on another, and one on itself.
const SHOP: &str = "
import time
cart = []
def test_add():
    cart.append(1)
def test_empty():
    assert cart == []
def test_other():
    pass
seen = {}
def test_once():
    assert 'it' not in seen
    seen['it'] = 1
";

/// Tests that take a while, so that something can be killed meanwhile.
const SLOW: &str = "
import pytest, time
@pytest.mark.parametrize('number', range(24))
def test_slow(number):
    time.sleep(0.5)
";

/// The machines of the worlds in a report.
fn machines(result: &RunOutput) -> Vec<&str> {
    let mut names: Vec<_> = result.list("worlds").iter().filter_map(|world| world["machine"].as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// What a finding says, without the machines.
fn essence(finding: &Value) -> String {
    let word = |name: &str| finding[name].as_str().unwrap_or_default();
    let sentence = word("sentence").split("; on ").next().unwrap_or_default();
    let places = ["culprits", "cells"].map(|name| match &finding[name] {
        Value::Array(all) => {
            all.iter().map(|one| one.get("path").unwrap_or(one).to_string()).collect::<Vec<_>>().join(" ")
        }
        _ => String::new(),
    });
    format!("{} {} {} {sentence} {places:?}", word("test"), word("technique"), word("kind"))
}

fn essences(result: &RunOutput) -> Vec<String> {
    let mut all: Vec<String> = result.list("findings").iter().map(essence).collect();
    all.sort();
    all
}

/// How many attempts each test has.
fn attempts(result: &RunOutput) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for attempt in result.list("attempts") {
        *counts.entry(attempt["test"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    counts
}
