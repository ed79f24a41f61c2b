//! The worked examples of Gao's dissertation as projects in Python and Java: Tables 3.1 and 3.2 with
//! formula 4.1, and Table 5.1.

use e2e::{RunOutput, Sandbox};
use serde_json::Value;

const PYTEST: [&str; 5] = ["python", "-m", "pytest", "-p", "no:cacheprovider"];
const MAVEN: [&str; 4] = ["mvn", "-o", "-B", "test"];

fn python() -> Sandbox {
    Sandbox::new()
        .file("table.py", include_str!("table.py"))
        .file("test_table.py", include_str!("test_table.py"))
        .file("test_window.py", include_str!("test_window.py"))
}

fn java() -> Sandbox {
    let sandbox = Sandbox::specimen("variance/java/assertions");
    std::fs::remove_dir_all(sandbox.project().join("src")).unwrap();
    sandbox
        .file("src/main/java/com/acme/Table.java", include_str!("Table.java"))
        .file("src/test/java/com/acme/TableTest.java", include_str!("TableTest.java"))
        .file("src/test/java/com/acme/WindowTest.java", include_str!("WindowTest.java"))
}

fn call(sandbox: &Sandbox, words: &[&str], command: &[&str]) -> RunOutput {
    sandbox.unflake(words).json().arg("--").args(command).finish().expect_exit(0)
}

fn rounded(number: &Value) -> f64 {
    (number.as_f64().unwrap() * 100.0).round() / 100.0
}

/// Tables 3.1 and 3.2, and formula 4.1 over them: 7 of 12 later runs differ from the first.
fn check_table_3(sandbox: &Sandbox, command: &[&str], tests: [&str; 5]) {
    let result = call(sandbox, &["measure", "--runs", "4", "--layer", "code", tests[0]], command);
    let layers = result.json()["measured"]["layers"].as_array().unwrap().clone();
    let code = layers.iter().find(|one| one["layer"] == "code").unwrap_or_else(|| panic!("{}", result.stdout));
    assert_eq!((rounded(&code["suite"]["entropy"]), &code["suite"]["range"]), (0.56, &1.into()));
    assert_eq!(code["suite"]["groups"], serde_json::json!([3, 1]));
    assert_eq!((rounded(&code["entropy"]), rounded(&code["range"])), (0.57, 1.25), "{code}");
    assert_eq!((&code["tests"], &code["differing"]), (&4.into(), &3.into()));
    assert_eq!((&code["false_positives"]["seen"], &code["false_positives"]["of"]), (&7.into(), &12.into()));
    let findings = result.list("findings");
    let of = |test: &str| findings.iter().find(|one| one["test"] == *test && one["kind"] == "code");
    assert!(of(tests[1]).is_none(), "TC1: entropy 0, range 0");
    for (test, entropy, range, groups) in
        [(tests[2], 0.56, 1, vec![3, 1]), (tests[3], 0.69, 2, vec![2, 2]), (tests[4], 1.04, 2, vec![2, 1, 1])]
    {
        let spread = of(test).unwrap_or_else(|| panic!("{test} has no finding\n{}", result.stdout));
        assert_eq!((rounded(&spread["entropy"]), &spread["range"]), (entropy, &range.into()), "{test}");
        assert_eq!(spread["groups"], serde_json::json!(groups), "{test}");
    }
}

/// Table 5.1: the score of each assertion is the entropy of its values in ten runs.
fn check_table_5(sandbox: &Sandbox, command: &[&str]) {
    call(sandbox, &["filter", "learn", "--file", "filter.toml"], command);
    let text = std::fs::read_to_string(sandbox.project().join("filter.toml")).unwrap();
    let mut scores: Vec<f64> =
        text.lines().filter_map(|line| line.trim().strip_prefix("score = ")?.parse().ok()).collect();
    scores.sort_by(f64::total_cmp);
    assert_eq!(scores, [0.33, 0.61, 1.03, 1.28], "those of two assertions are 0\n{text}");
}

#[test]
fn tables_of_the_dissertation_come_out_in_python() {
    let sandbox = python();
    let tests = [
        "test_table",
        "test_table.py::test_a",
        "test_table.py::test_b",
        "test_table.py::test_c",
        "test_table.py::test_d",
    ];
    check_table_3(&sandbox, &PYTEST, tests);
    check_table_5(&sandbox, &[&PYTEST[..], &["test_window.py"]].concat());
}

#[test]
fn tables_of_the_dissertation_come_out_in_java() {
    let _turn = crate::jvm::turn();
    let sandbox = java();
    let tests =
        ["TableTest", "com.acme.TableTest#a", "com.acme.TableTest#b", "com.acme.TableTest#c", "com.acme.TableTest#d"];
    check_table_3(&sandbox, &MAVEN, tests);
    check_table_5(&sandbox, &[&MAVEN[..], &["-Dtest=WindowTest"]].concat());
}
