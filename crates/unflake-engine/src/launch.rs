//! How to start the user's runner, and the limits that apply to it.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use unflake_model::{Granularity, Layer};
use unflake_protocol::{InjectedAgent, MissedAgent};
use unflake_worlds::PrivateRequest;

use crate::remote::RemoteMachines;
use crate::shared_builds::SharedBuilds;

/// How to start the user's runner, and the limits that apply to it.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The user's command.
    pub command: Vec<String>,
    /// Command of an agent that starts the user's tests itself; the user's command is appended.
    /// None: the user's command is started, and an agent is injected into it.
    pub driver: Option<Vec<String>>,
    /// Agents that are offered to the user's command through environment variables.
    pub agents: Vec<InjectedAgent>,
    /// Names of caches and build directories, whose content is not restored.
    pub caches: Vec<&'static str>,
    /// What to tell the user when no agent connects, given the command and its output.
    pub explain_missed_agent: fn(&[String], &str) -> MissedAgent,
    /// Command that leads to [`crate::supervise`]; arguments are appended.
    pub supervisor: Vec<String>,
    /// Directory in which agents are unpacked and stay between runs.
    pub cache: Option<PathBuf>,
    /// Whether the first pass runs in `jobs` processes, where the runner itself would use one.
    pub spread: bool,
    /// Whether the user's runner runs the suite and writes its reports. Otherwise no test runs in
    /// the process that lists them; it becomes the fork server.
    pub suite: bool,
    /// Whether and how to record the order in which tests execute code.
    pub traced: Option<Tracing>,
    /// Layers at which to record what attempts look like, besides their outcome.
    pub layers: Vec<Layer>,
    /// Whether agents report assertions, so that some can be allowed to fail.
    pub filter: bool,
    /// Whether to record what tests depend on, from the first pass on.
    pub depends: Option<Granularity>,
    /// Whether to ask what is installed even where no dependencies are recorded.
    pub installed: bool,
    /// What earlier engines of this command have built and listed. None: nothing is shared.
    pub builds: Option<SharedBuilds>,
    /// Working directory of the command. None: that of unflake.
    pub directory: Option<PathBuf>,
    /// What is private in private worlds. None: nothing.
    pub private: Option<PrivateRequest>,
    /// Whether sessions have seeds: the random seed of the process that is forked for them, so that
    /// theirs decide what the system draws, too.
    pub session_seeds: Option<u64>,
    /// How many fresh environments may run at once.
    pub jobs: usize,
    /// Time limit of one attempt.
    pub timeout: Option<Duration>,
    /// When the command began.
    pub began: Instant,
    /// Time budget of the command, builds and collection included. Attempts that run when it is exhausted are killed and
    /// not counted.
    pub time: Option<Duration>,
    /// How many characters of one text to keep.
    pub output_limit: usize,
    /// Other machines that may run fresh sessions. None: all run on this one.
    pub remote: Option<Arc<dyn RemoteMachines>>,
    /// The name of this machine, where it is not the one that the user runs unflake on.
    pub machine: Option<String>,
}

/// What a trace contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tracing {
    /// Nothing: programs are built to be traced, so that their threads can be delayed.
    Delays,
    Lines,
    /// Also the values at those lines, where the agent can see them.
    Values,
}

impl Tracing {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Delays => "delays",
            Self::Lines => "lines",
            Self::Values => "values",
        }
    }
}

/// unflake could not set up what it needs.
#[derive(Debug, thiserror::Error)]
#[error("could not {operation}: {cause}")]
pub struct StartError {
    operation: &'static str,
    cause: io::Error,
}

impl StartError {
    /// Adds the operation that failed to an I/O error.
    pub(crate) fn in_operation(operation: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |cause| Self { operation, cause }
    }
}
