//! The history through the real binary: results of other programs come in, once, whatever they are and whatever happens
//! meanwhile; and what is said of tests rests on them.

mod imports;
mod kills;
mod names;
mod scores;
mod team;

use std::fmt::Write;

/// A report as pytest writes it, of a run on that day: each test with whether it passed.
pub(crate) fn report(day: u32, tests: &[(&str, bool)]) -> String {
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
