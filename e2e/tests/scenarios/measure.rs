//! `unflake measure`: selection, noise rules and runners without layers. What it must find is in
//! the specimens of `specimens/variance`.

use e2e::{RunOutput, Sandbox};

const PYTEST: [&str; 3] = ["python", "-m", "pytest"];

fn measure(sandbox: &Sandbox, options: &[&str], command: &[&str]) -> RunOutput {
    sandbox.unflake(["measure"]).json().args(options).arg("--").args(command).finish()
}

const FLAKY: &str = "\
import random

def test_by_chance():
    assert random.random() < 0.5

def test_passes():
    assert True
";

#[test]
fn a_flaky_test_is_reported_with_a_confidence_interval() {
    let sandbox = Sandbox::with_tests(FLAKY);
    let page = sandbox.root().join("page.html");
    let result = measure(&sandbox, &["--runs", "20", "--html", page.to_str().unwrap()], &PYTEST).expect_exit(1);
    let verdict = result.list("findings").iter().find(|finding| finding["kind"] == "verdict").unwrap();
    assert_eq!(verdict["test"], "test_it.py::test_by_chance");
    let failures = &verdict["failures"];
    assert_eq!(failures["of"], 20);
    let share = failures["seen"].as_f64().unwrap() / 20.0;
    assert!(failures["low"].as_f64() < Some(share) && failures["high"].as_f64() > Some(share), "{failures}");
    assert!(result.stdout.contains("FLAKY") && result.stdout.contains("95 % CI"), "{}", result.stdout);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("test_by_chance") && page.contains("How much runs differ"), "{page}");
}

#[test]
fn only_selected_tests_and_layers_are_measured() {
    let sandbox = Sandbox::with_tests(FLAKY);
    let result = measure(&sandbox, &["test_passes", "--layer", "code", "--runs", "3"], &PYTEST).expect_exit(0);
    assert!(result.list("findings").is_empty());
    assert_eq!(result.list("attempts").len(), 3);
    let layers: Vec<_> =
        result.json()["measured"]["layers"].as_array().unwrap().iter().map(|layer| layer["layer"].clone()).collect();
    assert_eq!(layers, ["verdict", "code"]);
    assert!(result.stdout.contains("no differences"), "{}", result.stdout);
}

#[test]
fn invalid_arguments_are_rejected_before_anything_runs() {
    let sandbox = Sandbox::with_tests(FLAKY);
    let printed = |options: &[&str]| measure(&sandbox, options, &PYTEST).expect_exit(2).stderr;
    assert!(printed(&["--layer", "taste"]).contains("there is no `taste`\nhint: choose from verdict, assertion, code"));
    assert!(printed(&["--no-rule", "adresses"]).contains("there is no rule `adresses`: addresses, "));
    assert!(printed(&["--runs", "1"]).contains("one run has nothing to be compared with"));
    assert!(printed(&["test_nobody"]).contains("no test has `test_nobody` in its name"));
}

#[test]
fn a_disabled_noise_rule_lets_noise_through() {
    let sandbox = Sandbox::with_tests("import os\n\ndef test_pid():\n    pid = os.getpid()\n    assert pid > 0\n");
    let with = measure(&sandbox, &["--runs", "3", "--layer", "assertion"], &PYTEST).expect_exit(0);
    assert!(with.list("findings").is_empty(), "{:?}", with.findings());
    assert!(with.stdout.contains("suppressed as noise"), "{}", with.stdout);
    let without =
        measure(&sandbox, &["--runs", "3", "--layer", "assertion", "--no-rule", "pids"], &PYTEST).expect_exit(0);
    assert_eq!(without.findings(), ["test_it.py::test_pid assertion"]);
}

#[test]
fn crashed_attempts_are_part_of_the_measurement() {
    let sandbox = Sandbox::with_tests(
        "import os, random\n\ndef test_dies():\n    if random.random() < 0.5:\n        os.abort()\n\ndef test_after():\n    pass\n",
    );
    let result = measure(&sandbox, &["--runs", "20", "--layer", "code"], &PYTEST).expect_exit(1);
    assert_eq!(result.findings(), ["test_it.py::test_dies code", "test_it.py::test_dies verdict"]);
    assert_eq!(result.list("attempts").len(), 40);
}

#[test]
fn a_runner_without_layers_has_verdicts_and_output() {
    let sandbox = Sandbox::new()
        .file("Cargo.toml", "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2021\"\n")
        .file(
            "src/lib.rs",
            "#[test]\nfn prints() {\n    let of_time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();\n    \
             println!(\"drew {}\", of_time.as_nanos() % 7919 + 1);\n    panic!(\"libtest shows what failing tests print\");\n}\n",
        );
    let result = measure(&sandbox, &["--runs", "6"], &["cargo", "test"]).expect_exit(1);
    let measured = &result.json()["measured"];
    let words = |list: &serde_json::Value, name: &str| -> Vec<String> {
        let word = |one: &serde_json::Value| if name.is_empty() { one.clone() } else { one[name].clone() };
        list.as_array().unwrap().iter().map(|one| word(one).as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(words(&measured["layers"], "layer"), ["verdict", "interface"], "{}", result.stdout);
    assert_eq!(words(&measured["unseen"], ""), ["assertion", "code", "behaviour"]);
    assert!(result.stdout.contains("not recorded: code: the runner does not record it"), "{}", result.stdout);
    assert!(result.findings().iter().any(|finding| finding.ends_with("interface")), "{}", result.stdout);
}
