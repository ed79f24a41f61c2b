//! Options of `unflake serve`.

use clap::Args;

use crate::args::groups::StoreArg;

/// `test` on the keys of a telephone.
const PORT: u16 = 8378;

#[derive(Debug, Args)]
#[command(
    after_help = "Listens on the loopback address only. Reading needs nothing; what writes needs the token in the address that is printed. Every page has \
its JSON: the same address with .json (/inbox.json, /test/12.json). Ctrl-C ends it."
)]
pub(crate) struct ServeArgs {
    /// The port; 0 is any that is free.
    #[arg(long, default_value_t = PORT, value_name = "N")]
    pub(crate) port: u16,

    #[command(flatten)]
    pub(crate) store: StoreArg,
}
