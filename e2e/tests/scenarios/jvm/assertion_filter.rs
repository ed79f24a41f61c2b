//! The assertion filter on Java tests: varying assertions are filtered, and no bug is.

use std::collections::BTreeSet;
use std::fs;

use e2e::{RunOutput, Sandbox};
use serde::Deserialize;
use serde_json::Value;

use super::{expected, turn};

#[derive(Deserialize)]
struct FilterTruth {
    second: Second,
}

#[derive(Deserialize)]
struct Second {
    /// Test, assertion, and kind of the finding.
    bugs: Vec<(String, String, String)>,
    flaky: BTreeSet<String>,
}

/// Runs unflake with the turns of varying assertions reset.
fn call(sandbox: &Sandbox, words: &[&str], later: bool) -> RunOutput {
    let turns = sandbox.root().join("turns");
    let _ = fs::remove_dir_all(&turns);
    fs::create_dir(&turns).unwrap();
    let mut call = sandbox.unflake(words).json().env("SHOP_TURNS", &turns);
    if later {
        call = call.env("SHOP_LATER", "yes");
    }
    call.args(["--", "mvn", "-o", "-q", "-B", "test"]).finish()
}

fn expressions(result: &RunOutput, kind: &str) -> BTreeSet<String> {
    let is_it = |finding: &&Value| finding["technique"] == "filter" && finding["kind"] == kind;
    let text = |finding: &Value| finding["assertion"]["expression"].as_str().unwrap().to_owned();
    result.list("findings").iter().filter(is_it).map(text).collect()
}

#[test]
fn varying_assertions_are_filtered_and_no_bug_is() {
    let _turn = turn();
    let FilterTruth { second } = expected("assertion_filter/java/shop");
    let sandbox = Sandbox::specimen("assertion_filter/java/shop");
    let learned = call(&sandbox, &["filter", "learn", "--runs", "6"], false).expect_exit(0);
    let filter = fs::read_to_string(sandbox.project().join("unflake-filter.toml")).unwrap();
    // Six assertions are never filtered, because the test catches their failure.
    assert_eq!(filter.matches("[[assertion]]").count(), 11, "{filter}\n{}", learned.stdout);

    let shop = "src/main/java/com/acme/Shop.java";
    fs::copy(sandbox.project().join("2").join(shop), sandbox.project().join(shop)).unwrap();
    let result = call(&sandbox, &["run", "--filter", "--granularity", "off"], true).expect_exit(1);
    let what = format!("{}\n{}", result.stdout, result.remarks());
    let is_real = |finding: &&Value| finding["technique"] == "verdict" && finding["kind"] == "real";
    let real: BTreeSet<&str> =
        result.list("findings").iter().filter(is_real).map(|finding| finding["test"].as_str().unwrap()).collect();
    assert_eq!(real, second.bugs.iter().map(|(test, ..)| test.as_str()).collect(), "{what}");
    for (_, expression, kind) in &second.bugs {
        assert!(expressions(&result, kind).contains(expression), "{expression}: {what}");
    }
    assert_eq!(expressions(&result, "flaky"), second.flaky, "{what}");
}
