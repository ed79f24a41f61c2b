//! Options of `unflake store`.

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    /// Copy a whole history to another place, such as from .unflake to a server that a team shares,
    /// or back. What is copied stays as it is; to copy again adds what has come since. All of it is
    /// copied, or nothing. Another history that is there is left alone.
    Copy {
        /// A directory, or postgres://USER@HOST/DATABASE.
        #[arg(value_name = "FROM")]
        from: String,
        #[arg(value_name = "TO")]
        to: String,
    },
}
