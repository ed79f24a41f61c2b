//! What people and machines read of a run: live progress, the summary, JSON, JUnit, the history of a test, where it starts to fail, and how far its runs differ.
//!
//! Deliberately absent: processes, verdicts of its own, and any knowledge of a runner or a language. It reads neither
//! the clock nor the environment nor the terminal. What it needs of them is handed in, so that its tests are literals.

mod attempts_by_test;
mod divergence_text;
mod html;
mod machine;
mod terminal;
mod test_summary;
mod text;
use unflake_model::{Attempt, Feedback, Finding, Measurement, Problem, QuarantineResult, Test, TestId, Totals};

pub use html::factors::factors_page;
pub use html::filter::tune_page;
pub use html::locate::page::locate_page;
pub use html::measure::measure_page;
pub use html::pages;
pub use jiff::tz::TimeZone;
pub use machine::ci_formats::{annotations, code_quality, markdown};
pub use machine::json::json;
pub use machine::junit::junit;
pub use terminal::factors::{ExperimentReport, factors};
pub use terminal::filter::{
    AssertionRank, AssertionRanks, LearnedFilter, TuneReport, VaryingAssertion, filter_learned, filter_ranks, tuned,
};
pub use terminal::history::{HistoryRow, attempts_table};
pub use terminal::import::ImportReport;
pub use terminal::locate::{LocateReport, locate};
pub use terminal::measure::measure;
pub use terminal::order_and_nio::search;
pub use terminal::prepare::{PreparedBatch, PreparedEntry, PreparedKind, in_words as prepared_in_words};
pub use terminal::progress::Progress;
pub use terminal::quarantine::{lately, quarantine};
pub use terminal::score::{ScoreRow, ScoreSince, ScoreState, Scores, Strip};
pub use terminal::summary::summary;
pub use terminal::trace::{TraceListing, TraceStep, trace};
pub use test_summary::{FlakyTest, TestKnowledge, known};
pub use text::comment::{COMMENT, comment};
pub use text::format::age;
pub use text::issue::issue;
pub use text::sanitize::{one_line, plain};
pub use text::shell::quote;

/// How text may be drawn where it is going.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalStyle {
    /// Without it no escape sequence is written. Nothing is told by colour alone.
    pub colour: bool,
    /// Columns. `usize::MAX` where lines may be as long as they like.
    pub width: usize,
    /// Without it unflake's own symbols are ASCII. The text of tests stays as it is.
    pub unicode: bool,
}

/// Everything a run came to.
#[derive(Clone, Debug)]
pub struct RunReport<'a> {
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
    pub apart: &'a [QuarantineResult],
    /// What people said of findings.
    pub answers: &'a [Feedback],
    pub totals: &'a Totals,
    /// Whether a flaky test fails the run (`--flaky-result fail`).
    pub flaky_gates: bool,
    /// Whether the way of its tests through the code can be recorded.
    pub can_locate: bool,
    /// What a measurement came to, where one was made.
    pub measured: Option<&'a Measurement>,
    pub exit: Exit<'a>,
}

impl RunReport<'_> {
    /// What a person said of a finding, where they said that it is of no use. A real failure is never lowered by it.
    pub fn answer(&self, finding: &Finding) -> Option<&Feedback> {
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
