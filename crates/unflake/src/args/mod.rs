//! The command line as it is typed: one file per command, shared options in `options`, help
//! texts in `help`.
//!
//! The doc comments of commands and options are the help texts that users see: the first paragraph
//! for `-h`, all of it for `--help`. What applies after environment variables, the settings file
//! and the defaults have been taken into account is in `config::settings`.

pub(crate) mod affected;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod factors;
pub(crate) mod filter;
pub(crate) mod help;
pub(crate) mod history;
pub(crate) mod internal;
pub(crate) mod locate;
pub(crate) mod man;
pub(crate) mod measure;
pub(crate) mod nio;
pub(crate) mod options;
pub(crate) mod order;
pub(crate) mod quarantine;
pub(crate) mod replay;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod stress;
pub(crate) mod token;
pub(crate) mod trace;
pub(crate) mod under;
pub(crate) mod why;

use clap::{ArgAction, Parser, Subcommand, ValueEnum};

/// Find flaky tests and their root causes
///
/// Point unflake at the test command you already use: `unflake run -- pytest tests/`, `unflake run
/// -- cargo test`, `unflake run -- ctest`. It adds nothing to your project.
#[derive(Debug, Parser)]
#[command(name = "unflake", version, max_term_width = 100, disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// Use colour: auto, always or never [default: auto]
    ///
    /// NO_COLOR is honoured.
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_default_value = true,
        hide_possible_values = true,
        hide_short_help = true
    )]
    pub(crate) color: ColorChoice,

    /// Explain on standard error what unflake does; -vv for more
    #[arg(long, short, global = true, action = ArgAction::Count, hide_short_help = true)]
    pub(crate) verbose: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub(crate) enum ColorChoice {
    Auto,
    Always,
    Never,
}

/// The commands, in the order of `command_groups`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the tests, classify each failure as real or flaky
    Run(Box<run::RunArgs>),
    /// Find the root cause of a flaky test, by all techniques
    ///
    /// Tries the cheapest first and stops at a proof: retries, idempotence, order and leaked state,
    /// seeds and other factors, traces.
    Why(Box<why::WhyArgs>),
    /// List the tests that your change can affect
    Affected(affected::AffectedArgs),
    /// Find non-idempotent tests and the state they leak
    Nio(nio::NioArgs),
    /// Find order-dependent tests, polluters and leaked state
    Order(order::OrderArgs),
    /// Find the line where failing runs leave the passing ones
    Locate(Box<locate::LocateArgs>),
    /// Find what makes a test fail: date, seed, load, …
    Factors(Box<factors::FactorsArgs>),
    /// Measure how much runs differ, of passing tests too
    Measure(Box<measure::MeasureArgs>),
    /// Run tests repeatedly, in parallel with copies of them
    ///
    /// More run at once than there are cores, until a test fails or the budget is exhausted. A
    /// test that failed is not run again.
    Stress(stress::StressArgs),
    /// Find assertions that vary without a change
    #[command(subcommand)]
    Filter(filter::FilterCommand),
    /// Show, import, score and copy test results
    #[command(subcommand)]
    History(history::HistoryCommand),
    /// Quarantine known failures, with owner and expiry date
    ///
    /// The list is .unflake/quarantine.toml; commit it, and it applies to everybody.
    #[command(subcommand)]
    Quarantine(quarantine::QuarantineCommand),
    /// Show the history as web pages, here or for a team
    ///
    /// Listens on the loopback address, where changes need the token in the printed address. Other
    /// machines are served with TLS, or behind a proxy that authenticates users.
    Serve(serve::ServeArgs),
    /// Create, list and revoke tokens for `unflake serve`
    #[command(subcommand)]
    Token(token::TokenCommand),
    /// Write reports: HTML, a review comment, an issue
    #[command(subcommand)]
    Report(report::ReportCommand),
    /// Run a command under another date, seed, load, …
    Under(under::UnderArgs),
    /// Run the named tests in this order, in one session
    Replay(replay::ReplayArgs),
    /// Print the lines that one run of a test executes
    Trace(trace::TraceArgs),
    /// Check the installation, the project and its command
    Doctor(doctor::DoctorArgs),
    /// Print the effective configuration and its sources
    Config(config::ConfigArgs),
    /// Show unflake on a sample project
    Demo(demo::DemoArgs),
    /// Print a completion script for bash, zsh or fish
    Completions(completions::CompletionsArgs),
    /// Print or write manual pages
    Man(man::ManArgs),
    /// The candidates for a word. Called by completion scripts.
    #[command(hide = true)]
    Complete(completions::CompleteArgs),
    /// The driver of a command that no agent can be brought into. Started by unflake itself.
    #[command(hide = true)]
    Drive(internal::DriveArgs),
    /// Runs sessions on another machine. Started by the jobs of a cluster.
    #[command(hide = true)]
    EngineWorker(internal::EngineWorkerArgs),
    /// A program that tells what it sees. Started by `unflake doctor --factors`.
    #[command(hide = true)]
    Tell(internal::TellArgs),
}

#[cfg(test)]
mod tests;
