//! Options of `unflake token`.

use clap::{Args, Subcommand, ValueEnum};
use unflake_store::AccessRole;

use crate::args::help::{READS, long_help};
use crate::args::options::setting_options::StoreOption;
use crate::exit::Exit;

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Create a token, and print it once
    ///
    /// The history stores a hash of it, so it cannot be printed again.
    #[command(after_long_help = after_help())]
    Create {
        #[command(flatten)]
        token: NewTokenArgs,
        #[command(flatten)]
        store: StoreOption,
    },
    /// List all tokens, with their roles and expiry dates
    #[command(after_long_help = after_help())]
    List {
        #[command(flatten)]
        store: StoreOption,
    },
    /// Revoke a token at once
    #[command(after_long_help = after_help())]
    Revoke {
        /// The name of the token
        name: String,
        #[command(flatten)]
        store: StoreOption,
    },
}

#[derive(Debug, Args)]
pub(crate) struct NewTokenArgs {
    /// A name for it, such as that of a person or a CI job
    pub(crate) name: String,

    /// What it allows: read or write
    #[arg(long, value_name = "ROLE", default_value = "read", hide_possible_values = true)]
    pub(crate) role: RoleName,

    /// Days until it expires, at most 366
    #[arg(long, value_name = "N", default_value = "90")]
    pub(crate) days: i64,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum RoleName {
    Read,
    Write,
}

impl From<RoleName> for AccessRole {
    fn from(name: RoleName) -> Self {
        match name {
            RoleName::Read => Self::Read,
            RoleName::Write => Self::Write,
        }
    }
}

fn after_help() -> String {
    let examples = [
        ("unflake token create nightly --role write", "Print a token for a CI job."),
        ("curl -H \"Authorization: Bearer $TOKEN\" https://tests.example/inbox.json", "Use it."),
        ("unflake token revoke nightly", "Refuse it from now on."),
    ];
    long_help(&examples, &[(Exit::Success, "the tokens are listed or changed")], READS)
}
