//! What was typed. What holds is in `settings`.

pub(crate) mod feedback;
pub(crate) mod filter;
pub(crate) mod history;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

pub(crate) use crate::args::feedback::{AnswerArgs, CommentArgs, IssueArgs, PrepareArgs, Word};
use crate::args::filter::{FilterCommand, FilteringArgs};
pub(crate) use crate::args::history::{HistoryArgs, ImportArgs, ScoreArgs, StoreCommand};
use crate::commands::factors::command::FactorsArgs;
use crate::commands::measure::MeasureArgs;
use crate::commands::serve::{ReportArgs, ServeArgs};
use crate::commands::under::FactorArgs;
use crate::config::settings::Typed;

/// Says which test failures are real and which are flaky, and how it knows.
///
/// Point it at the test command you already use: `unflake run -- pytest tests/`, `unflake run -- cargo test`, `unflake run --
/// ctest`. Nothing is added to your project and nothing has to be installed beside your packages.
#[derive(Debug, Parser)]
#[command(name = "unflake", version, max_term_width = 100, disable_help_subcommand = true)]
#[command(after_help = "New here? `unflake demo` shows it on a small project of its own, with nothing to set up.")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// Use colour: auto, always or never. NO_COLOR is honoured.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", hide_default_value = true)]
    pub(crate) color: When,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub(crate) enum When {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the suite and say of every failure whether it is real or flaky.
    Run(RunArgs),
    /// List what is known of a test: every attempt in every run, newest first.
    History(HistoryArgs),
    /// Set known failures apart for a while, each with an owner and a last day: list, add, remove.
    Quarantine(QuarantineArgs),
    /// Take in results that other programs wrote: JUnit XML and more, from your CI.
    Import(ImportArgs),
    /// List the flaky tests by how likely they are to fail in their next run, and since when.
    Score(ScoreArgs),
    /// Show the history as pages for a browser on this machine: what to look at, tests, runs, the quarantine.
    Serve(ServeArgs),
    /// Write the same pages into one file.
    Report(ReportArgs),
    /// Copy the history to a server that a team shares, or back.
    #[command(subcommand)]
    Store(StoreCommand),
    /// Find tests that pass once and fail when they are run again in the same process, and the state behind it.
    Nio(NioArgs),
    /// Find tests that depend on which tests ran before them, name those, and the state behind it.
    Order(OrderArgs),
    /// Run a flaky test many times and say where in the code its failing runs part from the passing ones.
    Locate(LocateArgs),
    /// Locate every flaky test that has no report yet, the worst first, so that reports are ready before anyone asks.
    Prepare(PrepareArgs),
    /// Say of a finding that it was of no use, so that such findings come last; or take that back.
    Answer(AnswerArgs),
    /// Write the text of a comment on a change that touches code a flaky test runs through.
    Comment(CommentArgs),
    /// Write the text of an issue about the cause of a flaky test.
    Issue(IssueArgs),
    /// Run a test under other circumstances, one after the other, and say which of them make it fail.
    Factors(FactorsArgs),
    /// Run tests many times and say how far the runs differ: in verdicts, values, lines, behaviour and what a person sees.
    Measure(MeasureArgs),
    /// Learn which assertions vary although nothing changed, and let them fail: by a file that you review.
    #[command(subcommand)]
    Filter(FilterCommand),
    /// List the tests that your change can affect, one a line, for your runner.
    Affected(AffectedArgs),
    /// Print the lines that one run of a test goes through, in their order.
    Trace(TraceArgs),
    /// Run any command under chosen factors: another date, a slow network, busy cores, and more.
    Under(UnderArgs),
    /// Check what is here: runner, agent, forking, git, history; what will work and what will not.
    Doctor(DoctorArgs),
    /// Print the settings that hold, and where each comes from.
    Settings(SettingsArgs),
    /// Show unflake on a small sample project, with nothing to set up.
    Demo(DemoArgs),
    /// Print a completion script for a shell.
    Completions { shell: Shell },
    /// The driver of a command that no agent can be brought into. Started by unflake itself.
    #[command(hide = true)]
    Drive {
        /// A setting of the runner, `name=value`.
        #[arg(long)]
        option: Vec<String>,
        #[arg(last = true)]
        command: Vec<String>,
    },
    /// A program that tells what it sees. Started by `unflake doctor --factors`.
    #[command(hide = true)]
    Tell { word: String, place: String },
    /// The keeper of one runner process. Started by unflake itself.
    #[command(hide = true)]
    Keep {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
}

#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 passed or only flaky tests failed, 1 real failures, 2 wrong usage, 3 not all tests ran, \
4 the runner could not run, 5 no tests, 70 unflake's own trouble, 130 stopped by you."
)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) typed: Typed,

    /// Let assertions fail that are known to vary without a change: those in unflake-filter.toml, or in FILE. Each that failed
    /// is listed
    #[arg(
        long,
        value_name = "FILE",
        num_args = 0..=1,
        require_equals = true,
        conflicts_with = "stress",
        help_heading = "Filter"
    )]
    pub(crate) filter: Option<Option<PathBuf>>,

    #[command(flatten)]
    pub(crate) filtering: FilteringArgs,

    /// Run every test again and again beside copies of itself, more at once than there are cores, until it fails or the
    /// time is over. A test that failed is left alone, the others go on
    #[arg(long, help_heading = "Stress")]
    pub(crate) stress: bool,

    /// How long to go on with --stress: `90`, `2m`, `1h` [default: 1m]
    #[arg(long = "for", value_name = "TIME", requires = "stress", help_heading = "Stress")]
    pub(crate) stress_for: Option<String>,

    /// How often to run each test with --stress at most
    #[arg(long, value_name = "N", requires = "stress", help_heading = "Stress")]
    pub(crate) times: Option<u32>,

    #[command(flatten)]
    pub(crate) output: OutputArgs,

    /// Show at the end what the runner itself printed.
    #[arg(long)]
    pub(crate) runner_output: bool,

    #[command(flatten)]
    pub(crate) command: CommandArgs,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Kept in .unflake/quarantine.toml, for everybody who works on the project. `unflake run` still runs these tests; only the \
