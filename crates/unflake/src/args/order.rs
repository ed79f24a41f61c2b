//! Options of `unflake order`.

use clap::Args;

use crate::args::groups::{SEARCH_EXITS, SearchArgs};

#[derive(Debug, Args)]
#[command(after_help = SEARCH_EXITS)]
pub(crate) struct OrderArgs {
    /// The tests to look into, by name or part of it. None: all of them.
    pub(crate) tests: Vec<String>,

    /// How many random orders to try when every pair has been covered.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) random: u32,

    /// What random orders are drawn from; it is printed, so that they can be had again.
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,

    /// Look for every culprit and every cleaner in a large suite too.
    #[arg(long)]
    pub(crate) thorough: bool,

    #[command(flatten)]
    pub(crate) search: SearchArgs,
}
