//! Quarantined failures, and what each entry meant in a run.

use serde::{Deserialize, Serialize};

use crate::{Day, Fingerprint, TestId};

/// A quarantine entry: a known failure that does not count until its expiry date.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quarantined {
    #[serde(rename = "id")]
    pub test: TestId,
    pub reason: String,
    /// Who has to fix it.
    pub owner: String,
    /// A link to the issue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue: Option<String>,
    pub added: Day,
    /// The last day on which it applies.
    pub expires: Day,
    #[serde(default)]
    pub mode: QuarantineMode,
    /// The excused failures. Any other failure of the test counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<Fingerprint>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QuarantineMode {
    /// The test runs.
    #[default]
    Run,
    /// The test is skipped.
    Skip,
}

/// What an entry meant in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QuarantineStanding {
    /// It failed as described, and is excused.
    Excused,
    /// It failed, also in another way.
    FailedOtherwise,
    /// The entry has expired and has no effect.
    Expired,
    /// The test always passed.
    Passed,
    /// The test was skipped, as the entry says.
    LeftOut,
    /// No test has this name.
    Unknown,
    /// The test was listed but did not run.
    NotRun,
}

/// An entry with its meaning in a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuarantineResult {
    #[serde(flatten)]
    pub entry: Quarantined,
    pub standing: QuarantineStanding,
}
