//! Options of `unflake affected`.

use clap::Args;

use crate::args::help::long_help;
use crate::args::options::groups::CommandArgs;
use crate::args::options::setting_options::{
    ATTEMPT, CHANGE, CLASS_PATH, JOBS, RESULT_FILES, STORE, SettingGroup, SettingOptions, UsesSettings,
};
use crate::exit::Exit;

#[derive(Debug, Args)]
#[command(after_long_help = after_help())]
pub(crate) struct AffectedArgs {
    /// Run the tests first and record what each depends on
    ///
    /// Without it, dependencies from earlier runs are used, and tests without any are listed too.
    #[arg(long)]
    pub(crate) learn: bool,

    /// Print why each test is affected
    #[arg(long)]
    pub(crate) why: bool,

    #[command(flatten)]
    pub(crate) settings: SettingOptions<AffectedArgs>,

    #[command(flatten)]
    pub(crate) command: CommandArgs,
}

impl UsesSettings for AffectedArgs {
    const SETTINGS: &'static [SettingGroup] = &[CHANGE, JOBS, ATTEMPT, RESULT_FILES, CLASS_PATH, STORE];
    /// Without it no test runs.
    const REQUIRED: &'static [(&'static str, &'static str)] =
        &[("jobs", "learn"), ("timeout", "learn"), ("output-limit", "learn")];
}

fn after_help() -> String {
    let examples = [
        ("unflake affected --learn -- pytest", "Run the suite once and record the dependencies of each test."),
        ("unflake affected --base origin/main --why", "List the tests that your change can affect, and why."),
    ];
    let own = [(Exit::Success, "the tests are listed")];
    long_help(&examples, &own, &[Exit::Usage, Exit::Runner, Exit::Internal, Exit::Interrupted])
}
