//! Options of `unflake affected`.

use clap::{Args, ValueEnum};

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

    /// End each ID with a null character, for `xargs --null`
    #[arg(short = '0', long, conflicts_with_all = ["why", "format"])]
    pub(crate) null: bool,

    /// How IDs are written: lines, null or shell [default: lines]
    ///
    /// `null`: like `--null`. `shell`: each is quoted for a shell.
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "lines",
        hide_default_value = true,
        hide_possible_values = true,
        conflicts_with = "why"
    )]
    pub(crate) format: IdFormat,

    #[command(flatten)]
    pub(crate) settings: SettingOptions<AffectedArgs>,

    #[command(flatten)]
    pub(crate) command: CommandArgs,
}

/// How the IDs of tests are separated.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub(crate) enum IdFormat {
    Lines,
    Null,
    Shell,
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
        ("unflake affected --null | xargs --null --no-run-if-empty pytest", "Run them with the plain runner."),
        ("unflake affected --base origin/main --why", "List the tests that your change can affect, and why."),
    ];
    let own = [(Exit::Success, "the tests are listed")];
    long_help(&examples, &own, &[Exit::Usage, Exit::Runner, Exit::Internal, Exit::Interrupted])
}
