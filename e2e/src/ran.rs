use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use serde_json::Value;

use crate::Story;

/// What came of a command of unflake.
pub struct Ran {
    /// The exit code; of a process that was killed, the negative number of the signal.
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
    /// What it wrote for machines, where it did.
    pub json: Option<Value>,
}

impl Ran {
    pub(crate) fn new(story: &Story, status: ExitStatus, stdout: String, stderr: String) -> Self {
        let code = status.code().or(status.signal().map(|signal| -signal)).unwrap_or_default();
        let json = fs::read(story.place().join("found.json")).ok().filter(|text| !text.is_empty());
        let json = json.map(|text| serde_json::from_slice(&text).expect("what is written for machines is JSON"));
        let ran = Self { code, stdout, stderr, json };
        if let Some(json) = &ran.json {
            assert_eq!(json["exit"]["code"], ran.code, "the JSON tells another exit code than the process");
        }
        ran
    }

    /// Fails with all that was said unless the exit code is this one.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "\n{}\n{}", self.stdout, self.stderr);
        self
    }

    #[track_caller]
    pub fn json(&self) -> &Value {
        self.json.as_ref().unwrap_or_else(|| panic!("no JSON was written\n{}\n{}", self.stdout, self.stderr))
    }

    /// A list of the document for machines.
    #[track_caller]
    pub fn list(&self, name: &str) -> &[Value] {
        self.json()[name].as_array().unwrap_or_else(|| panic!("`{name}` is no list"))
    }

    /// Each finding as `test kind`, in alphabetical order.
    #[track_caller]
    pub fn findings(&self) -> Vec<String> {
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let told = |finding: &Value| format!("{} {}", word(&finding["test"]), word(&finding["kind"]));
        let mut findings: Vec<String> = self.list("findings").iter().map(told).collect();
        findings.sort();
        findings
    }

    /// Each attempt as `test outcome purpose origin`, in the order in which they ended.
    #[track_caller]
    pub fn attempts(&self) -> Vec<String> {
        let told = |attempt: &Value| {
            let outcome = attempt["outcome"].as_str().unwrap_or("crashed");
            let word = |name: &str| attempt[name].as_str().unwrap_or_default().to_owned();
            format!("{} {outcome} {} {}", word("test"), word("purpose"), word("origin"))
        };
        self.list("attempts").iter().map(told).collect()
    }

    #[track_caller]
    pub fn finding(&self, test: &str) -> &Value {
        let found = self.list("findings").iter().find(|finding| finding["test"] == test);
        found.unwrap_or_else(|| panic!("nothing was found of {test}: {:?}", self.findings()))
    }

    /// The notes of the run, the texts of its problems, and why tests were left: all that is said besides the findings.
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
