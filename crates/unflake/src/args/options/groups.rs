//! Options that several commands share, beside those that set settings.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use crate::project::shard::ShardNumber;

#[derive(Debug, Default, Args)]
pub(crate) struct CommandArgs {
    /// Test command, after `--` [default: from settings, or guessed]
    #[arg(last = true, value_name = "COMMAND", value_hint = ValueHint::AnyPath)]
    pub(crate) words: Vec<String>,
}

/// What to write, and where.
#[derive(Debug, Args)]
pub(crate) struct OutputArgs {
    /// Print only what needs action
    #[arg(long, short, help_heading = "Output")]
    pub(crate) quiet: bool,

    /// Print the whole report, however long it is
    #[arg(long, help_heading = "Output", hide_short_help = true)]
    pub(crate) full: bool,

    /// Write attempts and findings as JSON (`-`: standard output)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) json: Option<PathBuf>,

    /// Write a JUnit report with every attempt
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) junit: Option<PathBuf>,

    /// Append a summary as Markdown
    ///
    /// For the summary of a CI job ("$GITHUB_STEP_SUMMARY"), or the text of a comment.
    #[arg(long, value_name = "FILE", help_heading = "Output", hide_short_help = true)]
    pub(crate) markdown: Option<PathBuf>,

    /// Write annotations for GitHub (`-`: standard output)
    ///
    /// GitHub reads them from the standard output of a job.
    #[arg(long, value_name = "FILE", help_heading = "Output", hide_short_help = true)]
    pub(crate) github: Option<PathBuf>,

    /// Write a code quality report for GitLab
    #[arg(long, value_name = "FILE", help_heading = "Output", hide_short_help = true)]
    pub(crate) gitlab: Option<PathBuf>,

    /// Write root-cause lines as SARIF, for code scanning
    #[arg(long, value_name = "FILE", help_heading = "Output", hide_short_help = true)]
    pub(crate) sarif: Option<PathBuf>,
}

/// One of several shards of a suite.
#[derive(Debug, Default, Args)]
pub(crate) struct ShardArgs {
    /// Run one shard of several, such as 2/8
    ///
    /// Each takes about the same time, by the history. All shards of a suite need the same history:
    /// one on a server, or copies of the same file. `unflake history merge` reports on all of them.
    #[arg(long, value_name = "N/COUNT", help_heading = "Shards", hide_short_help = true)]
    pub(crate) shard: Option<ShardNumber>,

    /// What the shards of one suite share [default: the ID of the CI run]
    ///
    /// Without a CI, the commit. In a matrix, give the shards of each system their own.
    #[arg(long, value_name = "NAME", requires = "shard", help_heading = "Shards", hide_short_help = true)]
    pub(crate) shard_group: Option<String>,
}

/// The branch whose failures count in scores.
#[derive(Debug, Args)]
pub(crate) struct MainBranchArg {
    /// The branch on which failures count [default: main, master, trunk, develop]
    ///
    /// On other branches failures may be work in progress; they count only if they are proven
    /// flaky.
    #[arg(long = "main-branch", value_name = "BRANCH", hide_short_help = true)]
    pub(crate) name: Option<String>,
}
