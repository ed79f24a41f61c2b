//! Options of `unflake history`.

use clap::Args;

use crate::args::groups::StoreArg;

#[derive(Debug, Args)]
pub(crate) struct HistoryArgs {
    /// The test, or part of its name. Left out: the latest runs.
    pub(crate) test: Option<String>,

    /// How many lines to show.
    #[arg(long, default_value_t = 40, value_name = "N")]
    pub(crate) limit: usize,

    #[command(flatten)]
    pub(crate) store: StoreArg,
}
