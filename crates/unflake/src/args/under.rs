//! Options of `unflake under`.

use clap::{Args, ValueHint};

use crate::commands::under::FactorArgs;

#[derive(Debug, Args)]
#[command(override_usage = "unflake under [--FACTOR VALUE]... -- COMMAND", after_long_help = AFTER_HELP)]
pub(crate) struct UnderArgs {
    /// Do not print the factors first; warnings are printed anyway
    #[arg(long, short)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) factors: FactorArgs,

    /// The command, after `--`
    #[arg(last = true, required = true, value_name = "COMMAND", value_hint = ValueHint::AnyPath)]
    pub(crate) command: Vec<String>,
}

/// The exit code is that of the command, so this is not the usual list.
const AFTER_HELP: &str = "\
Examples:
  unflake under --date 2027-01-30 --time-zone Asia/Tokyo -- pytest
      Run the tests on another day, in another time zone.
  unflake under --load 4 --memory 512M -- ./build/shop_test
      Run them on busy cores, with little memory.

Exit codes:
  The exit code is that of the command; 128 and the signal number where a signal ended it.
    2  a factor cannot be set
    4  the command could not start";
