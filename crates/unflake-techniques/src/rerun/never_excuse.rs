//! What a later pass never excuses.

use std::fmt;

use regex_lite::Regex;
use unflake_model::{Attempt, Outcome, Phase};

/// Rules for failures that stay real whatever happens afterwards. A crash always is one, and so is an error in a
/// tear-down that tests share, because a pass of the test alone says nothing about it. The rest are patterns that are
/// looked for in what the failing attempt said and printed.
#[derive(Debug)]
pub struct NeverExcuse {
    patterns: Vec<Regex>,
}

/// A pattern that is not a regular expression.
#[derive(Debug)]
pub struct BadPattern {
    pub pattern: String,
    pub why: String,
}

impl fmt::Display for BadPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a regular expression: {}", self.pattern, self.why)
    }
}

impl std::error::Error for BadPattern {}

impl NeverExcuse {
    /// What sanitizers and race detectors print. Runners add what their interpreters print.
    pub const DEFAULT_PATTERNS: [&'static str; 4] = [
        r"WARNING: ThreadSanitizer: ",
        r"ERROR: (Address|Leak|Memory|HWAddress)Sanitizer: ",
        r"SUMMARY: UndefinedBehaviorSanitizer: ",
        r"WARNING: DATA RACE",
    ];

    pub fn new<S: AsRef<str>>(patterns: &[S]) -> Result<Self, BadPattern> {
        let compile = |pattern: &S| {
            Regex::new(pattern.as_ref())
                .map_err(|error| BadPattern { pattern: pattern.as_ref().to_owned(), why: error.to_string() })
        };
        Ok(Self { patterns: patterns.iter().map(compile).collect::<Result<_, _>>()? })
    }

    /// The rule that this attempt falls under, in words.
    pub fn rule_for(&self, attempt: &Attempt) -> Option<String> {
        if !attempt.outcome.is_failure() {
            return None;
        }
        if matches!(attempt.outcome, Outcome::Crashed(_)) {
            return Some("a crash".to_owned());
        }
        if attempt.failure.as_ref().is_some_and(|failure| failure.phase == Phase::SharedTearDown) {
            return Some("an error in a tear-down that tests share".to_owned());
        }
        let mut texts = vec![attempt.stdout.as_str(), attempt.stderr.as_str()];
        if let Some(failure) = &attempt.failure {
            texts.extend([failure.message.as_str(), failure.trace.as_str()]);
        }
        let hit = self.patterns.iter().find(|pattern| texts.iter().any(|text| pattern.is_match(text)))?;
        Some(format!("a failure that matches `{}`", hit.as_str()))
    }
}

impl Default for NeverExcuse {
    fn default() -> Self {
        Self::new(&Self::DEFAULT_PATTERNS).expect("the default patterns are regular expressions")
    }
}
