//! Assertions of Java that come and go are let go, and no bug is.

use std::collections::BTreeSet;
use std::fs;

use e2e::{Ran, Story};
use serde::Deserialize;
use serde_json::Value;

use super::{cached, compiled, expected, turn};

#[derive(Deserialize)]
struct Truth {
    second: Second,
}

#[derive(Deserialize)]
struct Second {
    /// The test, the assertion, and what is said of it.
    bugs: Vec<(String, String, String)>,
    flaky: BTreeSet<String>,
}

/// What comes by turns begins anew.
fn call(story: &Story, words: &[&str], later: bool) -> Ran {
    let turns = story.place().join("turns");
    let _ = fs::remove_dir_all(&turns);
    fs::create_dir(&turns).unwrap();
    let mut call = story.unflake(words).arg("--json").arg(story.place().join("found.json")).env("SHOP_TURNS", &turns);
    if later {
        call = call.env("SHOP_LATER", "yes");
    }
    cached(call.args(["--", "mvn", "-o", "-q", "-B", "test"])).end()
}

fn expressions(ran: &Ran, kind: &str) -> BTreeSet<String> {
    let is_it = |finding: &&Value| finding["technique"] == "filter" && finding["kind"] == kind;
    let text = |finding: &Value| finding["assertion"]["expression"].as_str().unwrap().to_owned();
    ran.list("findings").iter().filter(is_it).map(text).collect()
}

#[test]
fn what_comes_and_goes_is_let_go_and_no_bug_is() {
    let _turn = turn();
    let Truth { second } = expected("jvm-filter");
    let story = Story::copy_of(&compiled("jvm-filter"));
    let learned = call(&story, &["filter", "learn", "--runs", "6"], false).exits(0);
    let filter = fs::read_to_string(story.project().join("unflake-filter.toml")).unwrap();
    // Six of them are never let go: somebody waits for their failure.
    assert_eq!(filter.matches("[[assertion]]").count(), 11, "{filter}\n{}", learned.stdout);

    let shop = "src/main/java/com/acme/Shop.java";
    fs::copy(story.project().join("2").join(shop), story.project().join(shop)).unwrap();
    let ran = call(&story, &["run", "--filter", "--granularity", "off"], true).exits(1);
    let what = format!("{}\n{}", ran.stdout, ran.remarks());
    let is_real = |finding: &&Value| finding["technique"] == "verdict" && finding["kind"] == "real";
    let real: BTreeSet<&str> =
        ran.list("findings").iter().filter(is_real).map(|finding| finding["test"].as_str().unwrap()).collect();
    assert_eq!(real, second.bugs.iter().map(|(test, ..)| test.as_str()).collect(), "{what}");
    for (_, expression, kind) in &second.bugs {
        assert!(expressions(&ran, kind).contains(expression), "{expression}: {what}");
    }
    assert_eq!(expressions(&ran, "flaky"), second.flaky, "{what}");
}
