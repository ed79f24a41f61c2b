//! Options of `unflake locate`.

use std::path::PathBuf;

use clap::Args;

use crate::args::help::{RUNS_TESTS, long_help};
use crate::args::options::groups::{CommandArgs, OutputArgs};
use crate::args::options::setting_options::{
    ATTEMPT, CLASS_PATH, FRESH_BY, JOBS, MACHINES, PRIVATE, STORE, SettingGroup, SettingOptions, UsesSettings,
};
use crate::args::options::test_names::test_names;
use crate::exit::Exit;

#[derive(Debug, Args)]
#[command(after_long_help = after_help())]
pub(crate) struct LocateArgs {
    /// Test, or part of its name [default: the last flaky one]
    #[arg(add = test_names())]
    pub(crate) test: Option<String>,

    /// Locate all flaky tests that have no report yet
    ///
    /// The worst first. For a nightly job. An interrupted one continues where it stopped: reports on the current
    /// files are not made again.
    #[arg(long, conflicts_with_all = ["test", "html", "junit", "markdown", "github", "gitlab"])]
    pub(crate) all: bool,

    /// With --all: only tests that fail with at least this probability
    #[arg(long, value_name = "SHARE", default_value_t = 0.01, requires = "all", hide_short_help = true)]
    pub(crate) min_score: f64,

    /// With --all: the branch on which failures count [default: main, master, trunk, develop]
    #[arg(long, value_name = "BRANCH", requires = "all", hide_short_help = true)]
    pub(crate) main_branch: Option<String>,

    #[command(flatten)]
    pub(crate) limits: LocateLimits,

    /// Time budget: 90, 10m, 2h, or 0 for none [default: 10m]
    ///
    /// With --all, the default is 30m.
    #[arg(long = "for", value_name = "TIME")]
    pub(crate) time: Option<String>,

    /// Record lines and no values
    ///
    /// Faster, for tests that no longer fail when values are recorded.
    #[arg(long)]
    pub(crate) lines_only: bool,

    /// Run the test even if its report is up to date
    #[arg(long)]
    pub(crate) again: bool,

    /// Write the page to FILE [default: in reports beside the history]
    #[arg(long, value_name = "FILE", help_heading = "Output", hide_short_help = true)]
    pub(crate) html: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) output: OutputArgs,

    #[command(flatten)]
    pub(crate) settings: SettingOptions<LocateArgs>,

    #[command(flatten)]
    pub(crate) command: CommandArgs,
}

impl UsesSettings for LocateArgs {
    const SETTINGS: &'static [SettingGroup] = &[FRESH_BY, JOBS, MACHINES, ATTEMPT, PRIVATE, CLASS_PATH, STORE];
}

/// Limits on the traced runs of one test.
#[derive(Debug, Args)]
pub(crate) struct LocateLimits {
    /// Runs to compare; fewer if the answer is clear
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(crate) runs: u32,

    /// Runs at most, while few fail or few pass
    #[arg(long, value_name = "N", default_value_t = 2000)]
    max_runs: u32,
}

impl LocateLimits {
    /// The largest number of runs: never fewer than are to be compared.
    pub(crate) fn max_runs(&self) -> u32 {
        self.max_runs.max(self.runs)
    }
}

fn after_help() -> String {
    let examples = [
        ("unflake locate test_retry -- pytest", "Find the line at which failing runs leave the passing ones."),
        ("unflake locate test_retry --max-runs 2000 --for 1h", "Search longer for a rare failure."),
        ("unflake locate --all --for 6h", "Make a report on every flaky test, every night."),
    ];
    let own = [
        (Exit::Success, "the test passed in every run; with --all: the reports are made, or the budget is exhausted"),
        (Exit::RealFailures, "the test failed, in some runs or in all"),
    ];
    long_help(&examples, &own, RUNS_TESTS)
}
