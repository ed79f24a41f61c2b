//! What a worker and the unflake that uses it say to each other.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use unflake_engine::RemoteLaunch;
use unflake_model::{Event, Session};

use crate::inputs::RunInputs;

/// The version of these messages and of the files around them.
pub(crate) const CLUSTER_VERSION: u32 = 2;

/// What all workers of a run start from.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct JobFile {
    pub(crate) version: u32,
    pub(crate) inputs: RunInputs,
    /// The working directory of the test command.
    pub(crate) directory: PathBuf,
    /// Settings of the runner, `name=value`.
    pub(crate) options: Vec<String>,
    /// Where a node keeps inputs, and the files of a worker while it runs. None: the usual place.
    pub(crate) node_directory: Option<PathBuf>,
    /// The orders of a worker are complete when it starts, and no pool watches it.
    pub(crate) has_one_order: bool,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ToWorker {
    /// Run these sessions of one engine. Orders are numbered.
    Run { number: u64, owner: u64, launch: Box<RemoteLaunch>, sessions: Vec<Session> },
    /// What runs for this engine ends.
    Stop { owner: u64 },
    /// There is nothing more to do.
    End,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FromWorker {
    /// It runs, and fetches its inputs.
    Hello {
        machine: String,
        slots: usize,
    },
    /// It takes orders.
    Ready {
        fetched: u64,
        notes: Vec<String>,
    },
    Event {
        owner: u64,
        event: Box<Event>,
    },
    /// All sessions of the order have ended.
    Done {
        number: u64,
    },
    /// It is alive.
    Beat,
    /// It cannot work on this machine.
    Failed {
        why: String,
    },
    /// No worker can work: the cluster is not used any more.
    Unusable {
        why: String,
    },
    /// It has ended as ordered.
    Bye,
}
