//! Arguments of the hidden commands that unflake starts as its own child processes.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct DriveArgs {
    /// Where to write the log of `-v`. Standard error belongs to the test runner.
    #[arg(long)]
    pub(crate) log: Option<PathBuf>,
    /// A setting of the runner, `name=value`.
    #[arg(long)]
    pub(crate) option: Vec<String>,
    #[arg(last = true)]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct EngineWorkerArgs {
    /// The directory of the run.
    pub(crate) run: PathBuf,
    /// Which of its workers this is.
    pub(crate) number: u32,
}

#[derive(Debug, Args)]
pub(crate) struct TellArgs {
    pub(crate) word: String,
    pub(crate) place: String,
}
