//! Options of `unflake replay`.

use std::path::PathBuf;

use clap::Args;

use crate::args::groups::{CommandArgs, OutputArgs, SettingOptions};

#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 the last test passed, 1 it failed, 4 it could not be run.")]
pub(crate) struct ReplayArgs {
    /// The tests, in this order; a test named twice runs twice
    ///
    /// A part of a name is enough, if no other test has it.
    #[arg(value_name = "TEST", required_unless_present = "order")]
    pub(crate) tests: Vec<String>,

    /// Read the tests from FILE, one per line
    #[arg(long, value_name = "FILE", conflicts_with = "tests")]
    pub(crate) order: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) output: OutputArgs,

    #[command(flatten)]
    pub(crate) settings: SettingOptions,

    #[command(flatten)]
    pub(crate) command: CommandArgs,
}
