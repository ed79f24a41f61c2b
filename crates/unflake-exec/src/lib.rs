//! Sessions in, observations out: starts runners with an agent inside, keeps environments alive, forks them, and tells
//! what happened.
//!
//! Deliberately absent: history, verdicts, drawing. What is Linux-only here says so.

mod assertions;
mod bell;
mod clocks;
mod dependencies;
mod displaced;
mod environment;
mod exec;
mod files;
#[cfg(test)]
mod files_tests;
mod fresh;
mod guard;
mod inbox;
mod injection;
mod journal;
mod keeper;
mod lead;
mod looks;
mod output;
mod path;
mod probe;
mod route;
mod scratch;
mod tree;
mod turn;
mod work;
mod worlds;

pub use exec::{CannotStart, Closed, Exec, Interrupter, Launch, Tracing};
pub use keeper::keep;
