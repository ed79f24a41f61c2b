use e2e::Story;
use serde_json::Value;

use crate::report;

/// Sixty days of a shop: one test is sound, one fails now and then, one is broken since day 50, one was flaky until day 30; and
/// on day 40 the network was down.
fn sixty_days() -> Story {
    let mut story = Story::new().with(".github/CODEOWNERS", "* @all\ntests/ @shop/testers\n");
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
        story = story.with(&format!("reports/{day:02}.xml"), report(day, &tests));
    }
    story.unflake(["import", "reports", "--quiet"]).end().exits(0);
    story
}

fn scores(story: &Story, options: &[&str]) -> Vec<Value> {
    let said = story.unflake(["score", "--json", "-"]).args(options).end().exits(0);
    let document: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(document["exit"]["code"], 0);
    assert_eq!((&document["tests"], &document["runs"], &document["set_apart"]), (&24.into(), &60.into(), &1.into()));
    document["findings"].as_array().unwrap().clone()
}

#[test]
fn flaky_broken_and_fixed_tests_are_told_apart() {
    let story = sixty_days();
    let found = scores(&story, &[]);
    let told: Vec<String> = found
        .iter()
        .map(|one| format!("{} {}", one["test"].as_str().unwrap(), one["state"].as_str().unwrap()))
        .collect();
    assert_eq!(told, ["tests/test_shop.py::test_now_and_then flaky", "tests/test_shop.py::test_broken broken"]);
    let flaky = &found[0];
    assert_eq!((&flaky["failures"], &flaky["runs"], &flaky["owner"]), (&9.into(), &59.into(), &"@shop/testers".into()));
    let probability = flaky["probability"].as_f64().unwrap();
    assert!((0.08..0.22).contains(&probability), "{probability}");
    let broken = &found[1];
    assert_eq!((&broken["since"]["what"], &broken["failures"]), (&"broken".into(), &0.into()));
    assert!(broken["probability"].as_f64().unwrap() < 0.01);

    let all = scores(&story, &["--all"]);
    let fixed = all.iter().find(|one| one["test"] == "tests/test_shop.py::test_fixed").unwrap();
    assert_eq!((&fixed["since"]["what"], &fixed["state"]), (&"fixed".into(), &"sound".into()));
    assert!(fixed["probability"].as_f64().unwrap() < 0.03);
}

#[test]
fn a_person_reads_what_to_do() {
    let story = sixty_days();
    let said = story.unflake(["score"]).end().exits(0);
    insta::assert_snapshot!(said.stdout);
    let said = story.unflake(["history", "test_broken", "--limit", "3"]).end().exits(0);
    insta::assert_snapshot!(said.stdout);
}
