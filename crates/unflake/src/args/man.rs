//! Options of `unflake man`.

use std::path::PathBuf;

use clap::Args;

use crate::args::help::{READS, long_help};
use crate::exit::Exit;

#[derive(Debug, Args)]
#[command(after_long_help = after_help())]
pub(crate) struct ManArgs {
    /// Write one page per command into DIR [default: print the page of unflake]
    #[arg(value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
}

fn after_help() -> String {
    let examples = [
        ("unflake man | man -l -", "Read the page of unflake."),
        ("unflake man ~/.local/share/man/man1", "Install the pages: `man unflake-run`."),
    ];
    long_help(&examples, &[(Exit::Success, "the pages are written")], READS)
}
