//! The command line as it is typed: one file per command, shared option groups in `groups`.
//!
//! The doc comments of commands and options are the help texts that users see. What applies after
//! environment variables, the settings file and the defaults have been taken into account is in
//! `config::settings`.

pub(crate) mod affected;
pub(crate) mod answer;
pub(crate) mod comment;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod factors;
pub(crate) mod filter;
pub(crate) mod groups;
pub(crate) mod history;
pub(crate) mod import;
pub(crate) mod internal;
pub(crate) mod issue;
pub(crate) mod locate;
pub(crate) mod measure;
pub(crate) mod nio;
pub(crate) mod order;
pub(crate) mod prepare;
pub(crate) mod quarantine;
pub(crate) mod replay;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod score;
pub(crate) mod serve;
pub(crate) mod settings;
pub(crate) mod store;
pub(crate) mod trace;
pub(crate) mod under;

use clap::{ArgAction, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

/// Says which test failures are real and which are flaky, and how it knows.
///
/// Point it at the test command you already use: `unflake run -- pytest tests/`, `unflake run --
/// cargo test`, `unflake run -- ctest`. Nothing is added to your project and nothing has to be
/// installed beside your packages.
#[derive(Debug, Parser)]
#[command(name = "unflake", version, max_term_width = 100, disable_help_subcommand = true)]
#[command(after_help = "New here? `unflake demo` shows it on a small project of its own, with nothing to set up.")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// Use colour: auto, always or never. NO_COLOR is honoured.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", hide_default_value = true)]
    pub(crate) color: ColorChoice,

    /// Explain on standard error what unflake does and why; -vv tells more
    #[arg(long, short, global = true, action = ArgAction::Count)]
    pub(crate) verbose: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub(crate) enum ColorChoice {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the suite and say of every failure whether it is real or flaky.
    Run(run::RunArgs),
    /// List what is known of a test: every attempt in every run, newest first.
    History(history::HistoryArgs),
    /// Set known failures apart for a while, each with an owner and a last day: list, add, remove.
    Quarantine(quarantine::QuarantineArgs),
    /// Take in results that other programs wrote: JUnit XML and more, from your CI.
    Import(import::ImportArgs),
    /// List the flaky tests by how likely they are to fail in their next run, and since when.
    Score(score::ScoreArgs),
    /// Show the history as pages for a browser on this machine: what to look at, tests, runs, the
    /// quarantine.
    Serve(serve::ServeArgs),
    /// Write the same pages into one file.
    Report(report::ReportArgs),
    /// Copy the history to a server that a team shares, or back.
    #[command(subcommand)]
    Store(store::StoreCommand),
    /// Find tests that pass once and fail when they are run again in the same process, and the
    /// state behind it.
    Nio(nio::NioArgs),
    /// Find tests that depend on which tests ran before them, name those, and the state behind it.
    Order(order::OrderArgs),
    /// Run a flaky test many times and say where in the code its failing runs part from the passing
    /// ones.
    Locate(locate::LocateArgs),
    /// Locate every flaky test that has no report yet, the worst first, so that reports are ready
    /// before anyone asks.
    Prepare(prepare::PrepareArgs),
    /// Say of a finding that it was of no use, so that such findings come last; or take that back.
    Answer(answer::AnswerArgs),
    /// Write the text of a comment on a change that touches code a flaky test runs through.
    Comment(comment::CommentArgs),
    /// Write the text of an issue about the cause of a flaky test.
    Issue(issue::IssueArgs),
    /// Run a test under other circumstances, one after the other, and say which of them make it
    /// fail.
    Factors(factors::FactorsArgs),
    /// Run tests many times and say how far the runs differ: in verdicts, values, lines, behaviour
    /// and what a person sees.
    Measure(measure::MeasureArgs),
    /// Learn which assertions vary although nothing changed, and let them fail: by a file that you
    /// review.
    #[command(subcommand)]
    Filter(filter::FilterCommand),
    /// List the tests that your change can affect, one a line, for your runner.
    Affected(affected::AffectedArgs),
    /// Run the named tests in the given order in one session of the runner.
    Replay(replay::ReplayArgs),
    /// Print the lines that one run of a test goes through, in their order.
    Trace(trace::TraceArgs),
    /// Run any command under chosen factors: another date, a slow network, busy cores, and more.
    Under(under::UnderArgs),
    /// Check what is here: runner, agent, forking, git, history; what will work and what will not.
    Doctor(doctor::DoctorArgs),
    /// Print the settings that hold, and where each comes from.
    Settings(settings::SettingsArgs),
    /// Show unflake on a small sample project, with nothing to set up.
    Demo(demo::DemoArgs),
    /// Print a completion script for a shell.
    Completions { shell: Shell },
    /// The driver of a command that no agent can be brought into. Started by unflake itself.
    #[command(hide = true)]
    Drive(internal::DriveArgs),
    /// A program that tells what it sees. Started by `unflake doctor --factors`.
    #[command(hide = true)]
    Tell(internal::TellArgs),
    /// The keeper of one runner process. Started by unflake itself.
    #[command(hide = true)]
    Keep(internal::KeepArgs),
}
