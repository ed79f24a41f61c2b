//! Options of `unflake demo`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Make the sample project in DIR and leave it there. Otherwise it is removed afterwards.
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,

    /// The Python to make the sample's virtual environment with.
    #[arg(long, default_value = "python3", value_name = "PROGRAM")]
    pub(crate) python: String,
}
