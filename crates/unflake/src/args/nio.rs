//! Options of `unflake nio`.

use clap::{Args, ValueEnum};

use crate::args::groups::{SEARCH_EXITS, SearchArgs};

#[derive(Debug, Args)]
#[command(after_help = SEARCH_EXITS)]
pub(crate) struct NioArgs {
    /// The tests to look into, by name or part of it. None: all of them.
    pub(crate) tests: Vec<String>,

    /// What shares a process: nothing (`isolated-method`), the tests of a class (`isolated-class`),
    /// or all tests (`entire-suite`), which is fastest and finds least.
    #[arg(long, value_name = "MODE", default_value = "isolated-method", hide_possible_values = true)]
    pub(crate) mode: NioModeArg,

    /// Only tests in files that are new or changed against the base.
    #[arg(long)]
    pub(crate) changed: bool,

    #[command(flatten)]
    pub(crate) search: SearchArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub(crate) enum NioModeArg {
    IsolatedMethod,
    IsolatedClass,
    EntireSuite,
}
