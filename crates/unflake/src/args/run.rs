//! Options of `unflake run`.

use std::path::PathBuf;

use clap::Args;

use crate::args::help::{RUNS_TESTS, long_help};
use crate::args::options::groups::{CommandArgs, OutputArgs, ShardArgs};
use crate::args::options::setting_options::{
    ATTEMPT, CHANGE, CLASS_PATH, JOBS, PRIVATE, RERUNS, RESULT_FILES, STORE, SettingGroup, SettingOptions,
    UsesSettings, VERIFY_BASE,
};
use crate::commands::filter::file::RuleName;
use crate::exit::Exit;

#[derive(Debug, Args)]
#[command(after_long_help = after_help())]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) settings: SettingOptions<RunArgs>,

    /// Run only the tests that your change can affect
    ///
    /// Dependencies come from `unflake affected --learn`; tests without known ones run.
    #[arg(long)]
    pub(crate) affected: bool,

    /// Let known flaky assertions fail
    ///
    /// `unflake filter learn` writes the file, unflake-filter.toml by default. Each assertion that failed is listed.
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, help_heading = "Filter")]
    pub(crate) filter: Option<Option<PathBuf>>,

    #[command(flatten)]
    pub(crate) filtering: FilteringArgs,

    #[command(flatten)]
    pub(crate) sharding: ShardArgs,

    #[command(flatten)]
    pub(crate) output: OutputArgs,

    /// Print at the end what the runner itself printed
    #[arg(long, help_heading = "Output", hide_short_help = true)]
    pub(crate) runner_output: bool,

    #[command(flatten)]
    pub(crate) command: CommandArgs,
}

impl UsesSettings for RunArgs {
    const SETTINGS: &'static [SettingGroup] =
        &[RERUNS, CHANGE, VERIFY_BASE, JOBS, ATTEMPT, PRIVATE, RESULT_FILES, CLASS_PATH, STORE];
}

fn after_help() -> String {
    let examples = [
        ("unflake run -- pytest tests/", "Run the suite, rerun each failure, classify it as real or flaky."),
        ("unflake run --fresh 3 -- cargo test", "Rerun each failure in three fresh environments."),
        ("unflake run --flaky-result fail --junit report.xml -- ctest", "Fail on flaky tests too; write a report."),
        ("unflake run --results 'out/*.xml' --one-test 'go test -run {name}' -- make", "Use any other runner."),
    ];
    let own = [
        (Exit::Success, "everything passed, or only flaky tests failed"),
        (Exit::RealFailures, "at least one real failure, or a flaky one with `--flaky-result fail`"),
        (Exit::Incomplete, Exit::Incomplete.meaning()),
    ];
    long_help(&examples, &own, RUNS_TESTS)
}

/// How `unflake run --filter` filters.
#[derive(Debug, Default, Args)]
pub(crate) struct FilteringArgs {
    /// Let only assertions with a higher score fail [default: from the file, or 0]
    #[arg(long, value_name = "SCORE", requires = "filter", help_heading = "Filter", hide_short_help = true)]
    pub(crate) threshold: Option<f64>,

    /// Which failures of them: strict or published [default: from the file, or strict]
    ///
    /// `strict`: a failure must be like one that was seen without a change, and must not happen
    /// every time now. `published`: any failure, as in the publication that the filter is from.
    #[arg(
        long,
        value_name = "RULE",
        requires = "filter",
        hide_possible_values = true,
        help_heading = "Filter",
        hide_short_help = true
    )]
    pub(crate) rule: Option<RuleName>,
}
