//! Options of `unflake locate`.

use std::path::PathBuf;

use clap::Args;

use crate::args::groups::{CommandArgs, LocateLimits, OutputArgs, SettingOptions};

#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 it passed every time, 1 it failed, now and then or every time, 2 wrong usage, 4 the \
runner could not run, 5 no tests, 70 unflake's own trouble, 130 stopped by you: what was found until then is told."
)]
pub(crate) struct LocateArgs {
    /// The test, or a part of its name that no other has. Left out: the one that was flaky lately,
    /// as far as the history knows.
    pub(crate) test: Option<String>,

    #[command(flatten)]
    pub(crate) limits: LocateLimits,

    /// How long to begin runs: `90`, `10m`, `2h`, or `0` for as long as it takes [default: 10m]
    #[arg(long = "for", value_name = "TIME")]
    pub(crate) time: Option<String>,

    /// Without a test: how large a share of its runs must have failed lately.
    #[arg(long, value_name = "SHARE", default_value_t = 0.1)]
    pub(crate) least: f64,

    /// Record no values, only lines. Faster, for tests that no longer fail when they are looked at
    /// closely.
    #[arg(long)]
    pub(crate) lines_only: bool,

    /// Run it even if `unflake prepare` has a report on these files.
    #[arg(long)]
    pub(crate) again: bool,

    /// Write the full report to FILE. Otherwise it goes to `reports` beside the history.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) output: OutputArgs,

    #[command(flatten)]
    pub(crate) settings: SettingOptions,

    #[command(flatten)]
    pub(crate) command: CommandArgs,
}
