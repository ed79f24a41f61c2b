use serde::{Deserialize, Serialize};

use crate::{EnvironmentId, Isolation, Outcome, Purpose, SessionId, TestId};

/// Microseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

/// One execution of one test. Never changed once it is known, never thrown away.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    pub test: TestId,
    pub session: SessionId,
    pub purpose: Purpose,
    pub environment: EnvironmentId,
    /// How that environment came to be.
    pub origin: Isolation,
    /// How many attempts that environment had made before this one. With the environment it says after which tests
    /// this one ran.
    pub position: u32,
    /// 0 for the first time within its session, 1 when it was run again at once, and so on.
    pub run: u32,
    pub outcome: Outcome,
    pub started: Timestamp,
    pub seconds: f64,
    pub failure: Option<Failure>,
    /// What the test printed, shortened to the output limit.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stdout: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stderr: String,
}

/// What an attempt that did not pass said of itself. For a skip: the reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub phase: Phase,
    /// The type of the error as its language names it, such as `AssertionError`.
    pub kind: String,
    /// The first thing to read. May have several lines.
    pub message: String,
    /// The full report as the runner would print it.
    pub trace: String,
    pub file: Option<String>,
    /// Counted from 1.
    pub line: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    SetUp,
    Call,
    TearDown,
    /// The tear-down of something that other tests share. Whoever ran last is blamed for it and would pass alone.
    SharedTearDown,
    /// Told by unflake, not by the runner: the process died or ran out of time.
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
