//! Arguments of the hidden commands that unflake starts as its own child processes.

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct DriveArgs {
    #[arg(long, requires = "one_test")]
    pub(crate) results: Option<String>,
    #[arg(long, requires = "results")]
    pub(crate) one_test: Option<String>,
    #[arg(long)]
    pub(crate) classpath_file: Option<String>,
    #[arg(long)]
    pub(crate) test_classes: Vec<String>,
    #[arg(last = true)]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct TellArgs {
    pub(crate) word: String,
    pub(crate) place: String,
}

#[derive(Debug, Args)]
pub(crate) struct KeepArgs {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) arguments: Vec<String>,
}
