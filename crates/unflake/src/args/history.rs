//! Options of `unflake history`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::args::help::{READS, long_help};
use crate::args::options::groups::{MainBranchArg, OutputArgs};
use crate::args::options::setting_options::StoreOption;
use crate::args::options::test_names::test_names;
use crate::exit::Exit;

#[derive(Debug, Subcommand)]
pub(crate) enum HistoryCommand {
    /// Show a test's state and attempts, or the latest runs
    Show(HistoryShowArgs),
    /// Import test results of your CI
    ///
    /// JUnit XML, CTRF, pytest-reportlog and libtest-json. A file that was imported before adds
    /// nothing.
    Import(HistoryImportArgs),
    /// Rank flaky tests by how likely they are to fail next
    Score(HistoryScoreArgs),
    /// Copy a history, for example to a server that a team shares
    ///
    /// Copies all of it or nothing, and leaves the source unchanged. Copying again adds what is
    /// new.
    Copy(HistoryCopyArgs),
    /// Report on all shards of a suite
    ///
    /// Takes the runs of `--shard` over from other histories, once each, and reports on all shards
    /// of the latest suite, or of the one that you name.
    Merge(HistoryMergeArgs),
    /// Remove old results
    ///
    /// Only when you ask for it: nothing is removed otherwise. Findings, feedback, and what is
    /// known about your tests stay.
    Prune(HistoryPruneArgs),
    /// Write every execution of a test as CSV
    Export(HistoryExportArgs),
}

#[derive(Debug, Args)]
#[command(after_long_help = show_help())]
pub(crate) struct HistoryShowArgs {
    /// The test, or part of its name [default: the latest runs]
    #[arg(add = test_names())]
    pub(crate) test: Option<String>,

    /// Lines to show
    #[arg(long, default_value_t = 40, value_name = "N")]
    pub(crate) limit: usize,

    #[command(flatten)]
    pub(crate) store: StoreOption,
}

fn show_help() -> String {
    let examples = [
        ("unflake history show", "List the latest runs."),
        ("unflake history show test_retry", "Show the score, findings and attempts of a test."),
    ];
    long_help(&examples, &[(Exit::Success, "the history is printed")], READS)
}

#[derive(Debug, Args)]
#[command(after_long_help = import_help())]
pub(crate) struct HistoryImportArgs {
    /// Reports, or directories with reports
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// The tested commit [default: from the CI]
    #[arg(long, value_name = "COMMIT")]
    pub(crate) revision: Option<String>,

    /// The branch [default: from the CI]
    #[arg(long, value_name = "NAME")]
    pub(crate) branch: Option<String>,

    /// The ID of the CI run [default: from the CI]
    #[arg(long, value_name = "ID")]
    pub(crate) ci_run: Option<String>,

    /// The attempt at that run, from 1 [default: from the CI]
    #[arg(long, value_name = "N")]
    pub(crate) ci_attempt: Option<u32>,

    /// The job of that run, one for each system or version [default: from the CI]
    #[arg(long, value_name = "NAME")]
    pub(crate) job: Option<String>,

    /// When the tests ran, as in 2026-11-15T14:37:15Z [default: from the file]
    ///
    /// For reports without a time. Otherwise the modification time of the file counts.
    #[arg(long, value_name = "TIME")]
    pub(crate) at: Option<String>,

    /// Print only what could not be read
    #[arg(long, short)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) store: StoreOption,
}

fn import_help() -> String {
    let examples = [
        ("unflake history import report.xml", "Import one report, with commit and branch from the CI."),
        ("unflake history import build/reports --branch main", "Import every report in a directory."),
    ];
    let own = [
        (Exit::Success, "everything is in the history"),
        (Exit::Usage, "a file does not exist or is not a report"),
        (Exit::Incomplete, "a report is truncated; what precedes is in the history"),
    ];
    long_help(&examples, &own, &[Exit::Internal])
}

#[derive(Debug, Args)]
#[command(after_long_help = score_help())]
pub(crate) struct HistoryScoreArgs {
    /// Only tests with one of these in their names
    #[arg(value_name = "TEST", add = test_names())]
    pub(crate) tests: Vec<String>,

