//! The true cause of a flaky specimen, and how a finding of `unflake locate` compares with it.

use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Truth {
    pub(crate) test: String,
    pub(crate) category: String,
    #[serde(default)]
    pub(crate) also: Vec<AlternativeCategory>,
    /// The true cause, in one sentence.
    pub(crate) cause: String,
    /// Why forks of one process all have the same outcome. Absent: they do not.
    pub(crate) fresh: Option<String>,
    /// Part of the default test run.
    #[serde(default)]
    pub(crate) quick: bool,
    /// Why unflake does not find this yet.
    pub(crate) known_gap: Option<String>,
    pub(crate) share: FailureShare,
    /// Where the divergence starts, and a fix would go.
    pub(crate) exact: Vec<TrueLine>,
    /// The same of a second, independent cause.
    #[serde(default)]
    pub(crate) second: Vec<TrueLine>,
    /// Related lines, while a fix would go elsewhere.
    #[serde(default)]
    pub(crate) relevant: Vec<TrueLine>,
    /// Lines that differ from run to run and do not matter.
    #[serde(default)]
    pub(crate) red_herring: Vec<TrueLine>,
}

/// Another category that is acceptable.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AlternativeCategory {
    pub(crate) category: String,
    pub(crate) reason: String,
}

/// How often it failed in the plain runner, each time in a new process.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FailureShare {
    pub(crate) failed: u32,
    pub(crate) of: u32,
}

/// A line and its text.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TrueLine {
    /// `file:line`, relative to the specimen.
    pub(crate) at: String,
    pub(crate) text: String,
}

impl Truth {
    pub(crate) fn lines(&self) -> impl Iterator<Item = &TrueLine> {
        [&self.exact, &self.second, &self.relevant, &self.red_herring].into_iter().flatten()
    }

    /// How a finding differs from the truth.
    pub(crate) fn differences(&self, finding: &Value) -> Vec<String> {
        let mut differences = Vec::new();
        let locations = locations(finding);
        match locations.first() {
            None => differences.push("no line is reported".to_owned()),
            // That may be true, and does not help.
            Some(first) if names_only_the_failure(finding) => {
                differences.push(format!("nothing differs before {first}, where the test fails"))
            }
            Some(first) => match self.judge(first) {
                "exact" | "relevant" => {}
                verdict => differences.push(format!("{first} is {verdict}: {}", self.cause)),
            },
        }
        if !self.second.is_empty() && !locations.iter().any(|location| contains(&self.second, location)) {
            differences.push("the second cause is not reported".to_owned());
        }
        let kind = finding["kind"].as_str().unwrap_or_default();
        if kind != self.category && self.also.iter().all(|also| also.category != kind) {
            differences.push(format!("the cause is {kind} instead of {}", self.category));
        }
        differences
    }

    /// `exact` and `relevant` as in the paper on DIVERGENCE.
    fn judge(&self, location: &str) -> &'static str {
        let verdicts = [
            (&self.exact, "exact"),
            (&self.second, "exact"),
            (&self.relevant, "relevant"),
            (&self.red_herring, "a red herring"),
        ];
        verdicts.into_iter().find(|(lines, _)| contains(lines, location)).map_or("wrong", |(_, verdict)| verdict)
    }
}

impl TrueLine {
    /// The text at this line of the specimen.
    pub(crate) fn actual_text(&self, specimen: &Path) -> Option<String> {
        let (file, line) = self.at.rsplit_once(':')?;
        let text = fs::read_to_string(specimen.join(file)).ok()?;
        Some(text.lines().nth(line.parse::<usize>().ok()?.checked_sub(1)?)?.trim().to_owned())
    }
}

fn contains(lines: &[TrueLine], location: &str) -> bool {
    lines.iter().any(|line| line.at == location)
}

/// The lines of a finding, most likely first.
fn locations(finding: &Value) -> Vec<String> {
    let text = |location: &Value| Some(format!("{}:{}", location["file"].as_str()?, location["line"]));
    finding["locations"].as_array().into_iter().flatten().filter_map(text).collect()
}

/// Whether the finding names only the line that fails, because nothing differs before it.
fn names_only_the_failure(finding: &Value) -> bool {
    let (first, shows) = (&finding["locations"][0], &finding["shows"]);
    first["chance"].as_f64() >= Some(1.0) && first["file"] == shows["file"] && first["line"] == shows["line"]
}
