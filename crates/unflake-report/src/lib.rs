//! Formats the results of a run for people and programs: live progress, terminal, HTML, JSON, JUnit
//! XML, CI formats.
//!
//! Deliberately absent: processes, verdicts of its own, and any knowledge of a runner or a
//! language. It reads neither the clock nor the environment nor the terminal: callers pass in what
//! it needs, so that tests can use literals.

mod attempts_by_test;
mod causes;
mod divergence_text;
mod fix;
mod html;
mod machine;
mod next_step;
mod terminal;
mod test_summary;
mod text;

use unflake_model::{
    Attempt, Feedback, Finding, Measurement, Problem, QuarantineResult, Searched, Test, TestId, Totals, World,
};

pub use divergence_text::finding_sentence;
pub use html::factors::factors_page;
pub use html::filter::tune_page;
pub use html::locate::page::locate_page;
pub use html::measure::measure_page;
pub use html::pages;
pub use jiff::tz::TimeZone;
pub use machine::ci_formats::{annotations, code_quality, markdown};
pub use machine::json::json;
pub use machine::junit::junit;
pub use machine::sarif::sarif;
pub use next_step::{NextAction, NextCommand, NextStep, Symptoms, diagnosis_rank, is_diagnosis, next_step};
pub use terminal::factors::{ExperimentReport, factors};
pub use terminal::filter::{
    AssertionRanks, LearnedFilter, ThresholdRow, TuneReport, VaryingAssertion, filter_learned, filter_ranks,
    tune_report,
};
pub use terminal::history::{HistoryRow, attempts_table};
pub use terminal::import::ImportReport;
pub use terminal::locate::{LocateReport, locate};
pub use terminal::measure::measure;
pub use terminal::order_and_nio::order_and_nio;
pub use terminal::paragraphs::paragraphs;
pub use terminal::prepare::{PreparedBatch, PreparedEntry, PreparedKind, prepared_totals};
pub use terminal::progress::Progress;
pub use terminal::quarantine::{quarantine, recent_outcomes};
pub use terminal::replay::replay;
pub use terminal::score::{RecentOutcome, ScoreRow, ScoreSince, ScoreState, Scores};
pub use terminal::summary::summary;
pub use terminal::trace::{TraceListing, TraceStep, trace};
pub use terminal::why::{WhyReport, WhyStep, diagnoses, why};
pub use test_summary::{FlakyTest, KnownFinding, known_findings};
pub use text::comment::{COMMENT, comment};
pub use text::configuration_table::configuration_tables;
pub use text::format::age;
pub use text::issue::issue;
pub use text::sanitize::{one_line, plain};
pub use text::searched::{more_time, searched_text};
pub use text::shell::quote;

/// Capabilities of the terminal or file that text is written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalStyle {
    /// Whether to write escape sequences. Colour never carries information alone.
    pub colour: bool,
    /// Columns; `usize::MAX` for lines of any length.
    pub width: usize,
    /// Without it unflake's own symbols are ASCII. Text of tests is kept as it is.
    pub unicode: bool,
    /// Most lines of one report; `usize::MAX` for all of it.
    pub lines: usize,
}

impl TerminalStyle {
    /// Whether the user asked for the whole report.
    pub(crate) fn shows_all(&self) -> bool {
        self.lines == usize::MAX
    }
}

/// Everything to report about a run.
#[derive(Clone, Debug)]
pub struct RunReport<'a> {
    /// The command as the user typed it.
    pub command: &'a [String],
    /// Name and version, once an environment has started.
    pub runner: Option<&'a str>,
    pub language: Option<&'a str>,
    pub seed: Option<u64>,
    /// In the order of the runner.
    pub tests: &'a [Test],
    pub deselected: u32,
    /// In chronological order.
    pub attempts: &'a [Attempt],
    /// The worlds that the attempts name.
    pub worlds: &'a [World],
    pub findings: &'a [Finding],
    pub problems: &'a [Problem],
    pub notes: &'a [String],
    /// Planned and not run.
    pub left: &'a [TestId],
    pub left_why: Option<&'a str>,
    /// Tests in quarantine, with their results in this run.
    pub quarantine: &'a [QuarantineResult],
    /// Feedback of users on findings.
    pub feedback: &'a [Feedback],
    pub totals: &'a Totals,
    /// Whether a flaky test fails the run (`--flaky-result fail`).
    pub flaky_gates: bool,
    /// Whether its tests run in a chosen order in one process.
    pub can_order: bool,
    /// What a search covered.
    pub searched: Option<&'a Searched>,
    /// Earlier findings about the tests that failed, from the history.
    pub known: &'a [KnownFinding],
    /// Result of a measurement, where there was one.
    pub measured: Option<&'a Measurement>,
    pub exit: ExitMeaning<'a>,
}

impl<'a> RunReport<'a> {
    /// Earlier findings about a test that are not marked as not useful.
    pub(crate) fn known_about(&self, test: &TestId) -> impl Iterator<Item = &'a KnownFinding> + use<'a> {
        let test = test.clone();
        self.known.iter().filter(move |known| known.finding.test == test && known.feedback.is_none())
    }

    /// The feedback that a finding is not useful. None for a real failure, which feedback never
    /// hides.
    pub fn not_useful(&self, finding: &Finding) -> Option<&Feedback> {
        if finding.is_real() || self.feedback.is_empty() {
            return None;
        }
        let id = finding.id();
        self.feedback.iter().find(|feedback| feedback.finding == id && !feedback.useful)
    }
}

/// The exit code and its meaning: `Exit { code: 1, meaning: "one real failure" }`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct ExitMeaning<'a> {
    pub code: u8,
    pub meaning: &'a str,
}
