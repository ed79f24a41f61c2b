//! Options of `unflake report`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::args::help::{READS, long_help};
use crate::args::options::groups::MainBranchArg;
use crate::args::options::setting_options::{CHANGE, STORE, SettingGroup, SettingOptions, StoreOption, UsesSettings};
use crate::args::options::test_names::test_names;
use crate::exit::Exit;

#[derive(Debug, Subcommand)]
pub(crate) enum ReportCommand {
    /// Write the pages of `unflake serve` into one HTML file
    Html(ReportHtmlArgs),
    /// Write a review comment on flaky tests that a change touches
    ///
    /// No test runs: dependencies come from `unflake affected --learn` and from tests that failed
    /// in `unflake run`.
    Comment(ReportCommentArgs),
    /// Write an issue about the root cause of a flaky test
    Issue(ReportIssueArgs),
    /// Record whether a finding was useful, or list findings
    ///
    /// Findings that are marked as not useful come last and in short. Nothing is hidden, and no
    /// exit code changes.
    Feedback(ReportFeedbackArgs),
}

#[derive(Debug, Args)]
#[command(after_long_help = html_help())]
pub(crate) struct ReportHtmlArgs {
    /// The file to write (`-`: standard output)
    pub(crate) file: PathBuf,

    #[command(flatten)]
    pub(crate) store: StoreOption,
}

fn html_help() -> String {
    let examples = [
        ("unflake report html flaky.html", "Write one file that needs no other."),
        ("unflake report html - --store postgres://ci@db.example/flaky > flaky.html", "From a shared history."),
    ];
    long_help(&examples, &[(Exit::Success, "the file is written")], READS)
}

#[derive(Debug, Args)]
#[command(after_long_help = comment_help())]
pub(crate) struct ReportCommentArgs {
    /// Only tests that fail with at least this probability
    #[arg(long, value_name = "SHARE", default_value_t = 0.01)]
    pub(crate) min_score: f64,

    #[command(flatten)]
    pub(crate) main_branch: MainBranchArg,

    /// Write to FILE; empty if there is nothing to report [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub(crate) to: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) settings: SettingOptions<ReportCommentArgs>,
}

impl UsesSettings for ReportCommentArgs {
    const SETTINGS: &'static [SettingGroup] = &[CHANGE, STORE];
}

fn comment_help() -> String {
    let examples = [
        ("unflake report comment --base origin/main", "Print the comment in Markdown."),
        (
            "unflake report comment --to comment.md",
            "Its first line is always `<!-- unflake:comment -->`: your CI can find and replace it.",
        ),
    ];
    let own = [(Exit::Success, "there is a comment"), (Exit::NoTests, "there is nothing to report")];
    long_help(&examples, &own, READS)
}

#[derive(Debug, Args)]
#[command(after_long_help = issue_help())]
pub(crate) struct ReportIssueArgs {
    /// A test, or part of its name; or the ID of a finding
    #[arg(value_name = "TEST", add = test_names())]
    pub(crate) what: String,

    #[command(flatten)]
    pub(crate) main_branch: MainBranchArg,

    /// Write to FILE [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub(crate) to: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) store: StoreOption,
}

fn issue_help() -> String {
    let examples = [
        ("unflake report issue test_retry", "Print a title, an empty line and the body in Markdown."),
        (
            "unflake report issue 3f9a2c1e --to issue.md",
            "The body has a comment `<!-- unflake:issue … -->`: your CI can find the issue again.",
        ),
    ];
    long_help(&examples, &[(Exit::Success, "there is a text")], READS)
}

#[derive(Debug, Args)]
#[command(after_long_help = feedback_help())]
pub(crate) struct ReportFeedbackArgs {
    /// The ID of a finding, or a test with one finding [default: list them]
    #[arg(add = test_names())]
    pub(crate) finding: Option<String>,

    /// not-useful, or useful to take it back
    #[arg(hide_possible_values = true, requires = "finding")]
    pub(crate) feedback: Option<Usefulness>,

    /// The reason, for others to read
    #[arg(long, value_name = "TEXT", requires = "feedback")]
    pub(crate) why: Option<String>,

    #[command(flatten)]
    pub(crate) store: StoreOption,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub(crate) enum Usefulness {
    NotUseful,
    Useful,
}

fn feedback_help() -> String {
    let examples = [
        ("unflake report feedback", "List the latest findings with their IDs."),
        ("unflake report feedback 3f9a2c1e not-useful --why 'the port is reserved'", "Move a finding to the end."),
        ("unflake report feedback 3f9a2c1e useful", "Take that back."),
    ];
    long_help(&examples, &[(Exit::Success, "the feedback is recorded, or the findings are listed")], READS)
}
