//! Options of `unflake affected`.

use clap::Args;

use crate::args::groups::{CommandArgs, SettingOptions};

#[derive(Debug, Args)]
pub(crate) struct AffectedArgs {
    /// Run the tests first and learn what each depends on. Without it, what is known from earlier
    /// runs is used, and tests of which nothing is known are listed too.
    #[arg(long)]
    pub(crate) learn: bool,

    /// Say for each test why.
    #[arg(long)]
    pub(crate) why: bool,

    #[command(flatten)]
    pub(crate) settings: SettingOptions,

    #[command(flatten)]
    pub(crate) command: CommandArgs,
}
