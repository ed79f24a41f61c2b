use std::fmt;

use unflake_model::Timestamp;

/// Numbers the runs of one history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RunId(pub i64);

/// What is known of a run when it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunFacts {
    /// The user's own command, without what unflake added.
    pub command: Vec<String>,
    pub cwd: String,
    pub started: Timestamp,
    pub revision: Revision,
    pub host: Host,
    /// Of unflake.
    pub version: String,
}

/// Which state of the code was run. Nothing in it is known outside of a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Revision {
    pub commit: Option<String>,
    /// Two commits with the same tree are the same code.
    pub tree: Option<String>,
    /// Whether there were changes that no commit has.
    pub dirty: Option<bool>,
    /// Those changes: how, in git's two letters, a blank, and the path (`?? new.py`).
    pub changed: Vec<String>,
}

/// The machine that ran it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Host {
    pub name: String,
    /// Such as `linux`.
    pub os: String,
    /// Such as `x86_64`.
    pub arch: String,
    pub cpus: u32,
}

/// A run as history has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    pub id: RunId,
    pub facts: RunFacts,
    /// When it ended and with which exit code. None: it is still going on, or it was killed.
    pub ended: Option<(Timestamp, u8)>,
    /// How many tests the runner listed, and how many it left out. None: it was never told.
    pub listed: Option<(u32, u32)>,
    pub attempts: u64,
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
