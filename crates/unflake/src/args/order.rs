//! Options of `unflake order`.

use clap::Args;

use crate::args::help::{RUNS_TESTS, long_help};
use crate::args::options::groups::{CommandArgs, OutputArgs};
use crate::args::options::setting_options::{
    ATTEMPT, CLASS_PATH, FRESH_BY, JOBS, MACHINES, STORE, SettingGroup, SettingOptions, UsesSettings,
};
use crate::args::options::test_names::test_names;
use crate::exit::Exit;

#[derive(Debug, Args)]
#[command(after_long_help = after_help())]
pub(crate) struct OrderArgs {
    /// Tests to search, by name or part of it [default: all]
    #[arg(value_name = "TEST", add = test_names())]
    pub(crate) tests: Vec<String>,

    /// Random orders after every pair is covered
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) random: u32,

    /// Seed of the random orders [default: drawn and printed]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,

    /// Find every polluter and cleaner, and run every pair of tests
    #[arg(long)]
    pub(crate) thorough: bool,

    /// Time budget: 90, 10m, 2h, or 0 for none [default: 10m]
    #[arg(long = "for", value_name = "TIME")]
    pub(crate) time: Option<String>,

    /// Do not search for the leaked state
    #[arg(long)]
    pub(crate) no_state: bool,

    #[command(flatten)]
    pub(crate) output: OutputArgs,

    #[command(flatten)]
    pub(crate) settings: SettingOptions<OrderArgs>,

    #[command(flatten)]
    pub(crate) command: CommandArgs,
}

impl UsesSettings for OrderArgs {
    const SETTINGS: &'static [SettingGroup] = &[FRESH_BY, JOBS, MACHINES, ATTEMPT, CLASS_PATH, STORE];
}

fn after_help() -> String {
    let examples = [
        ("unflake order -- pytest", "Search the suite for order-dependent tests."),
        ("unflake order test_cold --for 1h", "Search for polluters of one test for up to an hour."),
        ("unflake order --seed 4711", "Repeat the random orders of an earlier search."),
    ];
    let own = [
        (Exit::Success, "no order-dependent test found"),
        (Exit::RealFailures, "at least one test is order-dependent or flaky"),
    ];
    long_help(&examples, &own, RUNS_TESTS)
}
