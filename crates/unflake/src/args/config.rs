//! Options of `unflake config`.

use std::path::PathBuf;

use clap::Args;

use crate::args::help::{READS, long_help};
use crate::exit::Exit;

#[derive(Debug, Args)]
#[command(after_long_help = after_help())]
pub(crate) struct ConfigArgs {
    /// Write a commented unflake.toml with every setting
    #[arg(long, conflicts_with = "json")]
    pub(crate) init: bool,

    /// Write the effective settings as JSON (`-`: standard output)
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

fn after_help() -> String {
    let examples = [
        ("unflake config", "Print every setting, its value and where it comes from."),
        ("unflake config --init", "Write unflake.toml; an existing file is not overwritten."),
        ("UNFLAKE_FRESH=3 unflake config --json -", "Print the settings as JSON, one from a variable."),
    ];
    long_help(&examples, &[(Exit::Success, "the settings are printed, or the file is written")], READS)
}
