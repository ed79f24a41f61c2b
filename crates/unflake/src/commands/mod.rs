//! The commands, one file or folder each, and the dispatch to them.
//!
//! Each command resolves its own settings from its arguments through [`Context`].

mod affected;
mod comment;
mod completions;
mod demo;
mod doctor;
mod factors;
mod feedback;
pub(crate) mod filter;
mod history;
mod import;
mod issue;
pub(crate) mod locate;
mod measure;
mod order_and_nio;
pub(crate) mod prepare;
mod quarantine;
mod replay;
mod run;
pub(crate) mod score;
mod serve;
mod settings;
mod store_copy;
pub(crate) mod trace;
pub(crate) mod under;

use std::io::{self, Write};

use crate::args::{ColorChoice, Command};
use crate::context::Context;
use crate::error::CommandError;
use crate::exit::Exit;

/// Runs a command, and prints the error where it fails.
pub(crate) fn run_to_exit(command: Command, color: ColorChoice) -> Exit {
    let exit = Context::new(color).and_then(|context| dispatch(command, &context)).unwrap_or_else(|error| fail(&error));
    tracing::info!(code = exit.code(), reason = ?exit, "exit");
    exit
}

pub(crate) fn fail(error: &CommandError) -> Exit {
    let _ = writeln!(io::stderr(), "{error}");
    error.exit
}

fn dispatch(command: Command, context: &Context) -> Result<Exit, CommandError> {
    match command {
        Command::Run(args) => run::run(args, context),
        Command::Replay(args) => replay::run(args, context),
        Command::Trace(args) => trace::run(args, context),
        Command::Nio(args) => order_and_nio::nio(args, context),
        Command::Order(args) => order_and_nio::order(args, context),
        Command::Locate(args) => locate::command::run(args, context),
        Command::Prepare(args) => prepare::run(args, context),
        Command::Factors(args) => factors::command::run(args, context),
        Command::Measure(args) => measure::run(args, context),
        Command::Filter(command) => filter::run(command, context),
        Command::Affected(args) => affected::run(args, context),
        Command::History(args) => history::run(args, context),
        Command::Answer(args) => feedback::run(&args, context),
        Command::Comment(args) => comment::run(args, context),
        Command::Issue(args) => issue::run(&args, context),
        Command::Quarantine(args) => quarantine::command::run(&args, context),
        Command::Score(args) => score::run(args, context),
        Command::Serve(args) => serve::run(args, context),
        Command::Report(args) => serve::file::run(args, context),
        Command::Import(args) => import::run(args, context),
        Command::Store(command) => store_copy::run(&command, context),
        Command::Doctor(args) => doctor::run(args, context),
        Command::Settings(args) => settings::run(args, context),
        Command::Demo(args) => demo::run(&args, context),
        Command::Completions { shell } => completions::run(shell),
        Command::Tell(args) => doctor::tell(&args),
        Command::Keep(_) | Command::Drive(_) | Command::Under(_) => unreachable!("main handles these"),
    }
}
