//! Options of `unflake settings`.

use clap::Args;

use crate::args::groups::{CommandArgs, SettingOptions};

#[derive(Debug, Args)]
pub(crate) struct SettingsArgs {
    #[command(flatten)]
    pub(crate) settings: SettingOptions,

    #[command(flatten)]
    pub(crate) command: CommandArgs,
}
