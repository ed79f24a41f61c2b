//! Options of `unflake quarantine`.

use clap::{Args, Subcommand};

use crate::args::help::{READS, long_help};
use crate::args::options::setting_options::StoreOption;
use crate::args::options::test_names::test_names;
use crate::exit::Exit;

#[derive(Debug, Subcommand)]
pub(crate) enum QuarantineCommand {
    /// List quarantined tests and whether they still need it
    #[command(after_long_help = after_help())]
    List {
        #[command(flatten)]
        store: StoreOption,
    },
    /// Quarantine the failures of a test's last failing run
    ///
    /// `unflake run` still runs the test and excuses these failures until the expiry date. Any
    /// other failure counts.
    #[command(after_long_help = after_help())]
    Add {
        #[command(flatten)]
        entry: QuarantineAdd,
        #[command(flatten)]
        store: StoreOption,
    },
    /// Let the failures of a test count again
    #[command(after_long_help = after_help())]
    Remove {
        /// The test, as `unflake run` prints it
        #[arg(add = test_names())]
        test: String,
    },
}

/// A new entry of the quarantine.
#[derive(Debug, Args)]
pub(crate) struct QuarantineAdd {
    /// The test, as `unflake run` prints it
    #[arg(add = test_names())]
    pub(crate) test: String,

    /// Why it is not fixed now
    #[arg(long)]
    pub(crate) reason: String,

    /// Who will fix it
    #[arg(long)]
    pub(crate) owner: String,

    /// The issue about it
    #[arg(long)]
    pub(crate) issue: Option<String>,

    /// Days until it expires, at most 30
    #[arg(long, default_value = "14")]
    pub(crate) days: i64,

    /// Do not run the test
    #[arg(long)]
    pub(crate) skip: bool,
}

fn after_help() -> String {
    let examples = [
        (
            "unflake quarantine add tests/test_a.py::test_b --owner ann --reason 'waits for the new client'",
            "Excuse its known failures for 14 days; commit .unflake/quarantine.toml.",
        ),
        ("unflake quarantine list", "List what is quarantined, and until when."),
        ("unflake quarantine remove tests/test_a.py::test_b", "Let it count again."),
    ];
    long_help(&examples, &[(Exit::Success, "the quarantine is listed or changed")], READS)
}
