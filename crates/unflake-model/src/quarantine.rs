use serde::{Deserialize, Serialize};

use crate::{Day, Fingerprint, TestId};

/// A test whose known failure is nobody's to mend before a certain day.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quarantined {
    #[serde(rename = "id")]
    pub test: TestId,
    pub reason: String,
    /// Who has to mend it.
    pub owner: String,
    /// Where it is written up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue: Option<String>,
    pub added: Day,
    /// The last day on which it holds.
    pub expires: Day,
    #[serde(default)]
    pub mode: QuarantineMode,
    /// The failures that are excused. Any other failure of the test counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<Fingerprint>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QuarantineMode {
    /// It runs like any other test.
    #[default]
    Run,
    /// It is left out.
    Skip,
}

/// What one entry came to in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QuarantineStanding {
    /// It failed as foretold, and is excused.
    Excused,
    /// It failed, also in a way that the entry does not name.
    FailedOtherwise,
    /// Its day has passed: it counts for nothing.
    Expired,
    /// The test passed whenever it ran.
    Passed,
    /// It was left out, as the entry says.
    LeftOut,
    /// No test has this name.
    Unknown,
    /// The test was listed, and did not run.
    NotRun,
}

/// An entry, and what it came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuarantineResult {
    #[serde(flatten)]
    pub entry: Quarantined,
    pub standing: QuarantineStanding,
}
