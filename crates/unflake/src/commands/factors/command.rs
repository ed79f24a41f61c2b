//! `unflake factors`: which condition of its world makes a test fail.

use std::path::Path;
use std::time::Duration;

use jiff::Zoned;
use unflake_engine::Launch;
use unflake_model::{Attempt, Detail, Factor, FactorKind, Finding, Influence, Layer, TestId};
use unflake_observe::layers::{LayerArchive, Rules};
use unflake_report::{self as report, ExperimentReport, quote};
use unflake_store::Store;
use unflake_techniques::{Experiment, ExperimentConfig};

use crate::args::factors::FactorsArgs;
use crate::commands::factors::experiment_plan::{self, Plan};
use crate::commands::factors::repro_commands::{Commands, clock, commands};
use crate::commands::locate::command::{flaky_lately, page_of, shown};
use crate::config::settings::{self, Settings};
use crate::context::Context;
use crate::error::CommandError;
use crate::exit::{Conclusion, Exit};
use crate::launch::launch;
use crate::output::write_file;
use crate::project::revision;
use crate::recorders::Recorders;
use crate::run_loop::Gathered;
use crate::technique_run::{ReportFacts, TechniqueRun, inconclusive};

/// How long runs are begun.
const TIME: Duration = Duration::from_secs(600);
/// Without a test: how large a share of its runs must have failed lately.
const LEAST: f64 = 0.05;

pub(crate) fn run(args: FactorsArgs, context: &Context) -> Result<Exit, CommandError> {
    let settings = &context.test_settings(args.settings, args.command)?;
    let here = &context.here;
    let command = &settings.command.value;
    let seconds = settings::time(args.time.as_deref(), TIME)?;
    let layers = layers(&args.layer)?;
    let time = settings::engine_limit(seconds);
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
    let rules = Rules::without(&[], &unflake_runners::temporary_names()).expect("none is named");
    let recorders = Recorders::of_layers(LayerArchive::new(&layers, rules));
    let asked = ExperimentConfig {
        names: vec![name.clone()],
        together: args.together,
        baseline,
        plan: singles,
        mixes,
        untried,
        runs: args.max_runs,
        seconds,
        fresh_by: settings.fresh_by.value,
        known,
        layers,
    };
    let mut experiment = Experiment::new(asked);
    let run = TechniqueRun { recorders, ..TechniqueRun::with_files(context, settings, launch, &args.output)? };
    let mut done = run.run(&mut experiment)?;
    let gathered = &mut done.record;
    let matching = &experiment.matching;
    if gathered.listed && gathered.problems.is_empty() && (matching.len() != 1 && !args.together || matching.is_empty())
    {
        let matching: Vec<&str> = matching.iter().map(|test| test.as_str()).collect();
        return Err(CommandError::not_one_test(&name, &matching, gathered.test_names()));
    }
    if resumed > 0 {
        gathered.notes.push(format!("{resumed} of the runs are those of the experiment that was stopped"));
    }
    let conclusion = conclude(gathered, experiment.cannot(), &name);
    done.finish(&conclusion);
    let gathered = &mut done.record;
    let commands = commands(&mut gathered.findings, &clock);
    let page = args.html.clone().unwrap_or_else(|| page_of(&settings.store.value.dir, &file_name(matching)));
    let wanted = !gathered.findings.is_empty();
    if wanted && let Err(error) = write_file(&page, |out| report::factors_page(&told(gathered, &commands, None), out)) {
        match args.html {
            Some(_) => return Err(CommandError::cannot_write(&page)(error)),
            None => gathered.notes.push(format!("the full report was not written: {}: {error}", page.display())),
        }
    }
    let page = Some(&page).filter(|page| wanted && page.is_file()).map(|page| shown(page, here));
    done.report(&ReportFacts::search("factors"), &conclusion, |run, look, out| match run.findings {
        [] => report::order_and_nio(run, look, args.output.quiet, out),
        _ => {
            let told = ExperimentReport {
                findings: run.findings,
                fails_by: commands.0.as_deref(),
                passes_by: commands.1.as_deref(),
                seconds: run.totals.seconds,
                page: page.as_deref(),
            };
            report::factors(&told, look, args.output.quiet, out)?;
            run.notes.iter().try_for_each(|note| writeln!(out, "  note: {}", report::one_line(note)))?;
            let Conclusion { exit, meaning } = &conclusion;
            if *exit == Exit::Interrupted { writeln!(out, "\nexit {}: {meaning}", exit.code()) } else { Ok(()) }
        }
    })
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
fn layers(words: &[String]) -> Result<Vec<Layer>, CommandError> {
    let layer = |word: &String| {
        let others = Layer::ALL.into_iter().filter(|layer| *layer != Layer::Verdict);
        let words: Vec<&str> = others.clone().map(Layer::word).collect();
        let no = || CommandError::unknown_value("--layer", word, &words);
        others.clone().find(|layer| layer.word() == word).ok_or_else(no)
    };
    words.iter().map(layer).collect()
}

fn kinds(words: &[String]) -> Result<Vec<FactorKind>, CommandError> {
    let kind = |word: &String| {
        let words = || FactorKind::all().into_iter().map(FactorKind::word).collect::<Vec<_>>();
        FactorKind::from_word(word).ok_or_else(|| CommandError::unknown_value("--factor", word, &words()))
    };
    words.iter().map(kind).collect()
}

/// What an experiment that was stopped has learnt.
fn unfinished(settings: &Settings, name: &str, here: &Path) -> Result<Vec<(Vec<Factor>, Attempt)>, CommandError> {
    let nothing = || {
        CommandError::usage(format!("--resume: no experiment with `{name}` and this command was stopped"))
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
            return Err(CommandError::usage("--resume: the code has changed since that experiment was stopped")
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
fn conclude(gathered: &Gathered, cannot: Option<String>, name: &str) -> Conclusion {
    let again = format!("go on with it: unflake factors {} --resume", quote(name));
    let stopped = format!("you stopped it; this is what was found until then; {again}");
    if let Some(conclusion) = inconclusive(gathered, stopped) {
        return conclusion;
    }
    let Some(first) = gathered.findings.first().and_then(influence) else {
        let why = cannot.unwrap_or_else(|| "it was skipped, or there was no time".to_owned());
        return Exit::Runner.because(format!("not even the baseline could be run: {why}"));
    };
    match (first.kind.as_str(), first.rate.seen) {
        ("none", 0) => Exit::Success.because("no factor makes a difference"),
        ("none", failed) => Exit::RealFailures.because(format!(
            "no factor makes a difference; it failed {failed} of {} times at the baseline",
            first.rate.of
        )),
        _ => Exit::RealFailures.because("what makes it fail is known"),
    }
}

fn file_name(tests: &[TestId]) -> TestId {
    match tests {
        [test] => TestId::new(format!("{}.factors", test.as_str())),
        _ => TestId::new("factors"),
    }
}
