//! Options of `unflake replay`.

use std::path::PathBuf;

use clap::Args;
use unflake_model::Factor;

use crate::args::help::long_help;
use crate::args::options::groups::{CommandArgs, OutputArgs};
use crate::args::options::setting_options::{
    ATTEMPT, CLASS_PATH, FRESH_BY, RESULT_FILES, STORE, SettingGroup, SettingOptions, UsesSettings,
};
use crate::args::options::test_names::test_names;
use crate::exit::Exit;

#[derive(Debug, Args)]
#[command(after_long_help = after_help())]
pub(crate) struct ReplayArgs {
    /// The tests, in this order; a test named twice runs twice
    ///
    /// A part of a name is enough, if no other test has it.
    #[arg(value_name = "TEST", required_unless_present = "order", add = test_names())]
    pub(crate) tests: Vec<String>,

    /// Read the tests from FILE, one per line
    #[arg(long, value_name = "FILE", conflicts_with = "tests")]
    pub(crate) order: Option<PathBuf>,

    /// Run them under this factor, such as `schedule=7`; repeatable
    ///
    /// The factors are those of `unflake under --help`.
    #[arg(long, value_name = "FACTOR=VALUE", value_parser = clap::value_parser!(Factor))]
    pub(crate) under: Vec<Factor>,

    /// Run up to N at the same time in one process
    #[arg(long, value_name = "N")]
    pub(crate) at_once: Option<u32>,

    #[command(flatten)]
    pub(crate) output: OutputArgs,

    #[command(flatten)]
    pub(crate) settings: SettingOptions<ReplayArgs>,

    #[command(flatten)]
    pub(crate) command: CommandArgs,
}

impl UsesSettings for ReplayArgs {
    const SETTINGS: &'static [SettingGroup] = &[FRESH_BY, ATTEMPT, RESULT_FILES, CLASS_PATH, STORE];
}

fn after_help() -> String {
    let examples = [
        ("unflake replay test_warmup test_cold -- pytest", "Run two tests in this order, in one new process."),
        ("unflake replay test_append test_append", "Run the same test twice in one session."),
        ("unflake replay test_stock --under schedule=7", "Run a test in a chosen world."),
        ("unflake replay --order order.txt", "Run the tests that a file lists, one per line."),
    ];
    let own = [(Exit::Success, "the last test passed"), (Exit::RealFailures, "the last test failed")];
    long_help(&examples, &own, &[Exit::Usage, Exit::Runner, Exit::NoTests, Exit::Internal, Exit::Interrupted])
}
