//! Sessions on the machines of a cluster. Workers are jobs of the cluster: each has the inputs of
//! the run, takes batches of sessions, runs them with the local engine and sends back the events.
//!
//! `inputs/` says which files a run needs and moves them, each once; `worker/` is the process on the
//! other machine; `pool/` gives sessions to workers and counts every result once; `slurm/` and
//! `reapi/` start jobs. Deliberately absent: verdicts, history, names of runners.

mod files;
mod frames;
mod inputs;
mod messages;
mod namespace;
mod pool;
mod reapi;
mod slurm;
mod worker;

pub use inputs::InputPaths;
pub use pool::{ClusterError, ClusterSettings, MachinePool};
pub use reapi::{ReapiServer, ReapiState};
pub use slurm::{Slurm, SlurmState};
pub use worker::{BaseLaunch, work};
