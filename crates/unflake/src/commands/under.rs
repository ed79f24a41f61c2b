//! `unflake under`: runs any command in a chosen world.

use std::io::{self, Write};

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use unflake_model::{Factor, FactorEffect, FactorKind, declare_factors};
use unflake_report::plain;
use unflake_worlds::{World, WorldRun, run as run_in_world};

use crate::args::ColorChoice;
use crate::args::under::UnderArgs;
use crate::error::CommandError;

/// Declares the factors of every process and those of all runners.
pub(crate) fn declare_all() {
    declare_factors(unflake_worlds::factors().chain(unflake_runners::factors()));
}

/// One option for each factor that a single command has: `--date 2027-01-30 --load 2`.
#[derive(Debug, Default)]
pub(crate) struct FactorArgs(Vec<Factor>);

/// The longest help text of one line.
const SHORT: usize = 65;

fn kinds() -> impl Iterator<Item = FactorKind> {
    FactorKind::all().into_iter().filter(|kind| matches!(kind.effect, FactorEffect::Process(_)))
}

impl Args for FactorArgs {
    fn augment_args(command: Command) -> Command {
        let flag = |kind: FactorKind| {
            Arg::new(kind.name)
                .long(kind.name)
                .value_name("VALUE")
                .help(short_help(&kind))
                .long_help(format!("{}: {}", kind.title, kind.syntax))
                .help_heading("Factors")
                .allow_hyphen_values(true)
                .action(ArgAction::Append)
                .value_parser(move |setting: &str| kind.set(setting))
        };
        kinds().fold(command, |command, kind| command.arg(flag(kind)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for FactorArgs {
    fn from_arg_matches(found: &ArgMatches) -> Result<Self, clap::Error> {
        let typed = |kind: FactorKind| found.get_many::<Factor>(kind.name).into_iter().flatten().cloned();
        Ok(Self(kinds().flat_map(typed).collect()))
    }

    fn update_from_arg_matches(&mut self, found: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(found)?;
        Ok(())
    }
}

/// What the factor is, and as many of its values as fit in a line.
fn short_help(kind: &FactorKind) -> String {
    let text = format!("{}: {}", kind.title, kind.syntax);
    let ends = text.match_indices(", ").chain(text.match_indices("; ")).map(|(at, _)| at).chain([text.len()]);
    let fitting = ends.filter(|end| text[..*end].chars().count() <= SHORT).max();
    text[..fitting.unwrap_or(text.len())].to_owned()
}

/// The exit code: that of the command, where it could be started.
pub(crate) fn run(args: &UnderArgs, color: ColorChoice) -> u8 {
    let world = match World::new(&args.factors.0) {
        Ok(world) => world,
        Err(cannot) => {
            let error = CommandError::usage(cannot.to_string()).hint("`unflake under --help` lists the factors");
            return fail(&error, color);
        }
    };
    if !args.quiet {
        note(&format!("running under {}", listed(world.factors())));
    }
    let by_shim = world.by_shim().to_vec();
    match run_in_world(world, &args.command) {
        Ok(ended) => {
            report_unreached(&ended, &by_shim);
            ended.code
        }
        Err(cannot) => fail(
            &CommandError::runner(cannot.to_string()).hint("check that the program exists and is executable"),
            color,
        ),
    }
}

fn fail(error: &CommandError, color: ColorChoice) -> u8 {
    error.print(color);
    error.exit.code()
}

fn note(text: &str) {
    let _ = writeln!(io::stderr(), "unflake: {}", plain(text));
}

fn listed(factors: &[Factor]) -> String {
    if factors.is_empty() {
        return "no factors".to_owned();
    }
    let one = |factor: &Factor| format!("{} {}", factor.kind(), factor.setting());
    factors.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// Reports processes to which the factors did not apply, even if quiet: the result depends on it.
fn report_unreached(ended: &WorldRun, by_shim: &[Factor]) {
    let (Some(reached), false) = (&ended.reached, by_shim.is_empty()) else { return };
    let what = listed(by_shim);
    let mut missed: Vec<String> = ended.missed.iter().chain(&reached.missed).map(ToString::to_string).collect();
    missed.dedup();
    let why = missed.join("; ");
    match (reached.processes, missed.is_empty()) {
        (0, true) => note(&format!("{what} applied to no process of the command")),
        (0, false) => note(&format!("{what} applied to no process of the command: {why}")),
        (_, false) => note(&format!("{what} did not apply to every process: {why}")),
        (_, true) => {}
    }
    let ineffective = by_shim.iter().find(|factor| !factor.kind().unaffected.is_empty());
    if let (Some(factor), 1.., 0) = (ineffective, reached.processes, reached.taking_turns) {
        let name = listed(std::slice::from_ref(factor));
        note(&format!("{name} changed nothing: {}", factor.kind().unaffected));
    }
}
