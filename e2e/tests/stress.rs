//! `unflake run --stress`: tests beside copies of themselves.

use e2e::Story;

/// Two copies at once fail: each takes a file for its own and finds the other's mark in it.
const CONTESTED: &str = r#"
#[test]
fn always() {}

#[test]
fn has_the_file_to_itself() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("taken");
    let mine = format!("{}", std::process::id());
    std::fs::write(&path, &mine).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(100));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), mine, "somebody else wrote there");
}
"#;

fn contested() -> Story {
    Story::new()
        .with("Cargo.toml", "[package]\nname = \"contested\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n")
        .with("src/lib.rs", "")
        .with("tests/files.rs", CONTESTED)
}

#[test]
fn a_test_that_cannot_stand_beside_itself_is_found_and_left_alone_then() {
    let story = contested();
    let plain = story.run("", "cargo test").exits(0);
    assert!(plain.list("findings").is_empty());

    let ran = story.run("--stress --for 60s --times 40 --jobs 4", "cargo test").exits(1);
    let findings = ran.list("findings");
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0]["test"], "contested::files has_the_file_to_itself");
    let times = |test: &str| ran.list("attempts").iter().filter(|attempt| attempt["test"] == test).count();
    assert_eq!(times("contested::files always"), 40);
    assert!(times("contested::files has_the_file_to_itself") < 40);
    assert_eq!(ran.json()["exit"]["meaning"].as_str().unwrap().split(' ').next_back(), Some("stress"));
}

#[test]
fn pytest_is_put_under_stress_too() {
    let story = Story::of(
        "import os, time\n\
         def test_alone():\n    open('taken', 'w').write(str(os.getpid()))\n    time.sleep(0.1)\n    \
         assert open('taken').read() == str(os.getpid())\n\
         def test_always():\n    pass\n",
    );
    let ran = story.run("--stress --for 60s --times 8 --jobs 4", "python -m pytest").exits(1);
    let failing: Vec<_> = ran.list("findings").iter().map(|finding| finding["test"].as_str().unwrap()).collect();
    assert_eq!(failing, ["test_it.py::test_alone"]);
}

#[test]
fn a_time_limit_ends_it_and_nothing_found_is_success() {
    let ran = contested().run("--stress --for 1s --jobs 1", "cargo test always").exits(0);
    assert!(ran.list("attempts").len() > 1 && ran.list("findings").is_empty());
}

#[test]
fn a_search_is_cut_short_when_its_time_is_over_and_makes_nothing_of_what_was_under_way() {
    let story = Story::of("import time\ndef test_ever():\n    time.sleep(600)\ndef test_at_once():\n    pass\n");
    for search in ["order", "nio"] {
        let found = story.place().join("found.json");
        let call = story.unflake([search, "--for", "1", "--json"]).arg(found);
        let ran = call.args(["--", "python", "-m", "pytest"]).end().exits(0);
        assert_eq!(ran.list("findings"), [] as [serde_json::Value; 0]);
        assert!(ran.list("attempts").iter().all(|attempt| attempt["test"] == "test_it.py::test_at_once"));
    }
}
