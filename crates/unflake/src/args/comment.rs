//! Options of `unflake comment`.

use std::path::PathBuf;

use clap::Args;

use crate::args::groups::SettingOptions;

#[derive(Debug, Args)]
#[command(
    after_help = "The first line of the text is always the same (`<!-- unflake:comment -->`), so that your CI can find its comment and replace \
it. No test is run: what tests depend on is known from `unflake affected --learn` and from tests that failed in `unflake run`.\n\nExit codes: 0 \
there is a text, 5 there is nothing to say and the text is empty: no flaky test is known to run through what changed, 2 wrong usage."
)]
pub(crate) struct CommentArgs {
    /// Only tests that are at least so likely to fail in their next run.
    #[arg(long, value_name = "SHARE", default_value_t = 0.01)]
    pub(crate) at_least: f64,

    /// The branch on which failures count, as for `unflake score`.
    #[arg(long, value_name = "BRANCH")]
    pub(crate) main: Option<String>,

    /// Write the text to FILE, empty where there is nothing to say. Otherwise it goes to standard
    /// output.
    #[arg(long, value_name = "FILE")]
    pub(crate) to: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) settings: SettingOptions,
}
