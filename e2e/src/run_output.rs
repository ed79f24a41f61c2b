//! The result of a finished unflake command, with accessors for its JSON report.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use regex_lite::Regex;
use serde_json::Value;

use crate::Sandbox;

/// Exit code, output and JSON report of an unflake command.
pub struct RunOutput {
    /// The exit code; the negative signal number if the process was killed.
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
    /// The JSON report, if one was written.
    pub json: Option<Value>,
}

impl RunOutput {
    pub(crate) fn new(sandbox: &Sandbox, status: ExitStatus, stdout: String, stderr: String) -> Self {
        let code = status.code().or(status.signal().map(|signal| -signal)).unwrap_or_default();
        let json = fs::read(sandbox.json_report()).ok().filter(|text| !text.is_empty());
        let json = json.map(|text| without_load(&String::from_utf8(text).expect("the report is UTF-8")));
        let json: Option<Value> = json.map(|text| serde_json::from_str(&text).expect("the report is JSON"));
        let stdout = without_load(&stdout);
        if let Some(json) = &json {
            assert_eq!(json["exit"]["code"], code, "the JSON has another exit code than the process");
        }
        Self { code, stdout, stderr, json }
    }

    /// Fails with the whole output unless this is the exit code.
    #[track_caller]
    pub fn expect_exit(self, code: i32) -> Self {
        assert_eq!(self.code, code, "\n{}\n{}", self.stdout, self.stderr);
        self
    }

    #[track_caller]
    pub fn json(&self) -> &Value {
        self.json.as_ref().unwrap_or_else(|| panic!("no JSON report was written\n{}\n{}", self.stdout, self.stderr))
    }

    /// A list in the JSON report.
    #[track_caller]
    pub fn list(&self, name: &str) -> &[Value] {
        self.json()[name].as_array().unwrap_or_else(|| panic!("`{name}` is not a list"))
    }

    /// Each finding as `test kind`, in alphabetical order.
    #[track_caller]
    pub fn findings(&self) -> Vec<String> {
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let summary = |finding: &Value| format!("{} {}", word(&finding["test"]), word(&finding["kind"]));
        let mut findings: Vec<String> = self.list("findings").iter().map(summary).collect();
        findings.sort();
        findings
    }

    /// Each attempt as `test outcome purpose origin`, in order of completion.
    #[track_caller]
    pub fn attempts(&self) -> Vec<String> {
        let summary = |attempt: &Value| {
            let outcome = attempt["outcome"].as_str().unwrap_or("crashed");
            let word = |name: &str| attempt[name].as_str().unwrap_or_default().to_owned();
            format!("{} {outcome} {} {}", word("test"), word("purpose"), word("origin"))
        };
        self.list("attempts").iter().map(summary).collect()
    }

    #[track_caller]
    pub fn finding(&self, test: &str) -> &Value {
        let found = self.list("findings").iter().find(|finding| finding["test"] == test);
        found.unwrap_or_else(|| panic!("no finding for {test}: {:?}", self.findings()))
    }

    /// Problems, notes, the reason for tests that did not run, and the exit meaning: one per line.
    #[track_caller]
    pub fn remarks(&self) -> String {
        let mut lines: Vec<String> = Vec::new();
        for problem in self.list("problems") {
            lines.push(format!("{}: {}", problem["kind"].as_str().unwrap_or_default(), text(&problem["text"])));
        }
        lines.extend(self.list("notes").iter().map(|note| format!("note: {}", text(note))));
        if !self.list("left").is_empty() {
            lines.push(format!("left: {}", text(&self.json()["left_why"])));
        }
        lines.push(format!("exit {}: {}", self.code, text(&self.json()["exit"]["meaning"])));
        lines.join("\n")
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("(none)")
}

/// The text without remarks on the load of this machine, which other tests cause.
fn without_load(text: &str) -> String {
    let remark = "; the machine was busy whenever it failed (load of LOAD per core or more)";
    let pattern = remark.replace('(', r"\(").replace(')', r"\)").replace(' ', r"\s+").replace("LOAD", r"[\d.]+");
    Regex::new(&pattern).expect("the pattern is valid").replace_all(text, "").into_owned()
}
