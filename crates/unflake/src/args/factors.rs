//! Options of `unflake factors`.

use std::path::PathBuf;

use clap::Args;

use crate::args::help::{RUNS_TESTS, long_help};
use crate::args::options::groups::{CommandArgs, OutputArgs};
use crate::args::options::setting_options::{
    ATTEMPT, CLASS_PATH, FRESH_BY, JOBS, MACHINES, RESULT_FILES, STORE, SettingGroup, SettingOptions, UsesSettings,
};
use crate::args::options::test_names::test_names;
use crate::exit::Exit;

#[derive(Debug, Args)]
#[command(after_long_help = after_help())]
pub(crate) struct FactorsArgs {
    /// Test, or part of its name [default: the last flaky one]
    #[arg(add = test_names())]
    pub(crate) test: Option<String>,

    /// Treat all matching tests as one
    ///
    /// It fails if any of them fails.
    ///
    /// Without a test: the whole suite.
    #[arg(long)]
    pub(crate) together: bool,

    /// Try only this factor, such as time-zone; repeatable
    ///
    /// `unflake under --help` lists the factors.
    #[arg(long, value_name = "FACTOR")]
    pub(crate) factor: Vec<String>,

    /// Compare runs at this layer too; repeatable, takes longer
    ///
    /// `assertion`, `code`, `behaviour` or `interface`.
    #[arg(long, value_name = "LAYER", hide_short_help = true)]
    pub(crate) layer: Vec<String>,

    /// Runs at most
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub(crate) max_runs: u32,

    /// Time budget: 90, 10m, 2h, or 0 for none [default: 10m]
    #[arg(long = "for", value_name = "TIME")]
    pub(crate) time: Option<String>,

    /// Continue an interrupted experiment
    ///
    /// Refused where a commit has changed the code since.
    #[arg(long, conflicts_with = "together")]
    pub(crate) resume: bool,

    /// Write the page to FILE [default: in reports beside the history]
    #[arg(long, value_name = "FILE", help_heading = "Output", hide_short_help = true)]
    pub(crate) html: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) output: OutputArgs,

    #[command(flatten)]
    pub(crate) settings: SettingOptions<FactorsArgs>,

    #[command(flatten)]
    pub(crate) command: CommandArgs,
}

impl UsesSettings for FactorsArgs {
    const SETTINGS: &'static [SettingGroup] = &[FRESH_BY, JOBS, MACHINES, ATTEMPT, RESULT_FILES, CLASS_PATH, STORE];
}

fn after_help() -> String {
    let examples = [
        ("unflake factors test_invoice -- pytest", "Find the condition that makes one test fail."),
        ("unflake factors test_invoice --factor date --factor time-zone", "Try only dates and time zones."),
        ("unflake factors --together --for 1h -- cargo test", "Search the whole suite as one."),
    ];
    let own = [
        (Exit::Success, "no factor makes it fail"),
        (Exit::RealFailures, "a factor makes it fail, or it fails without one"),
    ];
    long_help(&examples, &own, RUNS_TESTS)
}
