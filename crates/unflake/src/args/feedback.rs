//! What was typed to a command about what unflake found: to have it ready, to answer it, to put it where people work.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::args::{CommandArgs, EnoughArgs};
use crate::config::settings::Typed;

#[derive(Debug, Args)]
#[command(
    after_help = "For a job that runs every night. Stopped at any moment, it goes on where it was when it is started again: reports that \
are ready for these files are not made again.\n\nExit codes: 0 every report is ready, or the time was over (what is left is told), 2 wrong \
usage, 4 no test could be run, 70 unflake's own trouble, 130 stopped by you."
)]
pub(crate) struct PrepareArgs {
    /// Only tests that are at least so likely to fail in their next run.
    #[arg(long, value_name = "SHARE", default_value_t = 0.01)]
    pub(crate) at_least: f64,

    /// How long all of it may take: `90`, `10m`, `2h`, or `0` for as long as it takes. One test takes 10 minutes at most
    /// [default: 30m]
    #[arg(long = "for", value_name = "TIME")]
    pub(crate) time: Option<String>,

    #[command(flatten)]
    pub(crate) enough: EnoughArgs,

    /// The branch on which failures count, as for `unflake score`.
    #[arg(long, value_name = "BRANCH")]
    pub(crate) main: Option<String>,

    /// Make reports anew that are ready.
    #[arg(long)]
    pub(crate) again: bool,

    /// Leave out what was ready.
    #[arg(long, short)]
    pub(crate) quiet: bool,

    /// Write what became of each test as JSON to FILE (`-`: standard output).
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) typed: Typed,

    #[command(flatten)]
    pub(crate) command: CommandArgs,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Findings that people found of no use come after all others and are told in short, with the day of the answer. Nothing is \
hidden by it, and no exit code changes; a real failure cannot be answered. Kept with the history. Without arguments: the findings that can be \
answered, the newest first.\n\nExit codes: 0 the answer is kept, or the findings are listed, 2 wrong usage."
)]
pub(crate) struct AnswerArgs {
    /// The finding, by the letters that `locate`, `history` and --json print with it, or by the name of a test of which one
    /// thing was found.
    pub(crate) finding: Option<String>,

    /// `not-useful`, or `useful` to take it back.
    #[arg(hide_possible_values = true, requires = "finding")]
    pub(crate) answer: Option<Word>,

    /// Why, for others to read.
    #[arg(long, value_name = "TEXT", requires = "answer")]
    pub(crate) why: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub(crate) enum Word {
    NotUseful,
    Useful,
}

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

    /// Write the text to FILE, empty where there is nothing to say. Otherwise it goes to standard output.
    #[arg(long, value_name = "FILE")]
    pub(crate) to: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) typed: Typed,
}

#[derive(Debug, Args)]
#[command(
    after_help = "The first line is the title; the body, in Markdown, begins two lines below it and names the cause in a comment of its own \
(`<!-- unflake:issue … -->`), so that your CI can find the issue again.\n\nExit codes: 0 there is a text, 2 wrong usage."
)]
pub(crate) struct IssueArgs {
    /// A test, or a part of its name that no other has; or a finding, by the letters that are printed with it.
    pub(crate) what: String,

    /// The branch on which failures count, as for `unflake score`.
    #[arg(long, value_name = "BRANCH")]
    pub(crate) main: Option<String>,

    /// Write the text to FILE. Otherwise it goes to standard output.
    #[arg(long, value_name = "FILE")]
    pub(crate) to: Option<PathBuf>,
}