    /// Only tests that fail with at least this probability
    #[arg(long, value_name = "SHARE", default_value_t = 0.01)]
    pub(crate) min_score: f64,

    /// All tests, including those that never failed
    #[arg(long)]
    pub(crate) all: bool,

    #[command(flatten)]
    pub(crate) main_branch: MainBranchArg,

    /// Rows to show
    #[arg(long, default_value_t = 20, value_name = "N")]
    pub(crate) limit: usize,

    /// Write all scores as JSON (`-`: standard output)
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) store: StoreOption,
}

fn score_help() -> String {
    let examples = [
        ("unflake history score", "List the 20 tests that are most likely to fail next."),
        ("unflake history score --min-score 0.1 --json -", "Those that fail in one of ten runs, as JSON."),
    ];
    long_help(&examples, &[(Exit::Success, "the scores are printed")], READS)
}

#[derive(Debug, Args)]
#[command(after_long_help = copy_help())]
pub(crate) struct HistoryCopyArgs {
    /// A directory, or postgres://USER@HOST/DATABASE
    pub(crate) from: String,

    /// A directory, or postgres://USER@HOST/DATABASE
    pub(crate) to: String,
}

fn copy_help() -> String {
    let examples = [
        ("unflake history copy .unflake postgres://ci@db.example/flaky", "Copy your history to a server."),
        ("unflake history copy postgres://ci@db.example/flaky backup", "Copy it to a directory."),
    ];
    long_help(&examples, &[(Exit::Success, "everything is copied")], READS)
}

#[derive(Debug, Args)]
#[command(after_long_help = prune_help())]
pub(crate) struct HistoryPruneArgs {
    /// Remove runs and imported reports older than this, such as 90d
    #[arg(long, value_name = "AGE")]
    pub(crate) older_than: Option<String>,

    /// Remove what older attempts printed, and keep their failures
    #[arg(long, value_name = "AGE")]
    pub(crate) output_older_than: Option<String>,

    /// Print what would be removed, and remove nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    #[command(flatten)]
    pub(crate) store: StoreOption,
}

fn prune_help() -> String {
    let examples = [
        ("unflake history prune --older-than 180d", "Remove what is older than half a year."),
        ("unflake history prune --output-older-than 2w --dry-run", "Count what old attempts printed."),
    ];
    long_help(&examples, &[(Exit::Success, "nothing that old is in the history")], READS)
}

#[derive(Debug, Args)]
#[command(after_long_help = export_help())]
pub(crate) struct HistoryExportArgs {
    /// The file to write (`-`: standard output)
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Only runs and reports that started within this time, such as 30d
    #[arg(long, value_name = "AGE")]
    pub(crate) newer_than: Option<String>,

    #[command(flatten)]
    pub(crate) store: StoreOption,
}

fn export_help() -> String {
    let examples = [
        ("unflake history export executions.csv", "Write every execution, one row each."),
        ("unflake history export - --newer-than 7d | duckdb -c \"FROM '/dev/stdin'\"", "Analyze the last week."),
    ];
    long_help(&examples, &[(Exit::Success, "everything is written")], READS)
}

#[derive(Debug, Args)]
#[command(after_long_help = merge_help())]
pub(crate) struct HistoryMergeArgs {
    /// Histories of shards: directories, or postgres://USER@HOST/DATABASE
    #[arg(value_name = "FROM")]
    pub(crate) from: Vec<String>,

    /// What the shards share [default: as the latest shard]
    #[arg(long, value_name = "NAME")]
    pub(crate) shard_group: Option<String>,

    #[command(flatten)]
    pub(crate) output: OutputArgs,

    #[command(flatten)]
    pub(crate) store: StoreOption,
}

fn merge_help() -> String {
    let examples = [
        ("unflake history merge", "Report on all shards that ran with this history."),
        ("unflake history merge shard-*/.unflake --junit all.xml", "Take over their results; write one report."),
    ];
    let own = [
        (Exit::Success, "all shards ran all their tests, and none failed the suite"),
        (Exit::RealFailures, "a shard exited with 1"),
        (Exit::Incomplete, "a shard is missing, or planned tests did not run"),
    ];
    long_help(&examples, &own, READS)
}
