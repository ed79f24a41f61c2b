//! `unflake factors`: which factor of its environment makes a test fail.

use std::path::{Path, PathBuf};
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
use crate::commands::factors::repro_commands::add_commands;
use crate::commands::locate::command::{flaky_lately, shown};
use crate::config::settings::{self, Settings};
use crate::context::Context;
use crate::error::CommandError;
use crate::exit::{Conclusion, Exit};
use crate::output::report_path::report_path;
use crate::output::write_file;
use crate::project::revision;
use crate::recorders::Recorders;
use crate::run_loop::Gathered;
use crate::technique_run::{CommandFacts, TechniqueRun, inconclusive};

/// The default time budget.
const TIME: Duration = Duration::from_secs(600);
/// Without a test: the smallest recent failure rate.
const LEAST: f64 = 0.05;

pub(crate) fn run(args: FactorsArgs, context: &Context) -> Result<Exit, CommandError> {
    let settings = &context.search_settings(args.settings, args.command)?;
    let here = &context.here;
    let command = &settings.command.value;
    let seconds = settings::time(args.time.as_deref(), TIME)?;
    let layers = layers(&args.layer)?;
    let time = settings::engine_limit(seconds);
    let launch = Launch { suite: false, time, layers: layers.clone(), ..context.search_launch(settings) };
    let name = match (&args.test, args.together) {
        (Some(test), _) => test.clone(),
        (None, true) => String::new(),
        (None, false) => flaky_lately(&settings.store.value, LEAST, "unflake factors")?,
    };
    let known = if args.resume { interrupted(settings, &name, here)? } else { Vec::new() };
    let resumed = known.len();
    let context_of_plan = experiment_plan::context(&start_of(&known), command);
    let only = kinds(&args.factor)?;
    let Plan { baseline, singles, mixes, untried } = experiment_plan::plan(&context_of_plan, &only, &settings.runner());
    let rules = Rules::without(&[], &unflake_runners::temporary_names()).expect("no rule is left out");
    let recorders = Recorders::of_layers(LayerArchive::new(&layers, rules));
    let config = ExperimentConfig {
        names: vec![name.clone()],
        together: args.together,
        baseline: baseline.clone(),
        plan: singles,
        mixes,
        untried,
        combined: experiment_plan::combined(&settings.runner()),
        max_runs: args.max_runs,
        seconds,
        fresh_by: settings.fresh_by.value,
        known,
        layers,
    };
    let mut experiment = Experiment::new(config);
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
        gathered.notes.push(format!("{resumed} of the runs are from the interrupted experiment"));
    }
    let conclusion = conclude(gathered, experiment.baseline_error(), &name);
    done.finish(&conclusion);
    let gathered = &mut done.record;
    let extremes = add_commands(&mut gathered.findings, &baseline);
    let page = args.html.clone().unwrap_or_else(|| default_page(&settings.store.value.dir, matching));
    let has_page = !gathered.findings.is_empty();
    let shared = ExperimentReport {
        findings: &[],
        fails_by: extremes.0.as_deref(),
        passes_by: extremes.1.as_deref(),
        seconds: gathered.totals.seconds,
        budget: Some(seconds).filter(|seconds| seconds.is_finite()),
        page: None,
    };
    let full_report = ExperimentReport { findings: &gathered.findings, ..shared };
    if has_page && let Err(error) = write_file(&page, |out| report::factors_page(&full_report, out)) {
        match args.html {
            Some(_) => return Err(CommandError::cannot_write(&page)(error)),
            None => gathered.notes.push(format!("the full report was not written: {}: {error}", page.display())),
        }
    }
    let page = Some(&page).filter(|page| has_page && page.is_file()).map(|page| shown(page, here));
    done.report(&CommandFacts::search("factors"), &conclusion, |run, look, out| match run.findings {
        [] => report::order_and_nio(run, look, args.output.quiet, out),
        _ => {
            let experiment = ExperimentReport { findings: run.findings, page: page.as_deref(), ..shared };
            report::factors(&experiment, look, args.output.quiet, out)?;
            run.notes.iter().try_for_each(|note| writeln!(out, "  note: {}", report::one_line(note)))?;
            let Conclusion { exit, meaning } = &conclusion;
            if *exit == Exit::Interrupted { writeln!(out, "\nexit {}: {meaning}", exit.code()) } else { Ok(()) }
        }
    })
}

