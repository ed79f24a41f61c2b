//! ReportedExecution reports: files of test results that other programs wrote.

use std::fmt;
use std::sync::Arc;

use unflake_model::{Failure, Outcome, TestId, Timestamp};

/// Identifies a report within one history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ReportId(pub i64);

/// The facts about a report that are known before it is parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportFacts {
    /// Derived from the content: a second report with the same key is not imported.
    pub key: String,
    pub format: String,
    /// As the user typed it.
    pub path: String,
    pub size: u64,
    /// When its tests ran.
    pub started: Timestamp,
    pub imported: Timestamp,
    pub commit: Option<String>,
    pub branch: Option<String>,
    /// The id of the CI run. Reports with the same run and attempt are parts of one run.
    pub ci_run: Option<String>,
    /// Starts at 1.
    pub ci_attempt: Option<u32>,
    /// The CI job, such as one operating system of several. A test may fail in one job always.
    pub job: Option<String>,
}

/// A stored report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    pub id: ReportId,
    pub facts: ReportFacts,
    /// The number of executions that are stored.
    pub executions: u64,
    /// None: the import is running, or was interrupted. Empty: complete. Else why the report is cut
    /// off.
    pub ended: Option<String>,
}

/// One execution in a report.
#[derive(Clone, Debug, PartialEq)]
pub struct ReportedExecution {
    pub test: TestId,
    pub file: Option<Arc<str>>,
    pub line: Option<u32>,
    /// 0 for the first execution in its report.
    pub again: u32,
    pub outcome: Outcome,
    pub seconds: f64,
    pub failure: Option<Failure>,
}

impl fmt::Display for ReportId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
