//! unflake: says which test failures are real and which are flaky, and how it knows.

mod affected;
mod answer;
mod args;
mod args_history;
mod args_said;
mod asserted;
mod base;
mod campaign;
mod ci;
mod comment;
mod compare;
mod console;
mod demo;
mod doctor;
mod exit;
mod factor_commands;
mod factor_plan;
mod factors;
mod filter;
mod filter_args;
mod filter_file;
mod filter_tune;
mod history;
mod import;
mod issue;
mod known;
mod locate;
mod locating;
mod measure;
mod memory;
mod outputs;
mod owners;
mod pages;
mod plain;
mod prepare;
mod probes;
mod project;
mod quarantine;
mod quarantine_file;
mod ready;
mod renames;
mod reports;
mod revision;
mod run;
mod score;
mod search;
mod settings;
mod sources;
mod standing;
mod stores;
mod trace;
mod tree;
mod trouble;
mod under;

use std::env;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use crate::args::{Cli, Command, SearchArgs, When};
use crate::exit::Exit;
use crate::filter_args::FilterCommand;
use crate::settings::{Settings, Sources, Typed};
use crate::trouble::Trouble;

fn main() -> ExitCode {
    if let Some(code) = unflake_drivers::hand_over() {
        return code;
    }
    let cli = Cli::parse();
    match &cli.command {
        Command::Keep { arguments } => return unflake_exec::keep(arguments),
        Command::Drive { results: Some(results), one_test: Some(one_test), command, .. } => {
            let reports = unflake_drivers::Reports { results: results.clone(), one_test: one_test.clone() };
            return unflake_drivers::drive_by_reports(&reports, command);
        }
        Command::Drive { classpath_file: Some(file), test_classes, command, .. } => {
            let class_path = unflake_drivers::ClassPath { file: file.clone(), test_classes: test_classes.clone() };
            return unflake_drivers::drive_class_path(&class_path, command);
        }
        Command::Drive { command, .. } => return unflake_drivers::drive(command),
        Command::Under(args) => return unflake_factors::watched(|| under::run(args)),
        Command::Doctor(args) if args.factors => return unflake_factors::watched(|| told(cli).code()),
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
            run::run(args, &settings, &here, cli.color)
        }
        Command::Trace(mut args) => {
            let typed = std::mem::take(&mut args.typed);
            let settings = settle(typed, std::mem::take(&mut args.command.command), &here)?;
            need_command(&settings)?;
            trace::run(&args, &settings, &here, cli.color)
        }
        Command::Nio(mut args) => {
            let settings = settle_search(&mut args.search, &here)?;
            search::nio(&args, &settings, &here, cli.color)
        }
        Command::Order(mut args) => {
            let settings = settle_search(&mut args.search, &here)?;
            search::order(&args, &settings, &here, cli.color)
        }
        Command::Locate(mut args) => {
            let typed = std::mem::take(&mut args.typed);
            let settings = settle(typed, std::mem::take(&mut args.command.command), &here)?;
            need_command(&settings)?;
            locate::run(&args, &settings, &here, cli.color)
        }
        Command::Prepare(mut args) => {
            let typed = std::mem::take(&mut args.typed);
            let settings = settle(typed, std::mem::take(&mut args.command.command), &here)?;
            need_command(&settings)?;
            prepare::run(&args, &settings, &here, cli.color)
        }
        Command::Factors(mut args) => {
            let typed = std::mem::take(&mut args.typed);
            let settings = settle(typed, std::mem::take(&mut args.command.command), &here)?;
            need_command(&settings)?;
            factors::run(&args, &settings, &here, cli.color)
        }
        Command::Measure(mut args) => {
            let typed = std::mem::take(&mut args.typed);
            let settings = settle(typed, std::mem::take(&mut args.command.command), &here)?;
            need_command(&settings)?;
            measure::run(&args, &settings, &here, cli.color)
        }
        Command::Filter(what) => filter(what, &here, cli.color),
        Command::Affected(mut args) => {
            let typed = std::mem::take(&mut args.typed);
            let settings = settle(typed, std::mem::take(&mut args.command.command), &here)?;
            need_command(&settings)?;
            affected::show(&args, &settings, &here, cli.color)
        }
        Command::History(mut args) => {
            let settings = settle(Typed { store: args.place.store.take(), ..Typed::default() }, Vec::new(), &here)?;
            history::show(&args, &settings.store.value, &here, &console::look(cli.color, &io::stdout()))?;
            Ok(Exit::Success)
        }
        Command::Answer(args) => {
            let settings = settle(Typed::default(), Vec::new(), &here)?;
            answer::obey(&args, &settings.store.value)?;
            Ok(Exit::Success)
        }
        Command::Comment(mut args) => {
            let settings = settle(std::mem::take(&mut args.typed), Vec::new(), &here)?;
            comment::run(&args, &settings, &here)
        }
        Command::Issue(args) => {
            let settings = settle(Typed::default(), Vec::new(), &here)?;
            issue::write(&args, &settings.store.value, &here)?;
            Ok(Exit::Success)
        }
        Command::Quarantine(args) => {
            let settings = settle(Typed::default(), Vec::new(), &here)?;
            quarantine::obey(&args, &settings.store.value, &here, &console::look(cli.color, &io::stdout()))?;
            Ok(Exit::Success)
        }
        Command::Score(mut args) => {
            let settings = settle(Typed { store: args.place.store.take(), ..Typed::default() }, Vec::new(), &here)?;
            score::show(&args, &settings.store.value, &here, &console::look(cli.color, &io::stdout()))?;
            Ok(Exit::Success)
        }
        Command::Serve(mut args) => {
            let typed = Typed { store: args.place.store.take(), ..Typed::default() };
            pages::serve(&args, &settle(typed, Vec::new(), &here)?.store.value, &here)
        }
        Command::Report(mut args) => {
            let typed = Typed { store: args.place.store.take(), ..Typed::default() };
            pages::write_file(&args, &settle(typed, Vec::new(), &here)?.store.value, &here)
        }
        Command::Import(mut args) => {
            let settings = settle(Typed { store: args.place.store.take(), ..Typed::default() }, Vec::new(), &here)?;
            import::run(&args, &settings.store.value, &console::look(cli.color, &io::stdout()))
        }
        Command::Store(what) => {
            stores::obey(&what, &here)?;
            Ok(Exit::Success)
        }
        Command::Doctor(args) => {
            let settings = settle(Typed::default(), args.command.command, &here)?;
            if args.factors {
                return probes::examine(&settings.command.value);
            }
            doctor::examine(&settings, &here, cli.color)
        }
        Command::Settings(args) => {
            let settings = settle(args.typed, args.command.command, &here)?;
            print_settings(&settings);
            Ok(Exit::Success)
        }
        Command::Demo(args) => demo::show(&args, cli.color),
        Command::Completions { shell } => {
            clap_complete::generate(shell, &mut Cli::command(), "unflake", &mut io::stdout());
            Ok(Exit::Success)
        }
        Command::Tell { word, place } => {
            let _ = writeln!(io::stdout(), "{}", probes::tell(&word, &place));
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
            filter::learn(&args, &settings, here, colour)
        }
        FilterCommand::Apply(mut args) => {
            args.filter.get_or_insert_default();
            obey(Cli { command: Command::Run(args), color: colour })
        }
        FilterCommand::Tune(args) => {
            filter_tune::tune(&args, &settle(Typed::default(), Vec::new(), here)?, here, colour)
        }
        FilterCommand::Show(args) => filter::show(&args, &settle(Typed::default(), Vec::new(), here)?, here, colour),
        FilterCommand::Mark(args) => filter_tune::mark(&args, here),
    }
}

fn settle_search(args: &mut SearchArgs, here: &Path) -> Result<Settings, Trouble> {
    let settings = settle(std::mem::take(&mut args.typed), std::mem::take(&mut args.command.command), here)?;
    need_command(&settings)?;
    Ok(settings)
}

/// From what was typed to what holds.
fn settle(typed: Typed, command: Vec<String>, here: &Path) -> Result<Settings, Trouble> {
    let project = project::find(here);
    let file = project::settings_file(&project)?;
    let sources = Sources {
        file: file.as_ref(),
        variable: &|name| env::var(name).ok(),
        cores: std::thread::available_parallelism().map_or(1, |cores| cores.get()),
        project: &project,
    };
    let mut settings = Settings::resolve(typed, command, &sources)?;
    if settings.command.value.is_empty()
        && let Some(guess) = project::guess_command(&project)
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
