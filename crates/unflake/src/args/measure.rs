//! Options of `unflake measure`.

use std::path::PathBuf;

use clap::Args;

use crate::args::help::{RUNS_TESTS, long_help};
use crate::args::options::groups::{CommandArgs, OutputArgs, ShardArgs};
use crate::args::options::setting_options::{
    ATTEMPT, CLASS_PATH, FRESH_BY, JOBS, MACHINES, RESULT_FILES, STORE, SettingGroup, SettingOptions, UsesSettings,
};
use crate::args::options::test_names::test_names;
use crate::exit::Exit;

#[derive(Debug, Args)]
#[command(after_long_help = after_help())]
pub(crate) struct MeasureArgs {
    /// Tests to measure, by name or part of it [default: all]
    #[arg(value_name = "TEST", add = test_names())]
    pub(crate) tests: Vec<String>,

    /// Runs to compare
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) runs: u32,

    /// Compare only verdicts and this layer; repeatable [default: all]
    ///
    /// `assertion`, `code`, `branch`, `behaviour` or `interface`.
    #[arg(long = "layer", value_name = "LAYER")]
    pub(crate) layers: Vec<String>,

    /// Measure in this configuration; repeatable, or `all`
    ///
    /// `best`: everything is controlled. `uncontrolled`: each run is a process of its own with a random
    /// date, random seeds and a random order of tests. `no-init`: the date and the home directory are
    /// yours. `delay-0ms`, `delay-50ms`, `delay-100ms`, `delay-200ms`: waits are delayed.
    /// `other-vendor`, `other-version`: another runtime, of the same and of another version;
    /// `other-version=/usr/lib/jvm/java-21/bin/java` names it.
    #[arg(long = "configuration", value_name = "NAME")]
    pub(crate) configurations: Vec<String>,

    /// Draw what `uncontrolled` draws from this number
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub(crate) seed: Option<u64>,

    /// Write tables of configurations as Markdown
    #[arg(long, value_name = "FILE", help_heading = "Output", requires = "configurations")]
    pub(crate) table: Option<PathBuf>,

    /// Do not treat this as noise; repeatable
    ///
    /// `addresses`, `temporary-paths`, `uuids`, `dates`, `times`, `time-stamps`, `durations`,
    /// `pids`, `ports`, `memory-sizes`, or `all`.
    #[arg(long = "no-rule", value_name = "NAME", hide_short_help = true)]
    pub(crate) no_rules: Vec<String>,

    /// Time budget: 90, 10m, 2h, or 0 for none [default: 10m]
    #[arg(long = "for", value_name = "TIME")]
    pub(crate) time: Option<String>,

    /// Write a page with all differences
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) html: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) sharding: ShardArgs,

    #[command(flatten)]
    pub(crate) output: OutputArgs,

    #[command(flatten)]
    pub(crate) settings: SettingOptions<MeasureArgs>,

    #[command(flatten)]
    pub(crate) command: CommandArgs,
}

impl UsesSettings for MeasureArgs {
    const SETTINGS: &'static [SettingGroup] = &[FRESH_BY, JOBS, MACHINES, ATTEMPT, RESULT_FILES, CLASS_PATH, STORE];
}

fn after_help() -> String {
    let examples = [
        ("unflake measure -- pytest", "Compare ten runs of every test at every layer."),
        ("unflake measure test_cart --runs 50 --layer assertion", "Compare the values that assertions see."),
        ("unflake measure --configuration all --table t.md", "Compare nine configurations."),
    ];
    let own = [
        (Exit::Success, "every test passed in every run"),
        (Exit::RealFailures, "at least one test failed, in some runs or in all"),
        (Exit::Incomplete, "fewer than two runs finished"),
    ];
    long_help(&examples, &own, RUNS_TESTS)
}
