//! The `unflake` program: parses the command line, sets up the log, and runs one command.

mod args;
mod commands;
mod config;
mod context;
mod diagnostics;
mod error;
mod exit;
mod failing_seed;
mod hash;
mod history;
mod interrupt;
mod launch;
mod machines;
mod output;
mod project;
mod recorders;
mod repro_command;
mod run_loop;
mod shell_command;
mod suggest;
mod technique_run;

use std::env;
use std::ffi::OsString;
use std::process::ExitCode;

use crate::args::{ColorChoice, Command};
use crate::launch::SUPERVISE;

fn main() -> ExitCode {
    if let Some(code) = unflake_runners::run_as_shim() {
        return code;
    }
    if let Some(arguments) = arguments_of_supervisor(env::args_os()) {
        return unflake_engine::supervise(&arguments);
    }
    commands::under::declare_all();
    let cli = match args::options::parse::parse() {
        Ok(cli) => cli,
        Err(exit) => return exit.into(),
    };
    match cli.command {
        Command::Drive(args) => {
            diagnostics::init_in_child(cli.verbose, args.log.as_deref());
            unflake_runners::drive(&args.option, &args.command)
        }
        // What it prints is read by a shell.
        Command::Complete(_) => commands::run_to_exit(cli.command, ColorChoice::Never).into(),
        command => {
            let set_up = interrupt::survive_file_size_limit().and_then(|()| diagnostics::init(cli.verbose));
            if let Err(error) = set_up {
                error.print(cli.color);
                return error.exit.into();
            }
            warn_of_unknown_variables(cli.color);
            // `supervised` forks, and must do so before any thread is started.
            match &command {
                Command::Under(args) => unflake_worlds::supervised(|| commands::under::run(args, cli.color)),
                Command::Doctor(args) if args.factors => {
                    unflake_worlds::supervised(|| commands::run_to_exit(command, cli.color).code())
                }
                _ => commands::run_to_exit(command, cli.color).into(),
            }
        }
    }
}

/// The arguments after `supervise`, if this is a child process of unflake that starts a runner and
/// waits for it. Every runner waits for this one to start: no parser, no log.
fn arguments_of_supervisor(arguments: impl Iterator<Item = OsString>) -> Option<Vec<String>> {
    let mut words = arguments.skip(1).map(OsString::into_string);
    words.next().filter(|first| first.as_deref() == Ok(SUPERVISE))?.ok()?;
    words.collect::<Result<_, _>>().ok()
}

fn warn_of_unknown_variables(color: ColorChoice) {
    for variable in config::variables::unknown(env::vars_os().map(|(name, _)| name)) {
        let hint = variable.suggestion.map(|name| format!("did you mean `{name}`?"));
        error::warn(&format!("{} is not a setting of unflake", variable.name), hint.as_deref(), color);
    }
}
