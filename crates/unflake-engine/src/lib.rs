//! The engine: sessions in, events out. Starts runners with an agent inside, keeps environments
//! alive, forks them, and reports what happened.
//!
//! Deliberately absent: history, verdicts, drawing. Linux-only parts are marked as such.

mod agent_cache;
mod assertions;
mod dependencies;
mod engine;
mod environment;
mod event_loop;
mod fork_server;
mod fork_tree;
mod injection;
mod input;
mod launch;
mod load;
mod placement;
mod process_exit;
mod project_files;
mod remote;
mod runner_process;
mod session;
mod shared_builds;
mod side_by_side;
mod state_probe;
mod stop;
mod suite;
mod supervision;
mod timeouts;
mod workers;
mod worlds;

pub use engine::{Engine, Interrupter, RunnerExit};
pub use launch::{Launch, StartError, Tracing};
pub use remote::{RemoteLaunch, RemoteMachines, RemoteReport, RemoteReporter, RemoteSessions};
pub use runner_process::supervisor::supervise;
pub use shared_builds::SharedBuilds;