failures that are named there are excused, until the last day. Any other failure counts."
)]
pub(crate) struct QuarantineArgs {
    #[command(subcommand)]
    pub(crate) command: Option<QuarantineCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum QuarantineCommand {
    /// List what is in quarantine, and whether it is still needed.
    List,
    /// Excuse the failures that the last failing run of a test had.
    Add(QuarantineAdd),
    /// Let a test count again.
    Remove { test: String },
}

#[derive(Debug, Args)]
pub(crate) struct QuarantineAdd {
    /// The test, as `unflake run` names it.
    pub(crate) test: String,
    /// Why nobody mends it now.
    #[arg(long)]
    pub(crate) reason: String,
    /// Who will.
    #[arg(long)]
    pub(crate) owner: String,
    /// Where it is written up.
    #[arg(long)]
    pub(crate) issue: Option<String>,
    /// How many days it holds, 30 at most.
    #[arg(long, default_value = "14")]
    pub(crate) days: i64,
    /// Do not run it either.
    #[arg(long)]
    pub(crate) skip: bool,
}

#[derive(Debug, Args)]
pub(crate) struct OutputArgs {
    /// Say only what has to be acted upon.
    #[arg(long, short)]
    pub(crate) quiet: bool,

    /// Write everything found as JSON to FILE (`-`: standard output).
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// Write a JUnit report to FILE, every attempt included.
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,

    /// Write what was found as annotations for GitHub to FILE (`-`: standard output, where GitHub reads them).
    #[arg(long, value_name = "FILE", help_heading = "Where people review changes")]
    pub(crate) annotations: Option<PathBuf>,

    /// Add what was found, as Markdown, to the end of FILE: the summary of a job ("$GITHUB_STEP_SUMMARY"), or the text of a comment.
    #[arg(long, value_name = "FILE", help_heading = "Where people review changes")]
    pub(crate) markdown: Option<PathBuf>,

    /// Write what was found as a code quality report for GitLab to FILE.
    #[arg(long, value_name = "FILE", help_heading = "Where people review changes")]
    pub(crate) code_quality: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = SEARCH_EXITS)]
pub(crate) struct NioArgs {
    /// The tests to look into, by name or part of it. None: all of them.
    pub(crate) tests: Vec<String>,

    /// What shares a process: nothing (`isolated-method`), the tests of a class (`isolated-class`), or all tests
    /// (`entire-suite`), which is fastest and finds least.
    #[arg(long, value_name = "MODE", default_value = "isolated-method", hide_possible_values = true)]
    pub(crate) mode: NioModeArg,

    /// Only tests in files that are new or changed against the base.
    #[arg(long)]
    pub(crate) changed: bool,

    #[command(flatten)]
    pub(crate) search: SearchArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub(crate) enum NioModeArg {
    IsolatedMethod,
    IsolatedClass,
    EntireSuite,
}

#[derive(Debug, Args)]
#[command(after_help = SEARCH_EXITS)]
pub(crate) struct OrderArgs {
    /// The tests to look into, by name or part of it. None: all of them.
    pub(crate) tests: Vec<String>,

    /// How many random orders to try when every pair has been covered.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) random: u32,

    /// What random orders are drawn from; it is printed, so that they can be had again.
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,

    /// Look for every culprit and every cleaner in a large suite too.
    #[arg(long)]
    pub(crate) thorough: bool,

