//! Processes of the user's runner: how they start, who supervises them, and what they print.

pub(crate) mod output;
pub(crate) mod process_table;
pub(crate) mod run_dir;
pub(crate) mod starter;
pub(crate) mod supervisor;
