//! Options of `unflake demo`.

use std::path::PathBuf;

use clap::Args;

use crate::args::help::long_help;
use crate::exit::Exit;

#[derive(Debug, Args)]
#[command(after_long_help = after_help())]
pub(crate) struct DemoArgs {
    /// Create the sample project in DIR and keep it
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,

    /// The Python that creates the virtual environment
    #[arg(long = "python", default_value = "python3", value_name = "PROGRAM")]
    pub(crate) program: String,
}

fn after_help() -> String {
    let examples = [
        ("unflake demo", "Run unflake on a sample project in a temporary directory."),
        ("unflake demo --keep sample", "Keep the project in `sample`, to try further commands."),
    ];
    let own = [(Exit::Success, "the sample project ran"), (Exit::Runner, "the sample project could not be set up")];
    long_help(&examples, &own, &[Exit::Usage, Exit::Internal, Exit::Interrupted])
}
