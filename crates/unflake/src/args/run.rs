//! Options of `unflake run`.

use std::path::PathBuf;

use clap::Args;

use crate::args::groups::{CommandArgs, OutputArgs, SettingOptions};
use crate::commands::filter::file::RuleName;

#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 passed or only flaky tests failed, 1 real failures, 2 wrong usage, 3 not all tests ran, \
4 the runner could not run, 5 no tests, 70 unflake's own trouble, 130 stopped by you."
)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) settings: SettingOptions,

    /// Let assertions fail that are known to vary without a change: those in unflake-filter.toml,
    /// or in FILE. Each that failed is listed
    #[arg(
        long,
        value_name = "FILE",
        num_args = 0..=1,
        require_equals = true,
        conflicts_with = "stress",
        help_heading = "Filter"
    )]
    pub(crate) filter: Option<Option<PathBuf>>,

    #[command(flatten)]
    pub(crate) filtering: FilteringArgs,

    /// Run every test again and again beside copies of itself, more at once than there are cores,
    /// until it fails or the time is over. A test that failed is left alone, the others go on
    #[arg(long, help_heading = "Stress")]
    pub(crate) stress: bool,

    /// How long to go on with --stress: `90`, `2m`, `1h` [default: 1m]
    #[arg(long = "for", value_name = "TIME", requires = "stress", help_heading = "Stress")]
    pub(crate) stress_for: Option<String>,

    /// How often to run each test with --stress at most
    #[arg(long, value_name = "N", requires = "stress", help_heading = "Stress")]
    pub(crate) times: Option<u32>,

    #[command(flatten)]
    pub(crate) output: OutputArgs,

    /// Show at the end what the runner itself printed.
    #[arg(long)]
    pub(crate) runner_output: bool,

    #[command(flatten)]
    pub(crate) command: CommandArgs,
}

/// How `unflake run --filter` filters.
#[derive(Debug, Default, Args)]
pub(crate) struct FilteringArgs {
    /// Let only assertions fail whose score is beyond this [default: as the file says, or 0]
    #[arg(long, value_name = "SCORE", help_heading = "Filter")]
    pub(crate) threshold: Option<f64>,

    /// `strict`: a failure must be like one that was seen without a change, and not come every time
    /// now. `published`: any may come, as in the dissertation that the filter is from [default: as
    /// the file says, or strict]
    #[arg(long, value_name = "RULE", hide_possible_values = true, help_heading = "Filter")]
    pub(crate) rule: Option<RuleName>,
}
