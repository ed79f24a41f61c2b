//! `unflake factors`: which condition of its world makes a test fail.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

use clap::Args;
use jiff::Zoned;
use unflake_engine::{Engine, Launch};
use unflake_model::{Attempt, Detail, Factor, FactorKind, Finding, Influence, Layer, TestId};
use unflake_observe::layers::{LayerArchive, Rules};
use unflake_report::{self as report, ExperimentReport, quote};
use unflake_store::Store;
use unflake_techniques::{Experiment, ExperimentConfig};

use crate::args::{CommandArgs, OutputArgs, When};
use crate::commands::factors::experiment_plan::{self, Plan};
use crate::commands::factors::repro_commands::{Commands, clock, commands};
use crate::commands::locate::command::{flaky_lately, shown};
use crate::commands::run::command::{launch, stop_on_signals};
use crate::commands::trace::not_one;
use crate::config::settings::{self, Settings, Typed};
use crate::console;
use crate::error::Trouble;
use crate::exit::Exit;
use crate::history_recorder::Memory;
use crate::report_files::{Found, Outputs};
use crate::revision;
use crate::run_loop::{Campaign, Gathered};

/// How long runs are begun.
const TIME: Duration = Duration::from_secs(600);
/// Without a test: how large a share of its runs must have failed lately.
const LEAST: f64 = 0.05;

#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 it passes whatever is tried, 1 something makes it fail, or it fails anyway, 2 wrong usage, 4 the \
runner could not run, 5 no tests, 70 unflake's own trouble, 130 stopped by you: what was found until then is told."
)]
pub(crate) struct FactorsArgs {
    /// The test, or a part of its name that no other has. Left out: the one that was flaky lately, as far as the history knows.
    pub(crate) test: Option<String>,

    /// All tests that have it in their names are one, which fails if one of them does. Without a name: the whole suite.
    #[arg(long)]
    pub(crate) together: bool,

    /// Try only this factor, as `unflake under` names it; as often as you like.
    #[arg(long, value_name = "FACTOR")]
    pub(crate) factor: Vec<String>,

    /// Tell how far runs differ at this layer too: assertion, code, behaviour or interface. As often as you like; takes longer
    #[arg(long, value_name = "LAYER")]
    pub(crate) layer: Vec<String>,

    /// How many runs to make at most.
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub(crate) runs: u32,

    /// How long to begin runs: `90`, `10m`, `2h`, or `0` for as long as it takes [default: 10m]
    #[arg(long = "for", value_name = "TIME")]
    pub(crate) time: Option<String>,

    /// Go on with an experiment that was stopped. Where a commit has changed the code since, that is refused.
    #[arg(long, conflicts_with = "together")]
    pub(crate) resume: bool,

    /// Write the full report to FILE. Otherwise it goes to `reports` beside the history.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) output: OutputArgs,

    #[command(flatten)]
    pub(crate) typed: Typed,

    #[command(flatten)]
    pub(crate) command: CommandArgs,
}

