//! Options of `unflake filter`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::args::help::{READS, RUNS_TESTS, long_help};
use crate::args::options::groups::{CommandArgs, OutputArgs};
use crate::args::options::setting_options::{
    ATTEMPT, CLASS_PATH, FRESH_BY, JOBS, STORE, SettingGroup, SettingOptions, StoreOption, UsesSettings,
};
use crate::args::options::test_names::test_names;
use crate::commands::filter::file::RuleName;
use crate::exit::Exit;

#[derive(Debug, Subcommand)]
pub(crate) enum FilterCommand {
    /// Run the tests and write assertions that vary into the filter
    ///
    /// Records what each assertion sees, and adds those that both pass and fail to the filter.
    Learn(Box<FilterLearnArgs>),
    /// Rank assertions, their objects and tests by how much they vary
    Show(FilterShowArgs),
    /// Recommend a threshold from labelled failures
    Tune(FilterTuneArgs),
    /// Label a failure as a bug, an update or flaky
    Label(FilterLabelArgs),
}

#[derive(Debug, Args)]
#[command(after_long_help = learn_help())]
pub(crate) struct FilterLearnArgs {
    /// Tests to run, by name or part of it [default: all]
    #[arg(value_name = "TEST", add = test_names())]
    pub(crate) tests: Vec<String>,

    /// Runs of each test
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) runs: u32,

    /// Days until entries expire; 0: never [default: 90]
    ///
    /// Entries that are learned again start anew.
    #[arg(long, value_name = "DAYS")]
    pub(crate) expires: Option<u32>,

    /// Which assertions: strict or published [default: strict]
    ///
    /// The rule in the file comes before the default.
    ///
    /// `strict`: those that both passed and failed. `published`: those that saw different values.
    #[arg(long, value_name = "RULE", hide_possible_values = true)]
    pub(crate) rule: Option<RuleName>,

    /// Do not write the filter; observations are kept anyway
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// The filter [default: unflake-filter.toml in the project]
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) output: OutputArgs,

    #[command(flatten)]
    pub(crate) settings: SettingOptions<FilterLearnArgs>,

    #[command(flatten)]
    pub(crate) command: CommandArgs,
}

impl UsesSettings for FilterLearnArgs {
    const SETTINGS: &'static [SettingGroup] = &[FRESH_BY, JOBS, ATTEMPT, CLASS_PATH, STORE];
}

fn learn_help() -> String {
    let examples = [
        ("unflake filter learn -- pytest", "Run every test ten times and write unflake-filter.toml."),
        ("unflake filter learn test_plot --runs 100 --dry-run", "Look at some tests; write nothing."),
        ("unflake run --filter -- pytest", "Use the filter."),
    ];
    long_help(&examples, &[(Exit::Success, "assertions were observed")], RUNS_TESTS)
}

#[derive(Debug, Args)]
#[command(after_long_help = tune_help())]
pub(crate) struct FilterTuneArgs {
    /// The labels [default: unflake-labels.tsv in the project]
    #[arg(long, value_name = "FILE")]
    pub(crate) labels: Option<PathBuf>,

    /// The filter [default: unflake-filter.toml in the project]
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,

    /// Write the threshold into the filter
    #[arg(long)]
    pub(crate) write: bool,

    /// Scores to use: strict or published [default: from the file, or strict]
    #[arg(long, value_name = "RULE", hide_possible_values = true)]
    pub(crate) rule: Option<RuleName>,

    /// Write a page with both curves
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,

    /// Write the curves as JSON (`-`: standard output)
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) store: StoreOption,
}

fn tune_help() -> String {
    let examples = [
        ("unflake filter tune", "Print the lowest threshold that keeps every labelled bug."),
        ("unflake filter tune --write", "Use that threshold from now on."),
    ];
    long_help(&examples, &[(Exit::Success, "a threshold is recommended")], READS)
}

#[derive(Debug, Args)]
#[command(after_long_help = show_help())]
pub(crate) struct FilterShowArgs {
    /// Only tests with this in their names
    #[arg(add = test_names())]
    pub(crate) test: Option<String>,

    /// Rows of each ranking
    #[arg(long, default_value_t = 40, value_name = "N")]
    pub(crate) limit: usize,

    /// The filter [default: unflake-filter.toml in the project]
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) store: StoreOption,
}

fn show_help() -> String {
    let examples = [
        ("unflake filter show", "Rank all observed assertions."),
        ("unflake filter show test_plot --limit 5", "Rank those of some tests."),
    ];
    long_help(&examples, &[(Exit::Success, "the rankings are printed")], READS)
}

#[derive(Debug, Args)]
#[command(after_long_help = label_help())]
pub(crate) struct FilterLabelArgs {
    /// true (a bug), update (a changed feature) or flaky
    #[arg(hide_possible_values = true)]
    pub(crate) label: LabelName,

    /// The test, by its full name
    #[arg(add = test_names())]
    pub(crate) test: String,

    /// The assertion, as in `filter show` [default: the most varying]
    pub(crate) expression: Option<String>,

    /// The labels [default: unflake-labels.tsv in the project]
    #[arg(long, value_name = "FILE")]
    pub(crate) labels: Option<PathBuf>,
}

fn label_help() -> String {
    let examples = [
        ("unflake filter label true tests/test_a.py::test_b", "This failure revealed a bug."),
        ("unflake filter label flaky tests/test_a.py::test_b 'total == 9'", "This assertion is flaky."),
    ];
    long_help(&examples, &[(Exit::Success, "the label is written")], READS)
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub(crate) enum LabelName {
    True,
    Update,
    Flaky,
}
