//! Options of `unflake why`.

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
pub(crate) struct WhyArgs {
    /// Test, or part of its name [default: the worst undiagnosed]
    #[arg(add = test_names())]
    pub(crate) test: Option<String>,

    /// Diagnose all flaky tests without a root cause
    ///
    /// The worst first.
    #[arg(long, conflicts_with_all = ["test", "is_fixed"])]
    pub(crate) all: bool,

    /// Check that it no longer fails, with a bound on the rate
    ///
    /// Runs it where it failed before: after its polluters, with the seed that failed, and in new
    /// processes with other seeds. Ends at the first failure.
    #[arg(long)]
    pub(crate) is_fixed: bool,

    /// With --is-fixed: the failure rate to exclude [default: the known one]
    #[arg(long, value_name = "SHARE", requires = "is_fixed", hide_short_help = true)]
    pub(crate) rate: Option<f64>,

    /// Time budget: 90, 10m, 2h, or 0 for none [default: 10m]
    ///
    /// With --all, the default is 30m.
    #[arg(long = "for", value_name = "TIME")]
    pub(crate) time: Option<String>,

    #[command(flatten)]
    pub(crate) output: OutputArgs,

    #[command(flatten)]
    pub(crate) settings: SettingOptions<WhyArgs>,

    #[command(flatten)]
    pub(crate) command: CommandArgs,
}

impl UsesSettings for WhyArgs {
    const SETTINGS: &'static [SettingGroup] = &[FRESH_BY, JOBS, MACHINES, ATTEMPT, RESULT_FILES, CLASS_PATH, STORE];
}

fn after_help() -> String {
    let examples = [
        ("unflake why test_retry -- pytest", "Find the root cause of one flaky test."),
        ("unflake why", "Diagnose the worst test of the history that has no diagnosis."),
        ("unflake why --all --for 30m", "Diagnose all of them, every night."),
        ("unflake why test_retry --is-fixed", "Check that the fix works."),
    ];
    let own = [
        (Exit::Success, "the test never failed; with --all: done, or the budget is exhausted; with --is-fixed: fixed"),
        (Exit::RealFailures, "a root cause was found, or the test failed"),
        (Exit::Incomplete, "with --is-fixed: too few runs to tell"),
    ];
    long_help(&examples, &own, RUNS_TESTS)
}
