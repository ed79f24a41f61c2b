//! Options of `unflake under`.

use clap::{Args, ValueHint};

use unflake_model::{Privacy, WorldId};

use crate::commands::under::FactorArgs;

#[derive(Debug, Args)]
#[command(override_usage = "unflake under [--FACTOR VALUE]... -- COMMAND", after_long_help = AFTER_HELP)]
pub(crate) struct UnderArgs {
    /// Do not print the factors first; warnings are printed anyway
    #[arg(long, short)]
    pub(crate) quiet: bool,

    /// Start from the world of a recorded attempt
    #[arg(long, value_name = "ID", hide_short_help = true)]
    pub(crate) world: Option<WorldId>,

    /// Make the world of the command private, or parts of it
    ///
    /// All, or some of project,home,temp,network,ipc,host-name, separated by commas. What the command writes to the project, the home and the temporary directories is its own and gone
    /// afterwards. Its network has nothing but a loopback interface.
    #[arg(long, value_name = "PARTS", num_args = 0..=1, require_equals = true, default_missing_value = "all",
          hide_short_help = true)]
    pub(crate) private: Option<Privacy>,

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
  unflake under --world 91c0e6d2ff -- pytest tests/test_mail.py::test_retry
      Run a test in the world of a recorded attempt.

Exit codes:
  The exit code is that of the command; 128 and the signal number where a signal ended it.
    2  a factor cannot be set, or the history has no such world
    4  the command could not start";
