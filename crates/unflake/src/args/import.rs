//! Options of `unflake import`.

use std::path::PathBuf;

use clap::Args;

use crate::args::groups::StoreArg;

#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 all of it is in the history, 2 a file is not there or is no report, 3 a report breaks off: what \
stands before is in the history. A file that was imported before adds nothing."
)]
pub(crate) struct ImportArgs {
    /// Reports: JUnit XML, CTRF, pytest-reportlog, libtest-json. Of a directory, all that are in it
    /// and below.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// The commit that was tested [default: as the CI says, else unknown]
    #[arg(long, value_name = "COMMIT")]
    pub(crate) revision: Option<String>,

    /// The branch [default: as the CI says, else unknown]
    #[arg(long, value_name = "NAME")]
    pub(crate) branch: Option<String>,

    /// What the CI calls the run [default: as the CI says, else unknown]
    #[arg(long, value_name = "ID")]
    pub(crate) ci_run: Option<String>,

    /// Which attempt at that run, counted from 1.
    #[arg(long, value_name = "N")]
    pub(crate) ci_attempt: Option<u32>,

    /// Which part of that run: give another one for each system or version that the same tests run
    /// on.
    #[arg(long, value_name = "NAME")]
    pub(crate) job: Option<String>,

    /// When the tests ran, where the report does not say: `2026-11-15T14:37:15Z` [default: when the
    /// file was changed]
    #[arg(long, value_name = "TIME")]
    pub(crate) at: Option<String>,

    #[command(flatten)]
    pub(crate) store: StoreArg,

    /// Say only what could not be read.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}
