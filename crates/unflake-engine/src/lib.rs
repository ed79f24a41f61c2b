//! Sessions in, observations out: starts runners with an agent inside, keeps environments alive, forks them, and tells
//! what happened.
//!
//! Deliberately absent: history, verdicts, drawing. What is Linux-only here says so.

mod active_session;
mod assertions;
mod dependencies;
mod engine;
mod environment;
mod event_loop;
mod events;
mod fork_tree;
mod injection;
mod placement;
mod project_files;
mod run_dir;
mod runner_output;
mod state_probe;
mod supervisor;
mod timeouts;
mod worlds;

pub use engine::{Engine, Interrupter, Launch, RunnerExit, StartError, Tracing};
pub use supervisor::keep;
