//! `unflake factors`: which condition of its environment makes a test fail.

pub(crate) mod command;
pub(crate) mod experiment_plan;
pub(crate) mod repro_commands;
