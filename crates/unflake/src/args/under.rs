//! Options of `unflake under`.

use clap::Args;

use crate::commands::under::FactorArgs;

#[derive(Debug, Args)]
#[command(
    override_usage = "unflake under [--FACTOR SETTING]... -- COMMAND",
    after_help = "The exit code is that of the command (128 and the number of the signal that ended it), or 2: a factor cannot be \
set, 4: the command cannot be started. Its input and output are yours; what it leaves running is ended."
)]
pub(crate) struct UnderArgs {
    /// Do not say beforehand under what the command runs. What could not be reached is said all the
    /// same.
    #[arg(long, short)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) factors: FactorArgs,

    /// The command, after `--`.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}
