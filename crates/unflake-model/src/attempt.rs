//! Attempts: single executions of tests, and how they fail.

use serde::{Deserialize, Serialize};

use crate::{EnvironmentId, Isolation, Outcome, Purpose, SessionId, TestId, WorldId};

/// Microseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

/// One execution of one test. Immutable, and stored for good.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    pub test: TestId,
    pub session: SessionId,
    pub purpose: Purpose,
    pub environment: EnvironmentId,
    /// How that environment was created.
    pub origin: Isolation,
    /// The world that it ran in. None: not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub world: Option<WorldId>,
    /// Number of earlier attempts in that environment. Together with the environment it says after
    /// which tests this one ran.
    pub position: u32,
    /// 0 for the first time within its session, 1 for the first repetition, and so on.
    pub run: u32,
    pub outcome: Outcome,
    pub started: Timestamp,
    pub seconds: f64,
    /// The load average of its last minute per core, when it ended. None: unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<f64>,
    pub failure: Option<Failure>,
    /// Output of the test, shortened to the output limit.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stdout: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stderr: String,
}

/// Why an attempt did not pass. For a skip: the reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub phase: Phase,
    /// The type of the error in its language, such as `AssertionError`.
    pub kind: String,
    /// The first thing to read. May have several lines.
    pub message: String,
    /// The full report as the runner would print it.
    pub trace: String,
    pub file: Option<String>,
    /// Counted from 1.
    pub line: Option<u32>,
}

/// The part of a test that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    SetUp,
    Call,
    TearDown,
    /// The tear-down of a shared fixture. It is reported for the test that ran last, which would
    /// pass alone.
    SharedTearDown,
    /// Reported by unflake, not by the runner: the process died or timed out.
    Process,
}

impl Phase {
    pub fn word(self) -> &'static str {
        match self {
            Self::SetUp => "set-up",
            Self::Call => "call",
            Self::TearDown => "tear-down",
            Self::SharedTearDown => "shared-tear-down",
            Self::Process => "process",
        }
    }
}
