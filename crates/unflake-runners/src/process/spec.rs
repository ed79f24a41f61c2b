//! What a child process is started with, and how it ended.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;
use unflake_protocol::Death;

use unflake_worlds::SpawnSpec;

use crate::process::prestarted::Prestarted;

/// Changes to the environment variables of a process: a value to set, or None to unset.
pub(crate) type EnvChanges = BTreeMap<String, Option<String>>;

/// How to start a process.
#[derive(Clone, Default)]
pub(crate) struct ProcessSpec {
    pub(crate) words: Vec<String>,
    pub(crate) directory: Option<PathBuf>,
    pub(crate) variables: EnvChanges,
    /// Sends both outputs into one pipe, in the order in which the process writes them.
    pub(crate) merged: bool,
    /// A time limit of its own. The stricter of this and the order's limit applies.
    pub(crate) limit: Option<Duration>,
    /// A process that was started earlier, used if it is still waiting.
    pub(crate) prestarted: Option<Prestarted>,
    /// How to start it inside another world.
    pub(crate) spawn: Option<SpawnSpec>,
}

impl ProcessSpec {
    /// Whether its program exists, as far as it can be known without a search in `PATH`.
    pub(crate) fn has_program(&self) -> bool {
        let Some(program) = self.words.first().filter(|word| word.contains('/')) else { return true };
        let directory = self.directory.clone().unwrap_or_default();
        directory.join(program).exists()
    }
}

/// How a process ended, with its bounded output.
#[derive(Clone)]
pub(crate) struct ProcessEnd {
    pub(crate) exit: ExitKind,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) seconds: f64,
}

impl ProcessEnd {
    /// Both outputs, one after the other, without surrounding blank lines.
    pub(crate) fn output(&self) -> String {
        [self.stdout.trim_end(), self.stderr.trim_end()].join("\n").trim().to_owned()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitKind {
    Exit(i32),
    Signal(i32),
    /// unflake killed the process at its time limit.
    TimedOut,
}

impl ExitKind {
    pub(crate) fn death(self) -> Death {
        match self {
            Self::Exit(code) => Death::Exit(code),
            Self::Signal(number) => Death::Signal(number),
            Self::TimedOut => Death::Unknown,
        }
    }
}

pub(crate) fn apply_env(command: &mut Command, changes: &EnvChanges) {
    for (name, value) in changes {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
}
