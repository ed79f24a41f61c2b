//! Options of `unflake doctor`.

use clap::Args;

use crate::args::groups::CommandArgs;

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Try every factor of `unflake under` on every runtime that is here, and say which of them
    /// hold. Takes about a minute
    #[arg(long)]
    pub(crate) factors: bool,

    #[command(flatten)]
    pub(crate) command: CommandArgs,
}
