//! Python: pytest, with an agent inside its process.

mod command_line;
mod demo;
mod factors;
mod missed_agent;
pub(crate) mod runner;
mod virtual_environment;