    #[command(flatten)]
    pub(crate) search: SearchArgs,
}

const SEARCH_EXITS: &str = "Exit codes: 0 nothing found, 1 tests that depend on what ran before, 2 wrong usage, 4 the \
runner could not run, 5 no tests, 70 unflake's own trouble, 130 stopped by you: what was found until then is told.";

/// What every search takes.
#[derive(Debug, Args)]
pub(crate) struct SearchArgs {
    /// How long to search: `90`, `10m`, `2h`, or `0` for as long as it takes [default: 10m]
    #[arg(long = "for", value_name = "TIME")]
    pub(crate) time: Option<String>,

    /// Do not look for the state that is left behind.
    #[arg(long)]
    pub(crate) no_state: bool,

    #[command(flatten)]
    pub(crate) output: OutputArgs,

    #[command(flatten)]
    pub(crate) typed: Typed,

    #[command(flatten)]
    pub(crate) command: CommandArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CommandArgs {
    /// Your own test command, after `--`. Where it is left out, it is taken from the settings or guessed.
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Try every factor of `unflake under` on every runtime that is here, and say which of them hold. Takes about a minute
    #[arg(long)]
    pub(crate) factors: bool,

    #[command(flatten)]
    pub(crate) command: CommandArgs,
}

#[derive(Debug, Args)]
#[command(
    override_usage = "unflake under [--FACTOR SETTING]... -- COMMAND",
    after_help = "The exit code is that of the command (128 and the number of the signal that ended it), or 2: a factor cannot be \
set, 4: the command cannot be started. Its input and output are yours; what it leaves running is ended."
)]
pub(crate) struct UnderArgs {
    /// Do not say beforehand under what the command runs. What could not be reached is said all the same.
    #[arg(long, short)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) factors: FactorArgs,

    /// The command, after `--`.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct TraceArgs {
    /// The test, or a part of its name that no other has.
    pub(crate) test: String,

    /// Only the project's files that were run, without the lines.
    #[arg(long)]
    pub(crate) files: bool,

    #[command(flatten)]
    pub(crate) typed: Typed,

    #[command(flatten)]
    pub(crate) command: CommandArgs,
}

/// How much it takes to locate a test.
#[derive(Debug, Args)]
pub(crate) struct EnoughArgs {
    /// How many runs of a test to compare; fewer where more would not change the answer.
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(crate) runs: u32,

    /// How many runs of a test to make at most, as long as all end alike.
    #[arg(long, value_name = "N", default_value_t = 200)]
    most: u32,
}

impl EnoughArgs {
    pub(crate) fn most(&self) -> u32 {
        self.most.max(self.runs)
    }
}

#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 it passed every time, 1 it failed, now and then or every time, 2 wrong usage, 4 the \
runner could not run, 5 no tests, 70 unflake's own trouble, 130 stopped by you: what was found until then is told."
)]
pub(crate) struct LocateArgs {
    /// The test, or a part of its name that no other has. Left out: the one that was flaky lately, as far as the history knows.
    pub(crate) test: Option<String>,

    #[command(flatten)]
    pub(crate) enough: EnoughArgs,

    /// How long to begin runs: `90`, `10m`, `2h`, or `0` for as long as it takes [default: 10m]
    #[arg(long = "for", value_name = "TIME")]
    pub(crate) time: Option<String>,

    /// Without a test: how large a share of its runs must have failed lately.
    #[arg(long, value_name = "SHARE", default_value_t = 0.1)]
    pub(crate) least: f64,

    /// Record no values, only lines. Faster, for tests that no longer fail when they are looked at closely.
    #[arg(long)]
    pub(crate) lines_only: bool,

    /// Run it even if `unflake prepare` has a report on these files.
    #[arg(long)]
    pub(crate) again: bool,

    /// Write the full report to FILE. Otherwise it goes to `reports` beside the history.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) output: OutputArgs,

    #[command(flatten)]
    pub(crate) typed: Typed,

    #[command(flatten)]
    pub(crate) command: CommandArgs,
}

#[derive(Debug, Args)]
pub(crate) struct AffectedArgs {
    /// Run the tests first and learn what each depends on. Without it, what is known from earlier runs is used, and tests of
    /// which nothing is known are listed too.
    #[arg(long)]
    pub(crate) learn: bool,

    /// Say for each test why.
    #[arg(long)]
    pub(crate) why: bool,

    #[command(flatten)]
    pub(crate) typed: Typed,

    #[command(flatten)]
    pub(crate) command: CommandArgs,
}

#[derive(Debug, Args)]
pub(crate) struct SettingsArgs {
    #[command(flatten)]
    pub(crate) typed: Typed,

    #[command(flatten)]
    pub(crate) command: CommandArgs,
}

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Make the sample project in DIR and leave it there. Otherwise it is removed afterwards.
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,

    /// The Python to make the sample's virtual environment with.
    #[arg(long = "python", default_value = "python3", value_name = "PROGRAM")]
    pub(crate) program: String,
}
