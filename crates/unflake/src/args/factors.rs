//! Options of `unflake factors`.

use std::path::PathBuf;

use clap::Args;

use crate::args::groups::{CommandArgs, OutputArgs, SettingOptions};

#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 it passes whatever is tried, 1 something makes it fail, or it fails anyway, 2 wrong usage, 4 the \
runner could not run, 5 no tests, 70 unflake's own trouble, 130 stopped by you: what was found until then is told."
)]
pub(crate) struct FactorsArgs {
    /// The test, or a part of its name that no other has. Left out: the one that was flaky lately,
    /// as far as the history knows.
    pub(crate) test: Option<String>,

    /// All tests that have it in their names are one, which fails if one of them does. Without a
    /// name: the whole suite.
    #[arg(long)]
    pub(crate) together: bool,

    /// Try only this factor, as `unflake under` names it; as often as you like.
    #[arg(long, value_name = "FACTOR")]
    pub(crate) factor: Vec<String>,

    /// Tell how far runs differ at this layer too: assertion, code, behaviour or interface. As
    /// often as you like; takes longer
    #[arg(long, value_name = "LAYER")]
    pub(crate) layer: Vec<String>,

    /// How many runs to make at most.
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub(crate) runs: u32,

    /// How long to begin runs: `90`, `10m`, `2h`, or `0` for as long as it takes [default: 10m]
    #[arg(long = "for", value_name = "TIME")]
    pub(crate) time: Option<String>,

    /// Go on with an experiment that was stopped. Where a commit has changed the code since, that
    /// is refused.
    #[arg(long, conflicts_with = "together")]
    pub(crate) resume: bool,

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
