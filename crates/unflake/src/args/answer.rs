//! Options of `unflake answer`.

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
#[command(
    after_help = "Findings that people found of no use come after all others and are told in short, with the day of the answer. Nothing is \
hidden by it, and no exit code changes; a real failure cannot be answered. Kept with the history. Without arguments: the findings that can be \
answered, the newest first.\n\nExit codes: 0 the answer is kept, or the findings are listed, 2 wrong usage."
)]
pub(crate) struct AnswerArgs {
    /// The finding, by the letters that `locate`, `history` and --json print with it, or by the
    /// name of a test of which one thing was found.
    pub(crate) finding: Option<String>,

    /// `not-useful`, or `useful` to take it back.
    #[arg(hide_possible_values = true, requires = "finding")]
    pub(crate) answer: Option<Usefulness>,

    /// Why, for others to read.
    #[arg(long, value_name = "TEXT", requires = "answer")]
    pub(crate) why: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub(crate) enum Usefulness {
    NotUseful,
    Useful,
}
