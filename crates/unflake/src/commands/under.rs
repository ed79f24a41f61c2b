//! `unflake under`: runs any command in a chosen world.

use std::io::{self, Write};

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use unflake_model::{Factor, FactorEffect, FactorKind, World, WorldId, declare_factors};
use unflake_report::plain;
use unflake_store::Store;
use unflake_worlds::{OpenWorld, WorldError, WorldRun, is_seed, run as run_in_world};

use crate::args::ColorChoice;
use crate::args::options::setting_options::StoreOption;
use crate::args::under::UnderArgs;
use crate::context::Context;
use crate::error::CommandError;
use crate::launch::cache;

/// Declares the factors of every process and those of all runners.
pub(crate) fn declare_all() {
    declare_factors(unflake_worlds::factors().chain(unflake_runners::factors()));
}

/// One option for each factor that a single command has: `--date 2027-01-30 --load 2`.
#[derive(Debug, Default)]
pub(crate) struct FactorArgs {
    factors: Vec<Factor>,
    seed: Option<u64>,
}

/// The option that sets all seeds.
const SEED: &str = "seed";

/// The longest help text of one line.
const SHORT: usize = 52;

fn kinds() -> impl Iterator<Item = FactorKind> {
    FactorKind::all().into_iter().filter(|kind| matches!(kind.effect, FactorEffect::Process(_)))
}

impl Args for FactorArgs {
    fn augment_args(command: Command) -> Command {
        let of_runners: Vec<&str> = unflake_runners::factors().map(|factor| factor.name).collect();
        let flag = |kind: FactorKind| {
            Arg::new(kind.name)
                .long(kind.name)
                .value_name("VALUE")
                .help(short_help(&kind))
                // `--seed` sets seeds, values to force come from a printed command, and the rest is of one
                // language each.
                .hide_short_help(is_seed(&kind) || kind.forces_values || of_runners.contains(&kind.name))
                .long_help(format!("{}: {}", kind.title, kind.syntax))
                .help_heading("Factors")
                .allow_hyphen_values(true)
                .action(ArgAction::Append)
                .value_parser(move |setting: &str| kind.set(setting))
        };
        let seed = Arg::new(SEED)
            .long(SEED)
            .value_name("NUMBER")
            .help("all seeds: of random numbers, hashes and addresses")
            .long_help("all seeds at once: of random numbers, hashes and addresses; other options set single ones")
            .help_heading("Factors")
            .value_parser(clap::value_parser!(u64));
        kinds().fold(command.arg(seed), |command, kind| command.arg(flag(kind)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for FactorArgs {
    fn from_arg_matches(found: &ArgMatches) -> Result<Self, clap::Error> {
        let typed = |kind: FactorKind| found.get_many::<Factor>(kind.name).into_iter().flatten().cloned();
        Ok(Self { factors: kinds().flat_map(typed).collect(), seed: found.get_one(SEED).copied() })
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
    let open = |world: &World| {
        let mut open = OpenWorld::new(world)?;
        open.support_runtimes(|| unflake_runners::runtime_support(&args.command, cache().as_deref())).map(|()| open)
    };
    let world = match world_of(args, color).and_then(|world| {
        let cannot = |cannot: WorldError| CommandError::usage(cannot.to_string());
        open(&world).map_err(|why| cannot(why).hint("`unflake under --help` lists the factors"))
    }) {
        Ok(world) => world,
        Err(error) => return fail(&error, color),
    };
    if !args.quiet {
        let private = &world.world().private;
        let text = if private.is_none() { String::new() } else { format!(", private: {private}") };
        note(&format!("running under {}{text}", described(world.world())));
    }
    report_shared(&world);
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

/// The recorded world where one is named, with the typed factors.
fn world_of(args: &UnderArgs, color: ColorChoice) -> Result<World, CommandError> {
    let mut world = match args.world {
        Some(id) => {
            let mut world = recorded(id, color)?;
            let of_command = |factor: &mut Factor| matches!(factor.kind().effect, FactorEffect::Process(_));
            for other in world.factors.extract_if(.., |factor| !of_command(factor)) {
                note(&format!("{} does not apply to a single command", listed(&[other])));
            }
            world
        }
        None => World::default(),
    };
    world.factors.extend(args.factors.factors.iter().cloned());
    world.seed = args.factors.seed.or(world.seed);
    if let Some(private) = &args.private {
        world.private = private.clone();
    }
    Ok(world)
}

fn recorded(id: WorldId, color: ColorChoice) -> Result<World, CommandError> {
    let location = Context::new(color)?.store(StoreOption::default())?;
    let found = Store::find(location)?.map_or(Ok(None), |store| store.world(id))?;
    found.ok_or_else(|| {
        let error = CommandError::usage(format!("the history has no world {id}"));
        error.hint("`worlds` in a report of `--json` lists those of a run")
    })
}

fn fail(error: &CommandError, color: ColorChoice) -> u8 {
    error.print(color);
    error.exit.code()
}

fn note(text: &str) {
    let _ = writeln!(io::stderr(), "unflake: {}", plain(text));
}

fn described(world: &World) -> String {
    let seed = world.seed.map(|seed| format!("{SEED} {seed}"));
    let factors = (!world.factors.is_empty()).then(|| listed(&world.factors));
    let parts: Vec<String> = seed.into_iter().chain(factors).collect();
    if parts.is_empty() { "no factors".to_owned() } else { parts.join(", ") }
}

fn listed(factors: &[Factor]) -> String {
    let one = |factor: &Factor| format!("{} {}", factor.kind(), factor.setting());
    factors.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// Reports what could not be private, even if quiet: the command may change it.
fn report_shared(world: &OpenWorld) {
    let Some((_, why)) = world.shared_parts().first() else { return };
    let parts: Vec<&str> = world.shared_parts().iter().map(|(part, _)| part.shared_text()).collect();
    note(&format!("not private: {} ({why})", parts.join(", ")));
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
