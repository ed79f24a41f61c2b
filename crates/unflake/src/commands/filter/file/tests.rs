//! Tests of `file`.

use super::*;

fn day(text: &str) -> Date {
    text.parse().unwrap()
}

fn entry(test: &str, score: f64) -> FilterEntry {
    let spot = AssertionKey {
        file: "tests/test_a.py".to_owned(),
        function: "test_a".to_owned(),
        expression: "width == \"358\"".to_owned(),
        ordinal: 0,
    };
    let assertion = Assertion { test: TestId::new(test), spot };
    let learned = LearnedAssertion { assertion, body: "b1".to_owned(), same: 1, source: None, alike: false };
    let failing = vec!["width = \"348\"\nother = 1\u{7f}".to_owned()];
    FilterEntry { learned, score, runs: 10, failed: 3, failing, inert: None }
}

fn written(test: &str, score: f64, expires: &str) -> FileEntry {
    let reason = format!("{OUR_REASON} in 10 runs");
    FileEntry::new(entry(test, score), "Ada", day("2026-11-15"), Some(day(expires)), reason)
}

fn read(text: &str) -> Result<FilterFile, String> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(NAME);
    fs::write(&path, text).unwrap();
    FilterFile::read(&path).map(Option::unwrap).map_err(|error| error.to_string())
}

#[test]
fn a_written_file_is_sorted_and_read_back() {
    let entries = vec![written("t::b", 0.61, "2027-02-13"), written("t::a", 1.0, "2027-02-13")];
    let file = FilterFile { threshold: 0.3, rule: RuleName::Strict, entries };
    let text = file.text();
    insta::assert_snapshot!(text);
    let back = read(&text).unwrap();
    assert_eq!(back.entries, [file.entries[1].clone(), file.entries[0].clone()]);
    assert_eq!(back.text(), text);
}

#[test]
fn an_entry_is_inert_when_it_has_expired_or_is_below_the_threshold() {
    let entry = written("t::a", 0.61, "2026-11-20");
    assert_eq!(entry.entry(0.0, day("2026-11-19")).inert, None);
    assert!(entry.entry(0.0, day("2026-11-20")).inert.unwrap().contains("expired on 2026-11-20"));
    assert!(entry.entry(0.61, day("2026-11-19")).inert.unwrap().contains("threshold"));
}

#[test]
fn a_reason_that_a_person_wrote_stays() {
    let mut ours = written("t::a", 0.61, "2027-02-13");
    ours.reason = "the window manager places it; see the ticket".to_owned();
    let mut file = FilterFile { entries: vec![ours], ..FilterFile::default() };
    file.renew(vec![written("t::a", 1.03, "2027-03-01"), written("t::b", 0.3, "2027-03-01")]);
    assert_eq!(file.entries.len(), 2);
    assert_eq!(file.entries[0].score, 1.03);
    assert_eq!(file.entries[0].expires.as_deref(), Some("2027-03-01"));
    assert!(file.entries[0].reason.starts_with("the window manager"));
}

#[test]
fn an_invalid_file_is_refused_with_a_message() {
    assert!(read("threshold = \"low\"").unwrap_err().contains("is no filter"));
    assert!(read("treshold = 1.0").unwrap_err().contains("unknown field"));
    let text = FilterFile { entries: vec![written("t::a", 1.0, "2027-02-13")], ..FilterFile::default() }.text();
    assert!(read(&text.replace("2027-02-13", "soon")).unwrap_err().contains("`soon` is no date"));
}
