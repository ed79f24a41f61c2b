//! What people and machines read of a run: live progress, the summary, JSON, JUnit, the history of a test, where it starts to fail, and how far its runs differ.
//!
//! Deliberately absent: processes, verdicts of its own, and any knowledge of a runner or a language. It reads neither
//! the clock nor the environment nor the terminal. What it needs of them is handed in, so that its tests are literals.

mod cases;
mod comment;
mod divergence;
mod excerpt;
mod factors;
mod factors_page;
mod failure;
mod filter;
mod filter_page;
mod history;
mod html;
mod imports;
mod issue;
mod json;
mod junit;
mod known;
mod locate;
mod locate_body;
mod locate_code;
mod locate_page;
mod locate_values;
mod markdown;
mod measure;
mod measure_page;
mod page;
mod platform;
mod prepare;
mod progress;
mod quarantine;
mod score;
mod search;
mod shell;
mod status;
mod summary;
mod text;
mod trace;
pub mod web;
mod words;
mod xml;

use unflake_model::{Answer, Attempt, Finding, Measured, Problem, SetApart, Test, TestId, Totals};

pub use comment::{COMMENT, comment};
pub use factors::{Experimented, factors};
pub use factors_page::factors_page;
pub use filter::{At, Learned, Ranks, Tuned, Varying, filter_learned, filter_ranks, tuned};
pub use filter_page::tune_page;
pub use history::{HistoryRow, attempts_table};
pub use imports::Imports;
pub use issue::issue;
pub use jiff::tz::TimeZone;
pub use json::json;
pub use junit::junit;
pub use known::{FlakyTest, Known, known};
pub use locate::{Located, locate};
pub use locate_page::locate_page;
pub use measure::measure;
pub use measure_page::measure_page;
pub use platform::{annotations, code_quality, markdown};
pub use prepare::{Prepared, PreparedKind, Preparing, in_words as prepared_in_words};
pub use progress::Progress;
pub use quarantine::{lately, quarantine};
pub use score::{ScoreRow, ScoreSince, ScoreState, Scores, Strip};
pub use search::search;
pub use shell::quote;
pub use summary::summary;
pub use text::{one_line, plain};
pub use trace::{Step, ThreadTrace, trace};
pub use words::age;

/// How text may be drawn where it is going.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Without it no escape sequence is written. Nothing is told by colour alone.
    pub colour: bool,
    /// Columns. `usize::MAX` where lines may be as long as they like.
    pub width: usize,
    /// Without it unflake's own symbols are ASCII. The text of tests stays as it is.
    pub unicode: bool,
}

/// Everything a run came to.
#[derive(Clone, Debug)]
pub struct Run<'a> {
    /// The command as the user gave it.
    pub command: &'a [String],
    /// Name and version, once an environment has come up.
    pub runner: Option<&'a str>,
    pub language: Option<&'a str>,
    pub seed: Option<u64>,
    /// As the runner listed them.
    pub tests: &'a [Test],
    pub deselected: u32,
    /// In the order in which they were made.
    pub attempts: &'a [Attempt],
    pub findings: &'a [Finding],
    pub problems: &'a [Problem],
    pub notes: &'a [String],
    /// Planned and not run.
    pub left: &'a [TestId],
    pub left_why: Option<&'a str>,
    /// What is in quarantine, and what it came to.
    pub apart: &'a [SetApart],
    /// What people said of findings.
    pub answers: &'a [Answer],
    pub totals: &'a Totals,
    /// Whether a flaky test fails the run (`--flaky-result fail`).
    pub flaky_gates: bool,
    /// Whether the way of its tests through the code can be recorded.
    pub can_locate: bool,
    /// What a measurement came to, where one was made.
    pub measured: Option<&'a Measured>,
    pub exit: Exit<'a>,
}

impl Run<'_> {
    /// What a person said of a finding, where they said that it is of no use. A real failure is never lowered by it.
    pub fn answer(&self, finding: &Finding) -> Option<&Answer> {
        if finding.is_real() || self.answers.is_empty() {
            return None;
        }
        let id = finding.id();
        self.answers.iter().find(|answer| answer.finding == id && !answer.useful)
    }
}

/// The exit code, and what it means in words: `Exit { code: 1, meaning: "one real failure" }`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Exit<'a> {
    pub code: u8,
    pub meaning: &'a str,
}
