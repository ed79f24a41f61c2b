//! Options of `unflake quarantine`.

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
#[command(
    after_help = "Kept in .unflake/quarantine.toml, for everybody who works on the project. `unflake run` still runs these tests; only the \
failures that are named there are excused, until the last day. Any other failure counts."
)]
pub(crate) struct QuarantineArgs {
    #[command(subcommand)]
    pub(crate) command: Option<QuarantineCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum QuarantineCommand {
    /// List what is in quarantine, and whether it is still needed.
    List,
    /// Excuse the failures that the last failing run of a test had.
    Add(QuarantineAdd),
    /// Let a test count again.
    Remove { test: String },
}

#[derive(Debug, Args)]
pub(crate) struct QuarantineAdd {
    /// The test, as `unflake run` names it.
    pub(crate) test: String,
    /// Why nobody mends it now.
    #[arg(long)]
    pub(crate) reason: String,
    /// Who will.
    #[arg(long)]
    pub(crate) owner: String,
    /// Where it is written up.
    #[arg(long)]
    pub(crate) issue: Option<String>,
    /// How many days it holds, 30 at most.
    #[arg(long, default_value = "14")]
    pub(crate) days: i64,
    /// Do not run it either.
    #[arg(long)]
    pub(crate) skip: bool,
}