pub(crate) fn run(args: &FactorsArgs, settings: &Settings, here: &Path, colour: When) -> Result<Exit, Trouble> {
    let command = &settings.command.value;
    let seconds = settings::time(args.time.as_deref(), TIME)?;
    let layers = layers(&args.layer)?;
    let time = settings::and_a_little(seconds);
    let launch = Launch { suite: false, time, layers: layers.clone(), ..launch(settings) };
    let name = match (&args.test, args.together) {
        (Some(test), _) => test.clone(),
        (None, true) => String::new(),
        (None, false) => flaky_lately(&settings.store.value, LEAST, "unflake factors")?,
    };
    let known = if args.resume { unfinished(settings, &name, here)? } else { Vec::new() };
    let resumed = known.len();
    let only = kinds(&args.factor)?;
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let Plan { baseline, singles, mixes, untried } =
        experiment_plan::plan(&date_of(&known), command, cores, &only, launch.driver.is_none());
    let clock = clock(&baseline, &Zoned::now());
    let looks = Rc::new(RefCell::new(LayerArchive::new(&layers, Rules::without(&[]).expect("none is named"))));
    let asked = ExperimentConfig {
        names: vec![name.clone()],
        together: args.together,
        baseline,
        plan: singles,
        mixes,
        untried,
        runs: args.runs,
        seconds,
        fresh_by: settings.fresh_by.value,
        known,
        layers,
    };
    let mut experiment = Experiment::new(asked, looks.clone());
    let outputs = Outputs::open(&args.output)?;
    let mut memory = Memory::begin(&settings.store, command, here)?;
    let exec = Engine::new(launch)?;
    stop_on_signals(&exec)?;
    let campaign = Campaign {
        inquiry: &mut experiment,
        memory: &mut memory,
        progress: console::progress(colour, args.output.quiet),
        here,
        compare: None,
        base: None,
        take: Box::new(|observation| looks.borrow_mut().take(observation)),
        began: Instant::now(),
        gathered: Gathered::default(),
    };
    let mut gathered = campaign.run(exec, command, |_, _| false);
    let matching = &experiment.matching;
    if gathered.listed && gathered.problems.is_empty() && (matching.len() != 1 && !args.together || matching.is_empty())
    {
        return Err(not_one(&name, &matching.iter().map(|test| test.as_str()).collect::<Vec<_>>()));
    }
    if resumed > 0 {
        gathered.notes.push(format!("{resumed} of the runs are those of the experiment that was stopped"));
    }
    let (exit, meaning) = judge(&gathered, experiment.cannot(), &name);
    memory.finish(exit.code());
    gathered.notes.append(&mut memory.notes);
    let commands = commands(&mut gathered.findings, &clock);
    let page = args
        .html
        .clone()
        .unwrap_or_else(|| crate::commands::locate::command::page_of(&settings.store.value.dir, &file_name(matching)));
    let wanted = !gathered.findings.is_empty();
    if wanted && let Err(error) = write_page(&page, &told(&gathered, &commands, None)) {
        match args.html {
            Some(_) => return Err(Trouble::usage(format!("{} cannot be written: {error}", page.display()))),
            None => gathered.notes.push(format!("the full report was not written: {}: {error}", page.display())),
        }
    }
    let page = Some(&page).filter(|page| wanted && page.is_file()).map(|page| shown(page, here));
    let found = Found {
        name: "factors",
        command,
        gathered: &gathered,
        flaky_gates: true,
        can_locate: true,
        seed: None,
        exit,
        meaning: &meaning,
    };
    outputs.write(&found, colour, |run, look, out| match run.findings {
        [] => report::search(run, look, args.output.quiet, out),
        _ => {
            report::factors(&told(&gathered, &commands, page.as_deref()), look, args.output.quiet, out)?;
            run.notes.iter().try_for_each(|note| writeln!(out, "  note: {}", report::one_line(note)))?;
            if exit == Exit::Interrupted { writeln!(out, "\nexit {}: {meaning}", exit.code()) } else { Ok(()) }
        }
    })?;
    Ok(exit)
}

fn told<'a>(gathered: &'a Gathered, commands: &'a Commands, page: Option<&'a str>) -> ExperimentReport<'a> {
    ExperimentReport {
        findings: &gathered.findings,
        fails_by: commands.0.as_deref(),
        passes_by: commands.1.as_deref(),
        seconds: gathered.totals.seconds,
        page,
    }
}

/// The layers that were asked for; how a test ends is looked at anyway.
fn layers(words: &[String]) -> Result<Vec<Layer>, Trouble> {
    let layer = |word: &String| {
        let others = Layer::ALL.into_iter().filter(|layer| *layer != Layer::Verdict);
        let all = || others.clone().map(Layer::word).collect::<Vec<_>>().join(", ");
        let no = || Trouble::usage(format!("--layer: there is no layer `{word}`: {}", all()));
        others.clone().find(|layer| layer.word() == word).ok_or_else(no)
    };
    words.iter().map(layer).collect()
}

