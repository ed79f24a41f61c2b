//! Options of `unflake trace`.

use clap::Args;

use crate::args::groups::{CommandArgs, SettingOptions};

#[derive(Debug, Args)]
pub(crate) struct TraceArgs {
    /// The test, or a part of its name that no other has.
    pub(crate) test: String,

    /// Only the project's files that were run, without the lines.
    #[arg(long)]
    pub(crate) files: bool,

    #[command(flatten)]
    pub(crate) settings: SettingOptions,

    #[command(flatten)]
    pub(crate) command: CommandArgs,
}
