//! Options of `unflake nio`.

use clap::{Args, ValueEnum};

use crate::args::help::{RUNS_TESTS, long_help};
use crate::args::options::groups::{CommandArgs, OutputArgs, ShardArgs};
use crate::args::options::setting_options::{
    ATTEMPT, BASE, CLASS_PATH, FRESH_BY, JOBS, MACHINES, STORE, SettingGroup, SettingOptions, UsesSettings,
};
use crate::args::options::test_names::test_names;
use crate::exit::Exit;

#[derive(Debug, Args)]
#[command(after_long_help = after_help())]
pub(crate) struct NioArgs {
    /// Tests to search, by name or part of it [default: all]
    #[arg(value_name = "TEST", add = test_names())]
    pub(crate) tests: Vec<String>,

    /// What shares a process [default: isolated-method]
    ///
    /// `isolated-method`: nothing. `isolated-class`: the tests of a class. `entire-suite`: all
    /// tests, which is fastest and finds least.
    #[arg(
        long,
        value_name = "MODE",
        default_value = "isolated-method",
        hide_default_value = true,
        hide_possible_values = true
    )]
    pub(crate) mode: NioModeArg,

    /// Search only tests that are new or changed
    ///
    /// Compared with the base.
    #[arg(long, conflicts_with = "tests")]
    pub(crate) changed: bool,

    /// Time budget: 90, 10m, 2h, or 0 for none [default: 10m]
    #[arg(long = "for", value_name = "TIME")]
    pub(crate) time: Option<String>,

    /// Give every test a process of its own from the start
    ///
    /// Many tests are first run in processes that they share, and only those that fail there in
    /// their own.
    #[arg(long)]
    pub(crate) thorough: bool,

    /// Do not search for the leaked state
    #[arg(long)]
    pub(crate) no_state: bool,

    #[command(flatten)]
    pub(crate) sharding: ShardArgs,

    #[command(flatten)]
    pub(crate) output: OutputArgs,

    #[command(flatten)]
    pub(crate) settings: SettingOptions<NioArgs>,

    #[command(flatten)]
    pub(crate) command: CommandArgs,
}

impl UsesSettings for NioArgs {
    const SETTINGS: &'static [SettingGroup] = &[FRESH_BY, BASE, JOBS, MACHINES, ATTEMPT, CLASS_PATH, STORE];
    const REQUIRED: &'static [(&'static str, &'static str)] = &[("base", "changed")];
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub(crate) enum NioModeArg {
    IsolatedMethod,
    IsolatedClass,
    EntireSuite,
}

fn after_help() -> String {
    let examples = [
        ("unflake nio -- pytest", "Run every test twice in one process; repeat suspects in their own."),
        ("unflake nio --changed", "Search the tests that you changed."),
        ("unflake nio test_cart --no-state", "Search the tests with `test_cart` in their names, faster."),
    ];
    let own = [
        (Exit::Success, "no non-idempotent test found"),
        (Exit::RealFailures, "at least one test is non-idempotent or flaky"),
    ];
    long_help(&examples, &own, RUNS_TESTS)
}
