//! Options of `unflake doctor`.

use clap::Args;

use crate::args::help::{RUNS_TESTS, long_help};
use crate::args::options::groups::CommandArgs;
use crate::args::options::setting_options::{
    CLASS_PATH, MACHINES, RESULT_FILES, STORE, SettingGroup, SettingOptions, UsesSettings,
};
use crate::exit::Exit;

#[derive(Debug, Args)]
#[command(after_long_help = after_help())]
pub(crate) struct DoctorArgs {
    /// Try every factor of `unflake under` on every runtime; about a minute
    #[arg(long)]
    pub(crate) factors: bool,

    #[command(flatten)]
    pub(crate) settings: SettingOptions<DoctorArgs>,

    #[command(flatten)]
    pub(crate) command: CommandArgs,
}

impl UsesSettings for DoctorArgs {
    const SETTINGS: &'static [SettingGroup] = &[MACHINES, RESULT_FILES, CLASS_PATH, STORE];
}

fn after_help() -> String {
    let examples = [
        ("unflake doctor", "Check the machine, the project and its test command."),
        ("unflake doctor -- uv run pytest", "Check another test command."),
        ("unflake doctor --factors", "Check which factors take effect here."),
        ("unflake doctor --engine slurm", "Run a test on a cluster."),
    ];
    long_help(&examples, &[(Exit::Success, "tests can be run")], RUNS_TESTS)
}