fn kinds(words: &[String]) -> Result<Vec<FactorKind>, Trouble> {
    let kind = |word: &String| {
        let all = || FactorKind::all().into_iter().map(FactorKind::word).collect::<Vec<_>>().join(", ");
        let no = || Trouble::usage(format!("--factor: `{word}` is no factor; there are {}", all()));
        FactorKind::from_word(word).ok_or_else(no)
    };
    words.iter().map(kind).collect()
}

/// What an experiment that was stopped has learnt.
fn unfinished(settings: &Settings, name: &str, here: &Path) -> Result<Vec<(Vec<Factor>, Attempt)>, Trouble> {
    let nothing = || {
        Trouble::usage(format!("--resume: no experiment with `{name}` and this command was stopped"))
            .hint("leave --resume out to begin one")
    };
    let store = Store::find(&settings.store.value)?.ok_or_else(nothing)?;
    let tree = revision::look_up(here).join().ok().and_then(|revision| revision.tree);
    let (here, command) = (here.to_string_lossy(), &settings.command.value);
    for test in store.find_tests(name)? {
        let known = store.unfinished_experiment(command, &here, &test, tree.as_deref())?;
        if !known.is_empty() {
            return Ok(known);
        }
        if !store.unfinished_experiment(command, &here, &test, None)?.is_empty() {
            return Err(Trouble::usage("--resume: the code has changed since that experiment was stopped")
                .hint("what was learnt may not hold for it any more: leave --resume out to begin anew"));
        }
    }
    Err(nothing())
}

/// The day of the experiment that is gone on with, or else today: its plan has to be the same.
fn date_of(known: &[(Vec<Factor>, Attempt)]) -> Zoned {
    let now = Zoned::now();
    let began = known.first().and_then(|(_, attempt)| jiff::Timestamp::from_microsecond(attempt.started.0).ok());
    began.map_or(now.clone(), |began| began.to_zoned(now.time_zone().clone()))
}

pub(crate) fn influence(finding: &Finding) -> Option<&Influence> {
    match &finding.detail {
        Detail::Factor(influence) => Some(influence),
        _ => None,
    }
}

/// What it comes to, and why in words.
fn judge(gathered: &Gathered, cannot: Option<String>, name: &str) -> (Exit, String) {
    if gathered.totals.interrupted {
        let again = format!("go on with it: unflake factors {} --resume", quote(name));
        return (Exit::Interrupted, format!("you stopped it; this is what was found until then; {again}"));
    }
    if !gathered.problems.is_empty() || !gathered.listed {
        return (Exit::Runner, "the tests could not be run".to_owned());
    }
    if gathered.tests.is_empty() {
        return (Exit::NoTests, "no tests were found".to_owned());
    }
    let Some(first) = gathered.findings.first().and_then(influence) else {
        let why = cannot.unwrap_or_else(|| "it was skipped, or there was no time".to_owned());
        return (Exit::Runner, format!("not even the baseline could be run: {why}"));
    };
    match (first.kind.as_str(), first.rate.seen) {
        ("none", 0) => (Exit::Success, "no factor makes a difference".to_owned()),
        ("none", failed) => {
            let runs = first.rate.of;
            (
                Exit::RealFailures,
                format!("no factor makes a difference; it failed {failed} of {runs} times at the baseline"),
            )
        }
        _ => (Exit::RealFailures, "what makes it fail is known".to_owned()),
    }
}

fn file_name(tests: &[TestId]) -> TestId {
    match tests {
        [test] => TestId::new(format!("{}.factors", test.as_str())),
        _ => TestId::new("factors"),
    }
}

fn write_page(path: &Path, told: &ExperimentReport<'_>) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    let mut out = BufWriter::new(File::create(path)?);
    report::factors_page(told, &mut out)?;
    out.flush()
}
