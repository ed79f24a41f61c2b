//! Options of `unflake stress`.

use clap::Args;

use crate::args::help::{RUNS_TESTS, long_help};
use crate::args::options::groups::{CommandArgs, OutputArgs};
use crate::args::options::setting_options::{
    ATTEMPT, CLASS_PATH, FRESH_BY, JOBS, MACHINES, PRIVATE, RESULT_FILES, STORE, SettingGroup, SettingOptions,
    UsesSettings,
};
use crate::exit::Exit;

#[derive(Debug, Args)]
#[command(after_long_help = after_help())]
pub(crate) struct StressArgs {
    /// Time budget: 90, 2m, 1h, or 0 for none [default: 1m]
    #[arg(long = "for", value_name = "TIME")]
    pub(crate) time: Option<String>,

    /// Run each test at most N times
    #[arg(long, value_name = "N")]
    pub(crate) max_runs: Option<u32>,

    #[command(flatten)]
    pub(crate) output: OutputArgs,

    #[command(flatten)]
    pub(crate) settings: SettingOptions<StressArgs>,

    #[command(flatten)]
    pub(crate) command: CommandArgs,
}

impl UsesSettings for StressArgs {
    const SETTINGS: &'static [SettingGroup] =
        &[FRESH_BY, JOBS, MACHINES, ATTEMPT, PRIVATE, RESULT_FILES, CLASS_PATH, STORE];
}

fn after_help() -> String {
    let examples = [
        ("unflake stress -- pytest", "Run all tests for a minute, each in parallel with copies of itself."),
        ("unflake stress --for 10m --jobs 16 -- ./build/shop_test", "Ten minutes, 16 processes at once."),
        ("unflake stress --private project,home,temp -- pytest", "Tests that need the network, or a service here."),
    ];
    let own = [
        (Exit::Success, "no test failed"),
        (Exit::RealFailures, "at least one test failed"),
        (Exit::Incomplete, Exit::Incomplete.meaning()),
    ];
    long_help(&examples, &own, RUNS_TESTS)
}
