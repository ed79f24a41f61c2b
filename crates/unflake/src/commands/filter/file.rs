//! `unflake-filter.toml`: one entry per assertion, sorted, to be reviewed and merged like code.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;

use jiff::civil::Date;
use serde::Deserialize;
use unflake_model::{Assertion, AssertionKey, TestId};
use unflake_techniques::{FilterEntry, FilterRule, LearnedAssertion};

use crate::error::CommandError;

/// The name of the file, at the top of the project.
pub(crate) const NAME: &str = "unflake-filter.toml";

const HEAD: &str = "\
# Assertions that vary although nothing changed. `unflake run --filter` lets them fail, and lists each that did.
# `unflake filter learn` adds to this file and renews it; change or remove what you like, and keep it with your code.
";

/// The contents of the file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FilterFile {
    /// Entries with a lower or equal score are not applied.
    #[serde(default)]
    pub(crate) threshold: f64,
    #[serde(default)]
    pub(crate) rule: RuleName,
    #[serde(default, rename = "assertion")]
    pub(crate) entries: Vec<FileEntry>,
}

/// The rule by which entries apply, as it is written in the file and typed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RuleName {
    #[default]
    Strict,
    Published,
}

impl RuleName {
    pub(crate) fn rule(self) -> FilterRule {
        match self {
            Self::Strict => FilterRule::Strict,
            Self::Published => FilterRule::Published,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::Published => "published",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileEntry {
    pub(crate) test: String,
    file: String,
    function: String,
    pub(crate) expression: String,
    #[serde(default)]
    ordinal: u32,
    #[serde(default)]
    body: String,
    #[serde(default = "one")]
    same: u32,
    #[serde(default)]
    source: Option<String>,
    #[serde(default)]
    alike: bool,
    pub(crate) score: f64,
    pub(crate) runs: u32,
    pub(crate) failed: u32,
    #[serde(default)]
    pub(crate) failing: Vec<String>,
    #[serde(default)]
    pub(crate) by: String,
    pub(crate) learned: String,
    #[serde(default)]
    pub(crate) reason: String,
    /// None where the entry never expires.
    #[serde(default)]
    pub(crate) expires: Option<String>,
}

fn one() -> u32 {
    1
}

impl FileEntry {
    pub(crate) fn new(entry: FilterEntry, by: &str, today: Date, expires: Option<Date>, reason: String) -> Self {
        let AssertionKey { file, function, expression, ordinal } = entry.learned.assertion.spot.clone();
        let unmoved = Self {
            test: entry.learned.assertion.test.to_string(),
            file,
            function,
            expression,
            ordinal,
            body: String::new(),
            same: 1,
            source: None,
            alike: false,
            score: (entry.score * 100.0).round() / 100.0,
            runs: entry.runs,
            failed: entry.failed,
            failing: entry.failing,
            by: by.to_owned(),
            learned: today.to_string(),
            reason,
            expires: expires.map(|date| date.to_string()),
        };
        unmoved.moved(entry.learned)
    }

    pub(crate) fn assertion(&self) -> Assertion {
        let spot = AssertionKey {
            file: self.file.clone(),
            function: self.function.clone(),
            expression: self.expression.clone(),
            ordinal: self.ordinal,
        };
        Assertion { test: TestId::new(&self.test), spot }
    }

    /// The entry for an assertion that has moved or changed.
    pub(crate) fn moved(self, learned: LearnedAssertion) -> Self {
        let LearnedAssertion { assertion, body, same, source, alike } = learned;
        let AssertionKey { file, function, expression, ordinal } = assertion.spot;
        Self {
            test: assertion.test.to_string(),
            file,
            function,
            expression,
            ordinal,
            body,
            same,
            source,
            alike,
            ..self
        }
    }

    pub(crate) fn learned(&self) -> LearnedAssertion {
        let (body, source) = (self.body.clone(), self.source.clone());
        LearnedAssertion { assertion: self.assertion(), body, same: self.same, source, alike: self.alike }
    }

    /// The entry as the technique takes it; inert where it has expired or is below the threshold.
    pub(crate) fn entry(&self, threshold: f64, today: Date) -> FilterEntry {
        let expires = self.expires.as_deref().and_then(|date| date.parse::<Date>().ok());
        let inert = match expires {
            Some(date) if date <= today => Some(format!("it expired on {date}")),
            _ if self.score <= threshold => {
                Some(format!("its score of {:.2} is not beyond the threshold of {threshold:.2}", self.score))
            }
            _ => None,
        };
        let (learned, failing) = (self.learned(), self.failing.clone());
        FilterEntry { learned, score: self.score, runs: self.runs, failed: self.failed, failing, inert }
    }

    fn write(&self, out: &mut String) {
        let mut line = |name: &str, value: &str| writeln!(out, "{name} = {value}").expect("a string takes all");
        line("test", &quoted(&self.test));
        line("file", &quoted(&self.file));
        line("function", &quoted(&self.function));
        line("expression", &quoted(&self.expression));
        if self.ordinal > 0 {
            line("ordinal", &self.ordinal.to_string());
        }
        line("body", &quoted(&self.body));
        if self.same != 1 {
            line("same", &self.same.to_string());
        }
        if let Some(source) = &self.source {
            line("source", &quoted(source));
        }
        if self.alike {
            line("alike", "true");
        }
        line("score", &format!("{:.2}", self.score));
        line("runs", &self.runs.to_string());
        line("failed", &self.failed.to_string());
        let failing: Vec<String> = self.failing.iter().map(|values| format!("\n    {},", quoted(values))).collect();
        line("failing", &format!("[{}{}]", failing.concat(), if failing.is_empty() { "" } else { "\n" }));
        line("by", &quoted(&self.by));
        line("learned", &quoted(&self.learned));
        line("reason", &quoted(&self.reason));
        if let Some(expires) = &self.expires {
            line("expires", &quoted(expires));
        }
    }
}

impl FilterFile {
    /// None where there is no such file.
    pub(crate) fn read(path: &Path) -> Result<Option<Self>, CommandError> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(CommandError::usage(format!("{} cannot be read: {error}", path.display()))),
        };
        let file: Self = toml::from_str(&text)
            .map_err(|error| CommandError::usage(format!("{} is no filter: {error}", path.display())))?;
        let wrong = |date: &&String| date.parse::<Date>().is_err();
        if let Some(date) = file.entries.iter().filter_map(|entry| entry.expires.as_ref()).find(wrong) {
            let what = format!("{}: `{}` is no date", path.display(), date.escape_debug());
            return Err(CommandError::usage(what).hint("such as expires = \"2027-03-01\""));
        }
        Ok(Some(file))
    }

    /// Adds entries, or replaces those of the same assertion. A reason that a person wrote stays.
    pub(crate) fn renew(&mut self, new: Vec<FileEntry>) {
        let mut all: BTreeMap<Assertion, FileEntry> =
            self.entries.drain(..).map(|entry| (entry.assertion(), entry)).collect();
        for mut entry in new {
            let old = all.remove(&entry.assertion());
            if let Some(old) = old.filter(|old| !old.reason.is_empty() && !old.reason.starts_with(OUR_REASON)) {
                entry.reason = old.reason;
            }
            all.insert(entry.assertion(), entry);
        }
        self.entries = all.into_values().collect();
    }

    pub(crate) fn text(&self) -> String {
        let mut out = format!("{HEAD}\nthreshold = {:.2}\nrule = \"{}\"\n", self.threshold, self.rule.word());
        let mut entries: Vec<&FileEntry> = self.entries.iter().collect();
        entries.sort_by_key(|entry| entry.assertion());
        for entry in entries {
            out.push_str("\n[[assertion]]\n");
            entry.write(&mut out);
        }
        out
    }

    /// Replaces the file atomically.
    pub(crate) fn write(&self, path: &Path) -> Result<(), CommandError> {
        let write = || {
            let mut file = tempfile::NamedTempFile::new_in(path.parent().unwrap_or(Path::new(".")))?;
            file.write_all(self.text().as_bytes())?;
            file.persist(path).map_err(|error| error.error)
        };
        write().map(|_| ()).map_err(CommandError::cannot_write(path))
    }
}

/// The beginning of reasons that unflake writes.
pub(crate) const OUR_REASON: &str = "passed and failed";

/// A basic string of TOML on one line. JSON's differ in one character only.
fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("a text is JSON").replace('\u{7f}', "\\u007F")
}

#[cfg(test)]
mod tests;
