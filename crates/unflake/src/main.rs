//! The `unflake` program: parses the command line, sets up the log, and runs one command.

mod args;
mod commands;
mod config;
mod context;
mod diagnostics;
mod error;
mod exit;
mod hash;
mod history;
mod interrupt;
mod launch;
mod output;
mod project;
mod recorders;
mod repro_command;
mod run_loop;
mod technique_run;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Cli, Command};

fn main() -> ExitCode {
    if let Some(code) = unflake_runners::run_as_shim() {
        return code;
    }
    commands::under::declare_all();
    let cli = Cli::parse();
    match cli.command {
        // Child processes of unflake: their standard error belongs to the test runner, so they
        // write no log.
        Command::Keep(args) => unflake_engine::supervise(&args.arguments),
        Command::Drive(args) => unflake_runners::drive(&args.option, &args.command),
        command => {
            if let Err(error) = diagnostics::init(cli.verbose) {
                return commands::fail(&error).into();
            }
            // `supervised` forks, and must do so before any thread is started.
            match &command {
                Command::Under(args) => unflake_worlds::supervised(|| commands::under::run(args)),
                Command::Doctor(args) if args.factors => {
                    unflake_worlds::supervised(|| commands::run_to_exit(command, cli.color).code())
                }
                _ => commands::run_to_exit(command, cli.color).into(),
            }
        }
    }
}
