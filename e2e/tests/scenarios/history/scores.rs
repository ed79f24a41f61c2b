//! `unflake history score` on sixty days of results.

use e2e::Sandbox;
use serde_json::Value;

use super::report;

/// Sixty days of a shop: one test never fails, one is flaky, one is broken since day 50, one was
/// flaky until day 30. On day 40 every test fails.
fn sixty_days() -> Sandbox {
    let mut sandbox = Sandbox::new().file(".github/CODEOWNERS", "* @all\ntests/ @shop/testers\n");
    let others: Vec<String> = (0..20).map(|number| format!("test_other_{number}")).collect();
    for day in 0..60 {
        let down = day == 40;
        let mut tests = vec![
            ("test_sound", !down),
            ("test_now_and_then", day % 7 != 3 && !down),
            ("test_broken", day < 50 && !down),
            ("test_fixed", (day >= 30 || day % 3 != 1) && !down),
        ];
        tests.extend(others.iter().map(|name| (name.as_str(), !down)));
        sandbox = sandbox.file(&format!("reports/{day:02}.xml"), report(day, &tests));
    }
    sandbox.unflake(["history", "import", "reports", "--quiet"]).finish().expect_exit(0);
    sandbox
}

fn scores(sandbox: &Sandbox, options: &[&str]) -> Vec<Value> {
    let printed = sandbox.unflake(["history", "score", "--json", "-"]).args(options).finish().expect_exit(0);
    let document: Value = serde_json::from_str(&printed.stdout).unwrap();
    assert_eq!(document["exit"]["code"], 0);
    assert_eq!(
        (&document["tests"], &document["runs"], &document["excluded_runs"]),
        (&24.into(), &60.into(), &1.into())
    );
    document["findings"].as_array().unwrap().clone()
}

#[test]
fn flaky_broken_and_fixed_tests_are_distinguished() {
    let sandbox = sixty_days();
    let found = scores(&sandbox, &[]);
    let reported: Vec<String> = found
        .iter()
        .map(|one| format!("{} {}", one["test"].as_str().unwrap(), one["state"].as_str().unwrap()))
        .collect();
    assert_eq!(reported, ["tests/test_shop.py::test_now_and_then flaky", "tests/test_shop.py::test_broken broken"]);
    let flaky = &found[0];
    assert_eq!((&flaky["failures"], &flaky["runs"], &flaky["owner"]), (&9.into(), &59.into(), &"@shop/testers".into()));
    let probability = flaky["probability"].as_f64().unwrap();
    assert!((0.08..0.22).contains(&probability), "{probability}");
    let broken = &found[1];
    assert_eq!((&broken["since"]["what"], &broken["failures"]), (&"broken".into(), &0.into()));
    assert!(broken["probability"].as_f64().unwrap() < 0.01);

    let all = scores(&sandbox, &["--all"]);
    let fixed = all.iter().find(|one| one["test"] == "tests/test_shop.py::test_fixed").unwrap();
    assert_eq!((&fixed["since"]["what"], &fixed["state"]), (&"fixed".into(), &"sound".into()));
    assert!(fixed["probability"].as_f64().unwrap() < 0.03);
}

#[test]
fn score_and_history_in_the_terminal() {
    let sandbox = sixty_days();
    let printed = sandbox.unflake(["history", "score"]).finish().expect_exit(0);
    insta::assert_snapshot!(printed.stdout);
    let printed = sandbox.unflake(["history", "show", "test_broken", "--limit", "3"]).finish().expect_exit(0);
    insta::assert_snapshot!(printed.stdout);
}
