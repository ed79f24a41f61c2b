//! Options of `unflake measure`.

use std::path::PathBuf;

use clap::Args;

use crate::args::groups::{CommandArgs, OutputArgs, SettingOptions};

#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 every test passed in every run, 1 a test failed, in some runs or in all, 2 wrong usage, 3 no two runs \
were made, 4 the runner could not run, 5 no tests, 70 unflake's own trouble, 130 stopped by you: what was seen until then is told."
)]
pub(crate) struct MeasureArgs {
    /// The tests to measure, by name or part of it. None: all of them.
    pub(crate) tests: Vec<String>,

    /// How many runs to compare.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) runs: u32,

    /// Look only at this layer, beside the verdict: `assertion`, `code`, `behaviour` or
    /// `interface`. Can be repeated [default: all]
    #[arg(long = "layer", value_name = "LAYER")]
    pub(crate) layers: Vec<String>,

    /// Do not take this for noise: `addresses`, `temporary-paths`, `uuids`, `dates`, `times`,
    /// `time-stamps`, `durations`, `pids`, `ports`, `memory-sizes`, or `all`. Can be repeated.
    #[arg(long = "no-rule", value_name = "NAME")]
    pub(crate) no_rules: Vec<String>,

    /// How long to begin runs: `90`, `10m`, `2h`, or `0` for as long as it takes [default: 10m]
    #[arg(long = "for", value_name = "TIME")]
    pub(crate) time: Option<String>,

    /// Write everything as a page to FILE.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) output: OutputArgs,

    #[command(flatten)]
    pub(crate) settings: SettingOptions,

    #[command(flatten)]
    pub(crate) command: CommandArgs,
}
