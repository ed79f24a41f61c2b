//! Options of `unflake score`.

use std::path::PathBuf;

use clap::Args;

use crate::args::groups::StoreArg;

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

    /// The branch on which failures count. On others they may be work in progress and count only if
    /// they are proven flaky [default: main, master, trunk, develop]
    #[arg(long, value_name = "BRANCH")]
    pub(crate) main: Option<String>,

    /// How many to show.
    #[arg(long, default_value_t = 20, value_name = "N")]
    pub(crate) limit: usize,

    /// Write all of them as JSON to FILE (`-`: standard output).
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) store: StoreArg,
}
