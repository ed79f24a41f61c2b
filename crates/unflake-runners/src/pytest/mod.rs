//! Python: pytest, with an agent inside its process.

mod command_line;
mod demo;
mod factors;
pub(crate) mod runner;
