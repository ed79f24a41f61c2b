//! Options of `unflake prepare`.

use std::path::PathBuf;

use clap::Args;

use crate::args::groups::{CommandArgs, LocateLimits, SettingOptions};

#[derive(Debug, Args)]
#[command(
    after_help = "For a job that runs every night. Stopped at any moment, it goes on where it was when it is started again: reports that \
are ready for these files are not made again.\n\nExit codes: 0 every report is ready, or the time was over (what is left is told), 2 wrong \
usage, 4 no test could be run, 70 unflake's own trouble, 130 stopped by you."
)]
pub(crate) struct PrepareArgs {
    /// Only tests that are at least so likely to fail in their next run.
    #[arg(long, value_name = "SHARE", default_value_t = 0.01)]
    pub(crate) at_least: f64,

    /// How long all of it may take: `90`, `10m`, `2h`, or `0` for as long as it takes. One test
    /// takes 10 minutes at most [default: 30m]
    #[arg(long = "for", value_name = "TIME")]
    pub(crate) time: Option<String>,

    #[command(flatten)]
    pub(crate) limits: LocateLimits,

    /// The branch on which failures count, as for `unflake score`.
    #[arg(long, value_name = "BRANCH")]
    pub(crate) main: Option<String>,

    /// Make reports anew that are ready.
    #[arg(long)]
    pub(crate) again: bool,

    /// Leave out what was ready.
    #[arg(long, short)]
    pub(crate) quiet: bool,

    /// Write what became of each test as JSON to FILE (`-`: standard output).
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) settings: SettingOptions,

    #[command(flatten)]
    pub(crate) command: CommandArgs,
}
