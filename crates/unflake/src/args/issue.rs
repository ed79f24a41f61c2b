//! Options of `unflake issue`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
#[command(
    after_help = "The first line is the title; the body, in Markdown, begins two lines below it and names the cause in a comment of its own \
(`<!-- unflake:issue … -->`), so that your CI can find the issue again.\n\nExit codes: 0 there is a text, 2 wrong usage."
)]
pub(crate) struct IssueArgs {
    /// A test, or a part of its name that no other has; or a finding, by the letters that are
    /// printed with it.
    pub(crate) what: String,

    /// The branch on which failures count, as for `unflake score`.
    #[arg(long, value_name = "BRANCH")]
    pub(crate) main: Option<String>,

    /// Write the text to FILE. Otherwise it goes to standard output.
    #[arg(long, value_name = "FILE")]
    pub(crate) to: Option<PathBuf>,
}
