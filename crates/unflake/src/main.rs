//! unflake: says which test failures are real and which are flaky, and how it knows.

mod args;
mod ci;
mod commands;
mod config;
mod console;
mod error;
mod exit;
mod functions;
mod history_recorder;
mod owners;
mod recorders;
mod renames;
mod report_files;
mod repro_command;
mod result_files;
mod revision;
mod run_loop;
mod sources;
mod test_knowledge;
mod test_scores;
mod worktree_hash;

use std::env;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use crate::args::filter::FilterCommand;
use crate::args::{Cli, Command, SearchArgs, When};
use crate::config::settings::{Settings, Sources, Typed};
use crate::error::Trouble;
use crate::exit::Exit;

fn main() -> ExitCode {
    if let Some(code) = unflake_runners::hand_over() {
        return code;
    }
    let cli = Cli::parse();
    match &cli.command {
        Command::Keep { arguments } => return unflake_engine::keep(arguments),
        Command::Drive { results: Some(results), one_test: Some(one_test), command, .. } => {
            let reports = unflake_runners::ResultsCommand { results: results.clone(), one_test: one_test.clone() };
            return unflake_runners::drive_by_reports(&reports, command);
        }
        Command::Drive { classpath_file: Some(file), test_classes, command, .. } => {
            let class_path = unflake_runners::ClassPath { file: file.clone(), test_classes: test_classes.clone() };
            return unflake_runners::drive_class_path(&class_path, command);
        }
        Command::Drive { command, .. } => return unflake_runners::drive(command),
        Command::Under(args) => return unflake_worlds::watched(|| commands::under::run(args)),
        Command::Doctor(args) if args.factors => return unflake_worlds::watched(|| told(cli).code()),
        _ => {}
    }
    told(cli).into()
}

/// Obeys, and says what kept it from doing so.
fn told(cli: Cli) -> Exit {
    obey(cli).unwrap_or_else(|trouble| {
        let _ = writeln!(io::stderr(), "{trouble}");
        trouble.exit
    })
}

fn obey(cli: Cli) -> Result<Exit, Trouble> {
    let here = env::current_dir().map_err(Trouble::internal("find the current directory"))?;
    match cli.command {
        Command::Run(mut args) => {
            let typed = std::mem::take(&mut args.typed);
            let settings = settle(typed, std::mem::take(&mut args.command.command), &here)?;
            need_command(&settings)?;
            commands::run::command::run(args, &settings, &here, cli.color)
        }
        Command::Trace(mut args) => {
            let typed = std::mem::take(&mut args.typed);
            let settings = settle(typed, std::mem::take(&mut args.command.command), &here)?;
            need_command(&settings)?;
            commands::trace::run(&args, &settings, &here, cli.color)
        }
        Command::Nio(mut args) => {
            let settings = settle_search(&mut args.search, &here)?;
            commands::order_and_nio::nio(&args, &settings, &here, cli.color)
        }
        Command::Order(mut args) => {
            let settings = settle_search(&mut args.search, &here)?;
            commands::order_and_nio::order(&args, &settings, &here, cli.color)
        }
        Command::Locate(mut args) => {
            let typed = std::mem::take(&mut args.typed);
            let settings = settle(typed, std::mem::take(&mut args.command.command), &here)?;
            need_command(&settings)?;
            commands::locate::command::run(&args, &settings, &here, cli.color)
        }
        Command::Prepare(mut args) => {
            let typed = std::mem::take(&mut args.typed);
            let settings = settle(typed, std::mem::take(&mut args.command.command), &here)?;
            need_command(&settings)?;
            commands::prepare::run(&args, &settings, &here, cli.color)
        }
        Command::Factors(mut args) => {
            let typed = std::mem::take(&mut args.typed);
            let settings = settle(typed, std::mem::take(&mut args.command.command), &here)?;
            need_command(&settings)?;
            commands::factors::command::run(&args, &settings, &here, cli.color)
        }
        Command::Measure(mut args) => {
            let typed = std::mem::take(&mut args.typed);
            let settings = settle(typed, std::mem::take(&mut args.command.command), &here)?;
            need_command(&settings)?;
            commands::measure::run(&args, &settings, &here, cli.color)
        }
        Command::Filter(what) => filter(what, &here, cli.color),
        Command::Affected(mut args) => {
            let typed = std::mem::take(&mut args.typed);
            let settings = settle(typed, std::mem::take(&mut args.command.command), &here)?;
            need_command(&settings)?;
            commands::affected::show(&args, &settings, &here, cli.color)
        }
        Command::History(mut args) => {
            let settings = settle(Typed { store: args.place.store.take(), ..Typed::default() }, Vec::new(), &here)?;
            commands::history::show(&args, &settings.store.value, &here, &console::look(cli.color, &io::stdout()))?;
            Ok(Exit::Success)
        }
        Command::Answer(args) => {
            let settings = settle(Typed::default(), Vec::new(), &here)?;
            commands::feedback::obey(&args, &settings.store.value)?;
            Ok(Exit::Success)
        }
        Command::Comment(mut args) => {
            let settings = settle(std::mem::take(&mut args.typed), Vec::new(), &here)?;
            commands::comment::run(&args, &settings, &here)
        }
        Command::Issue(args) => {
            let settings = settle(Typed::default(), Vec::new(), &here)?;
            commands::issue::write(&args, &settings.store.value, &here)?;
            Ok(Exit::Success)
        }
        Command::Quarantine(args) => {
            let settings = settle(Typed::default(), Vec::new(), &here)?;
            commands::quarantine::command::obey(
                &args,
                &settings.store.value,
                &here,
                &console::look(cli.color, &io::stdout()),
            )?;
            Ok(Exit::Success)
        }
        Command::Score(mut args) => {
            let settings = settle(Typed { store: args.place.store.take(), ..Typed::default() }, Vec::new(), &here)?;
            commands::score::show(&args, &settings.store.value, &here, &console::look(cli.color, &io::stdout()))?;
            Ok(Exit::Success)
        }
        Command::Serve(mut args) => {
            let typed = Typed { store: args.place.store.take(), ..Typed::default() };
            commands::serve::serve(&args, &settle(typed, Vec::new(), &here)?.store.value, &here)
        }
        Command::Report(mut args) => {
            let typed = Typed { store: args.place.store.take(), ..Typed::default() };
            commands::serve::write_file(&args, &settle(typed, Vec::new(), &here)?.store.value, &here)
        }
        Command::Import(mut args) => {
            let settings = settle(Typed { store: args.place.store.take(), ..Typed::default() }, Vec::new(), &here)?;
            commands::import::run(&args, &settings.store.value, &console::look(cli.color, &io::stdout()))
        }
        Command::Store(what) => {
            commands::store_copy::obey(&what, &here)?;
            Ok(Exit::Success)
        }
        Command::Doctor(args) => {
            let settings = settle(Typed::default(), args.command.command, &here)?;
            if args.factors {
                return commands::doctor::factor_probes::examine(&settings.command.value);
            }
            commands::doctor::report::examine(&settings, &here, cli.color)
        }
        Command::Settings(args) => {
            let settings = settle(args.typed, args.command.command, &here)?;
            print_settings(&settings);
            Ok(Exit::Success)
        }
        Command::Demo(args) => commands::demo::show(&args, cli.color),
        Command::Completions { shell } => {
            clap_complete::generate(shell, &mut Cli::command(), "unflake", &mut io::stdout());
            Ok(Exit::Success)
        }
        Command::Tell { word, place } => {
            let _ = writeln!(io::stdout(), "{}", commands::doctor::factor_probes::tell(&word, &place));
            Ok(Exit::Success)
        }
        Command::Keep { .. } | Command::Drive { .. } | Command::Under(_) => unreachable!("they have left before"),
    }
}

