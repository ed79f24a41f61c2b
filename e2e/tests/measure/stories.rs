//! What else can happen to somebody who measures.

use e2e::Story;

use crate::{PYTEST, measure};

const FLAKY: &str = "\
import random

def test_by_chance():
    assert random.random() < 0.5

def test_passes():
    assert True
";

#[test]
fn a_test_that_fails_now_and_then_is_told_with_its_interval() {
    let story = Story::of(FLAKY);
    let page = story.place().join("page.html");
    let ran = measure(&story, &["--runs", "20", "--html", page.to_str().unwrap()], &PYTEST).exits(1);
    let verdict = ran.list("findings").iter().find(|finding| finding["kind"] == "verdict").unwrap();
    assert_eq!(verdict["test"], "test_it.py::test_by_chance");
    let failures = &verdict["failures"];
    assert_eq!(failures["of"], 20);
    let share = failures["seen"].as_f64().unwrap() / 20.0;
    assert!(failures["low"].as_f64() < Some(share) && failures["high"].as_f64() > Some(share), "{failures}");
    assert!(ran.stdout.contains("FLAKY") && ran.stdout.contains("95 % sure"), "{}", ran.stdout);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("test_by_chance") && page.contains("How far the runs differ"), "{page}");
}

#[test]
fn chosen_tests_and_layers_are_measured_and_no_others() {
    let story = Story::of(FLAKY);
    let ran = measure(&story, &["test_passes", "--layer", "code", "--runs", "3"], &PYTEST).exits(0);
    assert!(ran.list("findings").is_empty());
    assert_eq!(ran.list("attempts").len(), 3);
    let layers: Vec<_> =
        ran.json()["measured"]["layers"].as_array().unwrap().iter().map(|layer| layer["layer"].clone()).collect();
    assert_eq!(layers, ["verdict", "code"]);
    assert!(ran.stdout.contains("all runs alike"), "{}", ran.stdout);
}

#[test]
fn what_is_typed_wrong_is_said_before_anything_runs() {
    let story = Story::of(FLAKY);
    let said = |options: &[&str]| measure(&story, options, &PYTEST).exits(2).stderr;
    assert!(said(&["--layer", "taste"]).contains("there is no layer `taste`: verdict, assertion, code"));
    assert!(said(&["--no-rule", "adresses"]).contains("there is no rule `adresses`: addresses, "));
    assert!(said(&["--runs", "1"]).contains("one run has nothing to be compared with"));
    assert!(said(&["test_nobody"]).contains("no test has `test_nobody` in its name"));
}

#[test]
fn a_rule_that_is_off_lets_noise_through() {
    let story = Story::of("import os\n\ndef test_pid():\n    pid = os.getpid()\n    assert pid > 0\n");
    let with = measure(&story, &["--runs", "3", "--layer", "assertion"], &PYTEST).exits(0);
    assert!(with.list("findings").is_empty(), "{:?}", with.findings());
    assert!(with.stdout.contains("taken for noise"), "{}", with.stdout);
    let without = measure(&story, &["--runs", "3", "--layer", "assertion", "--no-rule", "pids"], &PYTEST).exits(0);
    assert_eq!(without.findings(), ["test_it.py::test_pid assertion"]);
}

#[test]
fn an_attempt_whose_process_died_is_part_of_the_measure() {
    let story = Story::of(
        "import os, random\n\ndef test_dies():\n    if random.random() < 0.5:\n        os.abort()\n\ndef test_after():\n    pass\n",
    );
    let ran = measure(&story, &["--runs", "20", "--layer", "code"], &PYTEST).exits(1);
    assert_eq!(ran.findings(), ["test_it.py::test_dies code", "test_it.py::test_dies verdict"]);
    assert_eq!(ran.list("attempts").len(), 40);
}

#[test]
fn a_runner_that_tells_no_layers_has_its_verdicts_and_what_tests_print() {
    let story = Story::new()
        .with("Cargo.toml", "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2021\"\n")
        .with(
            "src/lib.rs",
            "#[test]\nfn prints() {\n    let of_time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();\n    \
             println!(\"drew {}\", of_time.as_nanos() % 7919 + 1);\n    panic!(\"libtest shows what failing tests print\");\n}\n",
        );
    let ran = measure(&story, &["--runs", "6"], &["cargo", "test"]).exits(1);
    let measured = &ran.json()["measured"];
    let words = |list: &serde_json::Value, name: &str| -> Vec<String> {
        let word = |one: &serde_json::Value| if name.is_empty() { one.clone() } else { one[name].clone() };
        list.as_array().unwrap().iter().map(|one| word(one).as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(words(&measured["layers"], "layer"), ["verdict", "interface"], "{}", ran.stdout);
    assert_eq!(words(&measured["unseen"], ""), ["assertion", "code", "behaviour"]);
    assert!(ran.stdout.contains("not seen: code: the runner or its agent tells nothing of it"), "{}", ran.stdout);
    assert!(ran.findings().iter().any(|finding| finding.ends_with("interface")), "{}", ran.stdout);
}
