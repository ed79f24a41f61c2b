//! `unflake under`: any command, in a world of one's choosing.

use std::io::{self, Write};

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use unflake_model::{Factor, FactorKind};
use unflake_report::plain;
use unflake_worlds::{World, WorldRun, run as run_under};

use crate::args::ColorChoice;
use crate::args::under::UnderArgs;
use crate::error::CommandError;

/// The factors that were typed: `--date 2027-01-30 --load 2`.
#[derive(Debug, Default)]
pub(crate) struct FactorArgs(Vec<Factor>);

/// The longest help text of one line.
const SHORT: usize = 65;

/// A single command has neither an order of tests nor copies of itself.
fn of_a_process(kind: &FactorKind) -> bool {
    !matches!(kind, FactorKind::Order | FactorKind::Beside)
}

impl Args for FactorArgs {
    fn augment_args(command: Command) -> Command {
        let flag = |kind: FactorKind| {
            Arg::new(kind.word())
                .long(kind.word())
                .value_name("VALUE")
                .help(short_help(&kind))
                .long_help(format!("{}: {}", kind.title(), kind.settings()))
                .help_heading("Factors")
                .allow_hyphen_values(true)
                .action(ArgAction::Append)
                .value_parser(move |setting: &str| kind.set(setting))
        };
        FactorKind::all().into_iter().filter(of_a_process).fold(command, |command, kind| command.arg(flag(kind)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for FactorArgs {
    fn from_arg_matches(found: &ArgMatches) -> Result<Self, clap::Error> {
        let typed = |kind: FactorKind| found.get_many::<Factor>(kind.word()).into_iter().flatten().cloned();
        Ok(Self(FactorKind::all().into_iter().filter(of_a_process).flat_map(typed).collect()))
    }

    fn update_from_arg_matches(&mut self, found: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(found)?;
        Ok(())
    }
}

/// What the factor is, and as many of its values as fit in a line.
fn short_help(kind: &FactorKind) -> String {
    let text = format!("{}: {}", kind.title(), kind.settings());
    let ends = text.match_indices(", ").chain(text.match_indices("; ")).map(|(at, _)| at).chain([text.len()]);
    let fitting = ends.filter(|end| text[..*end].chars().count() <= SHORT).max();
    text[..fitting.unwrap_or(text.len())].to_owned()
}

/// The exit code: that of the command, where it could be started.
pub(crate) fn run(args: &UnderArgs, color: ColorChoice) -> u8 {
    let factors = &args.factors.0;
    let under = match World::new(factors) {
        Ok(under) => under,
        Err(cannot) => {
            let error = CommandError::usage(cannot.to_string()).hint("`unflake under --help` lists the factors");
            return fail(&error, color);
        }
    };
    if !args.quiet {
        say(&format!("running under {}", told(under.factors())));
    }
    let by_shim: Vec<Factor> = under.by_shim().cloned().collect();
    match run_under(under, &args.command) {
        Ok(ended) => {
            say_what_was_missed(&ended, &by_shim);
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

fn say(text: &str) {
    let _ = writeln!(io::stderr(), "unflake: {}", plain(text));
}

fn told(factors: &[Factor]) -> String {
    if factors.is_empty() {
        return "no factors".to_owned();
    }
    let one = |factor: &Factor| format!("{} {}", factor.kind(), factor.setting());
    factors.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// What was asked for and did not hold everywhere. It is never silent: whoever looks at the result must know.
fn say_what_was_missed(ended: &WorldRun, by_shim: &[Factor]) {
    let (Some(reached), false) = (&ended.reached, by_shim.is_empty()) else { return };
    let what = told(by_shim);
    let mut missed: Vec<String> = ended.missed.iter().chain(&reached.missed).map(ToString::to_string).collect();
    missed.dedup();
    let why = missed.join("; ");
    match (reached.processes, missed.is_empty()) {
        (0, true) => say(&format!("nothing ran under {what}: no process of the command could be reached")),
        (0, false) => say(&format!("nothing ran under {what}: no process of the command could be reached ({why})")),
        (_, false) => say(&format!("not everything ran under {what}: {why}")),
        (_, true) => {}
    }
    let ineffective = by_shim.iter().find_map(|factor| match factor {
        Factor::Declared(declared, _) if !declared.unaffected.is_empty() => Some((factor, declared.unaffected)),
        _ => None,
    });
    if let (Some((factor, why)), 1.., 0) = (ineffective, reached.processes, reached.taking_turns) {
        say(&format!("{} changed nothing: {why}", told(std::slice::from_ref(factor))));
    }
}
