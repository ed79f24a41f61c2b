//! `unflake run` with `cargo test`, nextest, GoogleTest and CTest. Test programs are compiled once
//! and kept until their sources change.

mod cpp;
mod instruments;
mod rust;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use e2e::RunOutput;
use quick_xml::Reader;
use quick_xml::events::Event;

/// The directory of compiled programs, kept between test runs.
pub(super) fn build_cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("native")
}

/// Writes a file unless it has this content already, so that nothing is rebuilt.
pub(super) fn write(path: &Path, text: &str) {
    if fs::read_to_string(path).is_ok_and(|there| there == text) {
        return;
    }
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// The first outcome of every test.
pub(super) fn outcomes(result: &RunOutput) -> BTreeMap<String, String> {
    let mut first = BTreeMap::new();
    for attempt in result.list("attempts") {
        let outcome = attempt["outcome"].as_str().unwrap_or("crashed").to_owned();
        first.entry(attempt["test"].as_str().unwrap().to_owned()).or_insert(outcome);
    }
    first
}

pub(super) fn as_lines(outcomes: &BTreeMap<String, String>) -> String {
    outcomes.iter().map(|(test, outcome)| format!("{test}: {outcome}")).collect::<Vec<_>>().join("\n")
}

pub(super) fn text(output: &Output) -> String {
    [&output.stdout[..], &output.stderr[..]].map(|bytes| String::from_utf8_lossy(bytes).into_owned()).concat()
}

/// Runs the repro command of each finding, and expects it to fail and to name the test.
pub(super) fn repeat(result: &RunOutput, shell: impl Fn() -> Command) {
    assert!(!result.list("findings").is_empty());
    for finding in result.list("findings") {
        let repeat = finding["reproduce"][0]["command"].as_str().unwrap();
        let repeat = &match repeat.strip_prefix("unflake ") {
            Some(rest) => format!("{} {rest}", e2e::unflake().display()),
            None => repeat.to_owned(),
        };
        let output = shell().args(["-c", repeat]).output().unwrap();
        let printed = text(&output);
        assert!(!output.status.success(), "{repeat}\n{printed}");
        let name = finding["test"].as_str().unwrap().rsplit([' ', ':']).next().unwrap();
        assert!(printed.contains(name), "{repeat}\n{printed}");
    }
}

/// How often each element occurs in a JUnit report that describes an outcome.
pub(super) fn elements(report: &Path) -> BTreeMap<String, usize> {
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

/// For each finding, phase and message of the first failing attempt.
pub(super) fn reported(result: &RunOutput) -> String {
    let reported = |finding: &serde_json::Value| {
        let failing =
            |attempt: &&serde_json::Value| attempt["test"] == finding["test"] && !attempt["failure"].is_null();
        let failure = &result.list("attempts").iter().find(failing).unwrap()["failure"];
        let word = |value: &serde_json::Value| value.as_str().unwrap_or_default().replace('\n', " | ");
        let place = (word(&failure["phase"]), word(&failure["message"]));
        format!("{} {}: {}: {}", word(&finding["test"]), word(&finding["kind"]), place.0, place.1)
    };
    result.list("findings").iter().map(reported).collect::<Vec<_>>().join("\n")
}
