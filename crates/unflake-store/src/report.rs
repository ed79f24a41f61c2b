use std::fmt;
use std::sync::Arc;

use unflake_model::{Failure, Outcome, TestId, Timestamp};

/// Numbers the reports of one history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ReportId(pub i64);

/// What is known of a file of results before it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportFacts {
    /// Made of its contents: of two reports with the same key the second is not taken in.
    pub key: String,
    pub format: String,
    /// As it was given.
    pub path: String,
    pub size: u64,
    /// When its tests ran.
    pub started: Timestamp,
    pub imported: Timestamp,
    pub commit: Option<String>,
    pub branch: Option<String>,
    /// What the CI calls the run that it comes from. Reports with the same run and attempt are parts of one run.
    pub ci_run: Option<String>,
    /// Counted from 1.
    pub ci_attempt: Option<u32>,
    /// The part of that run, such as one system of several. With the same code a test may fail in one of them always.
    pub job: Option<String>,
}

/// A report as history has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    pub id: ReportId,
    pub facts: ReportFacts,
    /// So many of its executions are here.
    pub executions: u64,
    /// None: it is being taken in, or that was cut short. Empty: all of it is here. Else why it breaks off.
    pub ended: Option<String>,
}

/// One execution as a report tells it.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    pub test: TestId,
    pub file: Option<Arc<str>>,
    pub line: Option<u32>,
    /// 0 for the first time in its report.
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