fn filter(what: FilterCommand, here: &Path, colour: When) -> Result<Exit, Trouble> {
    match what {
        FilterCommand::Learn(mut args) => {
            let typed = std::mem::take(&mut args.typed);
            let settings = settle(typed, std::mem::take(&mut args.command.command), here)?;
            need_command(&settings)?;
            commands::filter::command::learn(&args, &settings, here, colour)
        }
        FilterCommand::Apply(mut args) => {
            args.filter.get_or_insert_default();
            obey(Cli { command: Command::Run(args), color: colour })
        }
        FilterCommand::Tune(args) => {
            commands::filter::tune::tune(&args, &settle(Typed::default(), Vec::new(), here)?, here, colour)
        }
        FilterCommand::Show(args) => {
            commands::filter::command::show(&args, &settle(Typed::default(), Vec::new(), here)?, here, colour)
        }
        FilterCommand::Mark(args) => commands::filter::tune::mark(&args, here),
    }
}

fn settle_search(args: &mut SearchArgs, here: &Path) -> Result<Settings, Trouble> {
    let settings = settle(std::mem::take(&mut args.typed), std::mem::take(&mut args.command.command), here)?;
    need_command(&settings)?;
    Ok(settings)
}

/// From what was typed to what holds.
fn settle(typed: Typed, command: Vec<String>, here: &Path) -> Result<Settings, Trouble> {
    let project = config::project::find(here);
    let file = config::project::settings_file(&project)?;
    let sources = Sources {
        file: file.as_ref(),
        variable: &|name| env::var(name).ok(),
        cores: std::thread::available_parallelism().map_or(1, |cores| cores.get()),
        project: &project,
    };
    let mut settings = Settings::resolve(typed, command, &sources)?;
    if settings.command.value.is_empty()
        && let Some(guess) = config::project::guess_command(&project)
    {
        settings.command = guess;
    }
    Ok(settings)
}

fn need_command(settings: &Settings) -> Result<(), Trouble> {
    if settings.command.value.is_empty() {
        let what = "there is no test command, and none can be guessed from the files here";
        return Err(Trouble::usage(what)
            .hint("give it after two dashes: `unflake run -- pytest tests/`, `unflake run -- cargo test`"));
    }
    Ok(())
}

fn print_settings(settings: &Settings) {
    let rows = settings.rows();
    let name = rows.iter().map(|row| row.0.len()).max().unwrap_or(0);
    let mut out = io::stdout().lock();
    for (setting, value, from) in rows {
        let _ = writeln!(out, "  {setting:<name$}  {value}\n  {:<name$}    {from}", "");
    }
}
