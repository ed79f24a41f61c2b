//! Options of `unflake report`.

use std::path::PathBuf;

use clap::Args;

use crate::args::groups::StoreArg;

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Write what `unflake serve` shows into one file that needs nothing but itself (`-`: standard
    /// output).
    #[arg(long, value_name = "FILE", required = true)]
    pub(crate) html: PathBuf,

    #[command(flatten)]
    pub(crate) store: StoreArg,
}
