//! Options of `unflake filter`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::args::groups::{CommandArgs, OutputArgs, SettingOptions};
use crate::commands::filter::file::RuleName;

#[derive(Debug, Subcommand)]
pub(crate) enum FilterCommand {
    /// Run the tests several times, keep what each assertion saw, and write those that both held
    /// and failed into the filter.
    Learn(Box<FilterLearnArgs>),
    /// Recommend a threshold from failures that were marked.
    Tune(FilterTuneArgs),
    /// Rank what is known: assertions, what they look at, and tests, by how far they vary.
    Show(FilterShowArgs),
    /// Say what a failure was: a bug (`true`), a feature that was changed (`update`), or `flaky`.
    Mark(FilterMarkArgs),
}

#[derive(Debug, Args)]
pub(crate) struct FilterLearnArgs {
    /// The tests to look at, by name or part of it. None: all of them.
    pub(crate) tests: Vec<String>,

    /// How often to run them.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) runs: u32,

    /// After how many days entries expire unless they are learned again; 0: never [default: 90]
    #[arg(long, value_name = "DAYS")]
    pub(crate) expires: Option<u32>,

    /// `strict`: what both held and failed. `published`: whatever saw different values [default: as
    /// the file says, or strict]
    #[arg(long, value_name = "RULE", hide_possible_values = true)]
    pub(crate) rule: Option<RuleName>,

    /// Do not write the filter; what was seen is kept all the same.
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// The filter [default: unflake-filter.toml at the top of the project]
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) output: OutputArgs,

    #[command(flatten)]
    pub(crate) settings: SettingOptions,

    #[command(flatten)]
    pub(crate) command: CommandArgs,
}

#[derive(Debug, Args)]
pub(crate) struct FilterTuneArgs {
    /// What failures were [default: unflake-labels.tsv at the top of the project]
    #[arg(long, value_name = "FILE")]
    pub(crate) labels: Option<PathBuf>,

    /// The filter [default: unflake-filter.toml at the top of the project]
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,

    /// Put the threshold into the filter.
    #[arg(long)]
    pub(crate) write: bool,

    /// By which scores: `strict`, `published` [default: as the filter says, or strict]
    #[arg(long, value_name = "RULE", hide_possible_values = true)]
    pub(crate) rule: Option<RuleName>,

    /// Write a page with both curves to FILE.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,

    /// Write everything as JSON to FILE (`-`: standard output).
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct FilterShowArgs {
    /// Only tests with this in their name.
    pub(crate) test: Option<String>,

    /// How many of each to show.
    #[arg(long, default_value_t = 40, value_name = "N")]
    pub(crate) limit: usize,

    /// The filter [default: unflake-filter.toml at the top of the project]
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct FilterMarkArgs {
    /// What it was: `true`, `update` or `flaky`.
    #[arg(hide_possible_values = true)]
    pub(crate) label: LabelName,

    /// The test, by its whole name.
    pub(crate) test: String,

    /// The assertion, as `unflake filter show` prints it; where it is left out, the one of the test
    /// that varies most.
    pub(crate) expression: Option<String>,

    /// Where to write it [default: unflake-labels.tsv at the top of the project]
    #[arg(long, value_name = "FILE")]
    pub(crate) labels: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub(crate) enum LabelName {
    True,
    Update,
    Flaky,
}
