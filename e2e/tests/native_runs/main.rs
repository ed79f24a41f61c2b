//! What people do with `cargo test`, nextest, GoogleTest and CTest, and with unflake around them.
//!
//! What has to be compiled is compiled once for all stories and kept between runs as long as it stays the same.

mod cpp;
mod rust;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use e2e::Ran;
use quick_xml::Reader;
use quick_xml::events::Event;

/// A place for what is built, which stays.
pub(crate) fn kept() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("native")
}

/// Writes a file only where it is not as it should be: what is newer than its sources is not built again.
pub(crate) fn write(path: &Path, text: &str) {
    if fs::read_to_string(path).is_ok_and(|there| there == text) {
        return;
    }
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// The first outcome of every test.
pub(crate) fn outcomes(ran: &Ran) -> BTreeMap<String, String> {
    let mut first = BTreeMap::new();
    for attempt in ran.list("attempts") {
        let outcome = attempt["outcome"].as_str().unwrap_or("crashed").to_owned();
        first.entry(attempt["test"].as_str().unwrap().to_owned()).or_insert(outcome);
    }
    first
}

pub(crate) fn as_lines(outcomes: &BTreeMap<String, String>) -> String {
    outcomes.iter().map(|(test, outcome)| format!("{test}: {outcome}")).collect::<Vec<_>>().join("\n")
}

pub(crate) fn text(output: &Output) -> String {
    [&output.stdout[..], &output.stderr[..]].map(|bytes| String::from_utf8_lossy(bytes).into_owned()).concat()
}

/// Runs what each finding says shows it again, and expects it to fail, and to speak of the test.
pub(crate) fn repeat(ran: &Ran, shell: impl Fn() -> Command) {
    assert!(!ran.list("findings").is_empty());
    for finding in ran.list("findings") {
        let repeat = finding["repeat"].as_str().unwrap();
        let output = shell().args(["-c", repeat]).output().unwrap();
        let said = text(&output);
        assert!(!output.status.success(), "{repeat}\n{said}");
        let name = finding["test"].as_str().unwrap().rsplit([' ', ':']).next().unwrap();
        assert!(said.contains(name), "{repeat}\n{said}");
    }
}

/// How often each element of a report occurs that says how a test ended.
pub(crate) fn elements(report: &Path) -> BTreeMap<String, usize> {
    let mut reader = Reader::from_file(report).unwrap();
    let (mut buffer, mut counts) = (Vec::new(), BTreeMap::new());
    loop {
        match reader.read_event_into(&mut buffer).unwrap() {
            Event::Start(start) | Event::Empty(start) => {
                let name = String::from_utf8(start.name().as_ref().to_vec()).unwrap();
                if !["test", "sys", "prop", "stack"].iter().any(|other| name.starts_with(other)) || name == "testcase" {
                    *counts.entry(name).or_default() += 1;
                }
            }
            Event::Eof => return counts,
            _ => {}
        }
        buffer.clear();
    }
}

/// Of every finding, what its test told when it failed for the first time.
pub(crate) fn told(ran: &Ran) -> String {
    let told = |finding: &serde_json::Value| {
        let failing =
            |attempt: &&serde_json::Value| attempt["test"] == finding["test"] && !attempt["failure"].is_null();
        let failure = &ran.list("attempts").iter().find(failing).unwrap()["failure"];
        let word = |value: &serde_json::Value| value.as_str().unwrap_or_default().replace('\n', " | ");
        let place = (word(&failure["phase"]), word(&failure["message"]));
        format!("{} {}: {}: {}", word(&finding["test"]), word(&finding["kind"]), place.0, place.1)
    };
    ran.list("findings").iter().map(told).collect::<Vec<_>>().join("\n")
}
