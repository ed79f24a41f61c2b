//! The commands, one file or folder each, and the dispatch to them.
//!
//! Each command resolves its own settings from its arguments through [`Context`].

mod affected;
mod completions;
mod config;
mod demo;
mod doctor;
mod factors;
pub(crate) mod filter;
pub(crate) mod history;
pub(crate) mod locate;
mod man;
mod measure;
mod order_and_nio;
mod quarantine;
mod replay;
mod report;
mod run;
mod serve;
mod stress;
mod token;
pub(crate) mod trace;
pub(crate) mod under;
mod why;

use crate::args::{ColorChoice, Command};
use crate::context::Context;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::machines;

/// Runs a command, and prints the error where it fails.
pub(crate) fn run_to_exit(command: Command, color: ColorChoice) -> Exit {
    let result = Context::new(color).and_then(|context| dispatch(command, &context));
    let exit = result.unwrap_or_else(|error| {
        error.print(color);
        error.exit
    });
    tracing::info!(code = exit.code(), reason = ?exit, "exit");
    exit
}

fn dispatch(command: Command, context: &Context) -> Result<Exit, CommandError> {
    match command {
        Command::Run(args) => run::run(*args, context),
        Command::Why(args) => why::command::run(*args, context),
        Command::Affected(args) => affected::run(args, context),
        Command::Replay(args) => replay::run(args, context),
        Command::Nio(args) => order_and_nio::nio(args, context),
        Command::Order(args) => order_and_nio::order(args, context),
        Command::Locate(args) if args.all => locate::batch::run(*args, context),
        Command::Locate(args) => locate::command::run(*args, context),
        Command::Factors(args) => factors::command::run(*args, context),
        Command::Measure(args) => measure::run(*args, context),
        Command::Stress(args) => stress::run(args, context),
        Command::Filter(command) => filter::run(command, context),
        Command::History(command) => history::run(command, context),
        Command::Quarantine(command) => quarantine::command::run(command, context),
        Command::Serve(args) => serve::run(args, context),
        Command::Token(command) => token::run(command, context),
        Command::Report(command) => report::run(command, context),
        Command::Trace(args) => trace::run(args, context),
        Command::Doctor(args) => doctor::run(args, context),
        Command::Config(args) => config::run(&args, context),
        Command::Demo(args) => demo::run(&args, context),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
        Command::Complete(args) => completions::complete(args),
        Command::Tell(args) => doctor::tell(&args),
        Command::EngineWorker(args) => machines::work(&args),
        Command::Drive(_) | Command::Under(_) => unreachable!("main handles these"),
    }
}
