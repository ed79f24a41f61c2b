//! Sessions in, observations out: starts runners with an agent inside, keeps environments alive, forks them, and tells
//! what happened.
//!
//! Deliberately absent: history, verdicts, drawing. What is Linux-only here says so.

mod clocks;
mod dependencies;
mod environment;
mod exec;
mod fresh;
mod inbox;
mod injection;
mod keeper;
mod lead;
mod output;
mod path;
mod probe;
mod route;
mod tree;
mod turn;
mod work;

pub use exec::{CannotStart, Closed, Exec, Interrupter, Launch};
pub use keeper::keep;
