//! Runs of unflake: command, revision and machine.

use std::fmt;

use unflake_model::Timestamp;

/// Identifies a run within one history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RunId(pub i64);

/// The facts about a run that are known at its start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunFacts {
    /// The command of the user, without unflake's own arguments.
    pub command: Vec<String>,
    pub cwd: String,
    pub started: Timestamp,
    pub revision: Revision,
    pub host: Host,
    /// The version of unflake.
    pub version: String,
}

/// The tested revision of the code. Outside of a repository all fields are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Revision {
    pub commit: Option<String>,
    /// Two commits with the same tree contain the same code.
    pub tree: Option<String>,
    /// Whether there were uncommitted changes.
    pub dirty: Option<bool>,
    /// The uncommitted changes as git status lines: two letters, a blank and the path (`??
    /// new.py`).
    pub changed: Vec<String>,
}

/// The machine of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Host {
    pub name: String,
    /// Such as `linux`.
    pub os: String,
    /// Such as `x86_64`.
    pub arch: String,
    pub cpus: u32,
}

/// A stored run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    pub id: RunId,
    pub facts: RunFacts,
    /// The end and the exit code. None: it is still running, or was killed.
    pub ended: Option<(Timestamp, u8)>,
    /// The numbers of listed and deselected tests. None: the runner has not reported them.
    pub listed: Option<(u32, u32)>,
    pub attempts: u64,
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
