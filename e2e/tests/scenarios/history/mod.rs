//! The history: imports, scores, renamed tests, concurrent writers, a shared server and shards.

mod imports;
mod kills;
mod postgres;
mod renamed_tests;
mod scores;
mod shards;

use std::fmt::Write;

/// A JUnit report of a pytest run on that day: each test with whether it passed.
pub(super) fn report(day: u32, tests: &[(&str, bool)]) -> String {
    let mut text = format!(
        r#"<?xml version="1.0" encoding="utf-8"?><testsuites><testsuite name="pytest" timestamp="2026-{:02}-{:02}T10:00:00Z">"#,
        1 + day / 28,
        1 + day % 28
    );
    for (name, passed) in tests {
        let failure = if *passed { "" } else { r#"<failure message="AssertionError: no">no</failure>"# };
        write!(text, r#"<testcase classname="tests.test_shop" name="{name}" time="0.5">{failure}</testcase>"#).unwrap();
    }
    text + "</testsuite></testsuites>"
}
