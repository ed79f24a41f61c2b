//! What was typed to a command about history.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 all of it is in the history, 2 a file is not there or is no report, 3 a report breaks off: what \
stands before is in the history. A file that was imported before adds nothing."
)]
pub(crate) struct ImportArgs {
    /// Reports: JUnit XML, CTRF, pytest-reportlog, libtest-json. Of a directory, all that are in it and below.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// The commit that was tested [default: as the CI says, else unknown]
    #[arg(long, value_name = "COMMIT")]
    pub(crate) revision: Option<String>,

    /// The branch [default: as the CI says, else unknown]
    #[arg(long, value_name = "NAME")]
    pub(crate) branch: Option<String>,

    /// What the CI calls the run [default: as the CI says, else unknown]
    #[arg(long, value_name = "ID")]
    pub(crate) ci_run: Option<String>,

    /// Which attempt at that run, counted from 1.
    #[arg(long, value_name = "N")]
    pub(crate) ci_attempt: Option<u32>,

    /// Which part of that run: give another one for each system or version that the same tests run on.
    #[arg(long, value_name = "NAME")]
    pub(crate) job: Option<String>,

    /// When the tests ran, where the report does not say: `2026-11-15T14:37:15Z` [default: when the file was changed]
    #[arg(long, value_name = "TIME")]
    pub(crate) at: Option<String>,

    #[command(flatten)]
    pub(crate) place: PlaceArg,

    /// Say only what could not be read.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ScoreArgs {
    /// Only tests with one of these in their names.
    pub(crate) tests: Vec<String>,

    /// Only tests that are at least so likely to fail.
    #[arg(long, value_name = "SHARE", default_value_t = 0.01)]
    pub(crate) least: f64,

    /// All tests, those that never failed too.
    #[arg(long)]
    pub(crate) all: bool,

    /// The branch on which failures count. On others they may be work in progress and count only if they are proven flaky
    /// [default: main, master, trunk, develop]
    #[arg(long, value_name = "BRANCH")]
    pub(crate) main: Option<String>,

    /// How many to show.
    #[arg(long, default_value_t = 20, value_name = "N")]
    pub(crate) limit: usize,

    /// Write all of them as JSON to FILE (`-`: standard output).
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) place: PlaceArg,
}

#[derive(Debug, Args)]
pub(crate) struct HistoryArgs {
    /// The test, or part of its name. Left out: the latest runs.
    pub(crate) test: Option<String>,

    /// How many lines to show.
    #[arg(long, default_value_t = 40, value_name = "N")]
    pub(crate) limit: usize,

    #[command(flatten)]
    pub(crate) place: PlaceArg,
}

#[derive(Debug, Default, Args)]
pub(crate) struct PlaceArg {
    /// Where the history is: a directory, or `postgres://USER@HOST/DATABASE` [default: .unflake in the project]
    #[arg(long, value_name = "PLACE")]
    pub(crate) store: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    /// Copy a whole history to another place, such as from .unflake to a server that a team shares, or back. What is copied stays as
    /// it is; to copy again adds what has come since. All of it is copied, or nothing. Another history that is there is left alone.
    Copy {
        /// A directory, or postgres://USER@HOST/DATABASE.
        #[arg(value_name = "FROM")]
        from: String,
        #[arg(value_name = "TO")]
        to: String,
    },
}
