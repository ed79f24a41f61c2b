//! Python: pytest, with an agent inside its process.

mod command_line;
mod demo;
pub(crate) mod runner;
