//! Options of `unflake trace`.

use clap::Args;

use crate::args::help::long_help;
use crate::args::options::groups::CommandArgs;
use crate::args::options::setting_options::{ATTEMPT, CLASS_PATH, STORE, SettingGroup, SettingOptions, UsesSettings};
use crate::args::options::test_names::test_names;
use crate::exit::Exit;

#[derive(Debug, Args)]
#[command(after_long_help = after_help())]
pub(crate) struct TraceArgs {
    /// The test, or a part of its name that no other has
    #[arg(add = test_names())]
    pub(crate) test: String,

    /// Print the files that the test used, without lines
    #[arg(long)]
    pub(crate) files: bool,

    #[command(flatten)]
    pub(crate) settings: SettingOptions<TraceArgs>,

    #[command(flatten)]
    pub(crate) command: CommandArgs,
}

impl UsesSettings for TraceArgs {
    const SETTINGS: &'static [SettingGroup] = &[ATTEMPT, CLASS_PATH, STORE];
}

fn after_help() -> String {
    let examples = [
        ("unflake trace test_retry -- pytest", "Print the lines that one run executes, thread by thread."),
        ("unflake trace test_retry --files", "Print the files that it runs, reads and writes."),
    ];
    let own = [(Exit::Success, "the test passed"), (Exit::RealFailures, "the test failed")];
    long_help(&examples, &own, &[Exit::Usage, Exit::Runner, Exit::Internal, Exit::Interrupted])
}
