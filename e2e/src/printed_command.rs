//! Commands that unflake prints to reproduce findings: pastes them into a shell and compares what
//! happens with what they claim.

use std::collections::BTreeMap;
use std::fmt;

use regex_lite::Regex;
use serde_json::Value;

use crate::{Sandbox, unflake};

/// How often a command that fails by chance is tried.
const TRIES: u32 = 40;
/// Seconds after which a command hangs.
const LIMIT: &str = "120";
/// The exit code of `timeout` for a command that hangs.
const HANGS: i32 = 124;
/// The exit code of a shell whose command died of a signal is above this.
const SIGNAL: i32 = 128;

/// A printed command and what it claims to show.
pub struct PrintedCommand {
    test: String,
    command: String,
    shows: String,
}

/// What a pasted command showed.
pub enum Pasted {
    Shown,
    /// Chance decides, and it did not fail.
    NotShown,
    /// What it did instead.
    Wrong(String),
}

impl PrintedCommand {
    /// The commands of a finding in a JSON report.
    pub fn all_of(finding: &Value) -> Vec<Self> {
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let printed = finding["reproduce"].as_array().into_iter().flatten();
        let claim = |one: &Value| {
            let [command, shows] = ["command", "shows"].map(|key| word(&one[key]));
            Self { test: word(&finding["test"]), command, shows }
        };
        printed.map(claim).collect()
    }

    /// Runs the command in the project, as often as the claim needs.
    pub fn paste(&self, sandbox: &Sandbox, variables: &BTreeMap<String, String>) -> Pasted {
        let run = || Output::of(&self.command, sandbox, variables);
        let expect =
            |is_so: bool, output: Output| if is_so { Pasted::Shown } else { Pasted::Wrong(output.to_string()) };
        match self.shows.as_str() {
            "fails" | "always-fails" => {
                let output = run();
                expect(output.shows_failure_of(&self.test), output)
            }
            "passes" => {
                let output = run();
                expect(output.code == 0, output)
            }
            "sometimes-fails" => {
                let fails = (0..TRIES).any(|_| run().shows_failure_of(&self.test));
                if fails { Pasted::Shown } else { Pasted::NotShown }
            }
            other => Pasted::Wrong(format!("`{other}` is no claim")),
        }
    }
}

impl fmt::Display for PrintedCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.test, self.shows, self.command)
    }
}

struct Output {
    code: i32,
    text: String,
}

impl Output {
    fn of(command: &str, sandbox: &Sandbox, variables: &BTreeMap<String, String>) -> Self {
        let binaries = unflake().parent().expect("the binary is in a directory");
        let mut shell = sandbox.command("timeout");
        shell.args([LIMIT, "sh", "-c", &format!("PATH=\"$BINARIES:$PATH\"; {command}")]);
        let output = shell.env("BINARIES", binaries).envs(variables).output().expect("there is a shell");
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        Self { code: output.status.code().unwrap_or(SIGNAL + 1), text }
    }

    /// Whether the command failed and says so of this test. A runner that died says nothing.
    fn shows_failure_of(&self, test: &str) -> bool {
        let failure = Regex::new("(?i)fail|error|panicked|crash|abort|timed").expect("it is a regular expression");
        let names_it = failure.is_match(&self.text) && short_names(test).any(|name| self.text.contains(name));
        match self.code {
            0 | HANGS => false,
            code => names_it || code > SIGNAL,
        }
    }
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<&str> = self.text.lines().collect();
        let end = lines[lines.len().saturating_sub(30)..].join("\n    ");
        write!(f, "    exit {}\n    {end}", self.code)
    }
}

/// The parts of a test id of which every runner prints one: the function, or else its class, of
/// which a set-up failed.
fn short_names(test: &str) -> impl Iterator<Item = &str> {
    let whole = test.split(['[', '(']).next().unwrap_or(test);
    whole.rsplit([':', '#', ' ', '.']).filter(|part| !part.is_empty()).take(2)
}