/// The requested layers. The verdict is always compared.
fn layers(words: &[String]) -> Result<Vec<Layer>, CommandError> {
    let layer = |word: &String| {
        let others = Layer::ALL.into_iter().filter(|layer| *layer != Layer::Verdict);
        let words: Vec<&str> = others.clone().map(Layer::word).collect();
        let no = || CommandError::unknown_value("--layer", word, &words);
        others.clone().find(|layer| layer.word() == word).ok_or_else(no)
    };
    words.iter().map(layer).collect()
}

fn kinds(names: &[String]) -> Result<Vec<FactorKind>, CommandError> {
    let kind = |name: &String| {
        let all = || FactorKind::all().iter().map(|kind| kind.name).collect::<Vec<_>>();
        FactorKind::named(name).ok_or_else(|| CommandError::unknown_value("--factor", name, &all()))
    };
    names.iter().map(kind).collect()
}

/// The runs of an interrupted experiment.
fn interrupted(settings: &Settings, name: &str, here: &Path) -> Result<Vec<(Vec<Factor>, Attempt)>, CommandError> {
    let none = || {
        CommandError::usage(format!("--resume: there is no interrupted experiment with `{name}` and this command"))
            .hint("leave --resume out to start one")
    };
    let store = Store::find(&settings.store.value)?.ok_or_else(none)?;
    let tree = revision::look_up(here).join().ok().and_then(|revision| revision.tree);
    let (here, command) = (here.to_string_lossy(), &settings.command.value);
    for test in store.find_tests(name)? {
        let known = store.unfinished_experiment(command, &here, &test, tree.as_deref())?;
        if !known.is_empty() {
            return Ok(known);
        }
        if !store.unfinished_experiment(command, &here, &test, None)?.is_empty() {
            return Err(CommandError::usage("--resume: the code has changed since that experiment was interrupted")
                .hint("its runs may not apply to the new code: leave --resume out to start again"));
        }
    }
    Err(none())
}

/// When the resumed experiment started, or else now: the plan depends on the date.
fn start_of(known: &[(Vec<Factor>, Attempt)]) -> Zoned {
    let now = Zoned::now();
    let start = known.first().and_then(|(_, attempt)| jiff::Timestamp::from_microsecond(attempt.started.0).ok());
    start.map_or(now.clone(), |start| start.to_zoned(now.time_zone().clone()))
}

pub(crate) fn influence(finding: &Finding) -> Option<&Influence> {
    match &finding.detail {
        Detail::Factor(influence) => Some(influence),
        _ => None,
    }
}

fn conclude(gathered: &Gathered, baseline_error: Option<String>, name: &str) -> Conclusion {
    let resume = format!("unflake factors {} --resume", quote(name));
    let interrupted = format!("interrupted; the findings so far are above; continue with {resume}");
    if let Some(conclusion) = inconclusive(gathered, interrupted) {
        return conclusion;
    }
    let Some(first) = gathered.findings.first().and_then(influence) else {
        // Listing the tests may have taken all the time.
        if gathered.budget_exhausted || gathered.sessions == 0 {
            return Exit::Incomplete.because("budget exhausted before the baseline was run (--for)");
        }
        let why = baseline_error.unwrap_or_else(|| "the test was skipped, or the budget is exhausted".to_owned());
        return Exit::Runner.because(format!("the baseline could not be run: {why}"));
    };
    let failed: u32 = first.plan.iter().map(|trial| trial.rate.seen).sum();
    match (first.kind.as_str(), failed) {
        ("none", 0) => Exit::Success.because("no factor found, and no run failed"),
        ("none", failed) => {
            Exit::RealFailures.because(format!("no factor found; {failed} of {} runs failed", first.runs))
        }
        (_, _) => Exit::RealFailures.because(format!("{} factor found", first.confidence.word())),
    }
}

/// One report per test, or per group of tests that ran together.
fn default_page(history: &Path, tests: &[TestId]) -> PathBuf {
    let names: Vec<&str> = tests.iter().map(TestId::as_str).collect();
    report_path(history, &TestId::new(names.join(" ")), ".factors")
}
