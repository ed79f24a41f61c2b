//! Options of `unflake serve`.

use clap::Args;

use crate::args::help::{READS, long_help};
use crate::args::options::setting_options::StoreOption;
use crate::exit::Exit;

/// `test` on the keys of a telephone.
const PORT: u16 = 8378;

#[derive(Debug, Args)]
#[command(after_long_help = after_help())]
pub(crate) struct ServeArgs {
    /// The port; 0 takes any free one
    #[arg(long, default_value_t = PORT, value_name = "N")]
    pub(crate) port: u16,

    #[command(flatten)]
    pub(crate) store: StoreOption,
}

fn after_help() -> String {
    let examples = [
        ("unflake serve", "Print an address of this machine, and serve until Ctrl-C."),
        ("curl localhost:8378/inbox.json", "Every page as JSON: its address with .json."),
    ];
    long_help(&examples, &[(Exit::Success, "stopped by Ctrl-C")], READS)
}
