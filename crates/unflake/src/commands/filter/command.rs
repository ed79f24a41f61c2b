//! `unflake filter`: which assertions vary without a change, and the file that lets them fail.

use std::collections::HashSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use jiff::civil::Date;
use jiff::{ToSpan, Zoned};
use unflake_engine::{Engine, Launch};
use unflake_model::{Assertion, Detail, FilterKind, Filtered, Finding, Isolation, Layer, Test};
use unflake_report::{self as report, VaryingAssertion};
use unflake_store::{Store, StoreLocation};
use unflake_techniques::{
    AssertionFilter, AssertionLearning, FilterEntry, Flakiness, RepeatedRuns, RepeatedRunsConfig, VersionSample,
    accumulate, object_scores, test_scores,
};

use crate::args::When;
use crate::args::filter::{FilterLearnArgs, FilterShowArgs, FilteringArgs};
use crate::commands::filter::file::{FilterFile, NAME, OUR_REASON, Word, Written};
use crate::commands::run::command::{launch, stop_on_signals};
use crate::config::project;
use crate::config::settings::{Settings, Source};
use crate::console;
use crate::error::Trouble;
use crate::exit::Exit;
use crate::history_recorder::{Memory, OURS};
use crate::report_files::{Found, Outputs};
use crate::run_loop::{Gathered, RunLoop};

/// So many of the values with which an assertion failed are written down.
const MOST_FAILING: usize = 20;

/// Where the filter of a project is, unless somebody says so.
pub(crate) fn place(said: Option<&Path>, here: &Path) -> PathBuf {
    said.map_or_else(|| project::find(here).join(NAME), Path::to_owned)
}

pub(crate) fn today() -> Date {
    Zoned::now().date()
}

/// What is to be different in a launch so that assertions are told, and may be let fail.
pub(crate) fn watching(launch: Launch) -> Launch {
    Launch { layers: vec![Layer::Assertion], filter: true, ..launch }
}

pub(crate) fn learn(args: &FilterLearnArgs, settings: &Settings, here: &Path, colour: When) -> Result<Exit, Trouble> {
    let command = &settings.command.value;
    let launch = watching(launch(settings));
    let tells = unflake_runners::tells_assertions(command) || settings.classpath_file.value.is_some();
    if launch.driver.is_some() && !tells {
        return Err(Trouble::usage("what assertions see is told by pytest and by tests in Java only, for now")
            .hint("flaky tests of other runners are told by `unflake run`"));
    }
    let path = place(args.file.as_deref(), here);
    let mut file = FilterFile::read(&path)?.unwrap_or_default();
    file.rule = args.rule.unwrap_or(file.rule);
    let outputs = Outputs::open(&args.output)?;
    let mut memory = Memory::begin(&settings.store, command, here)?;
    // Copies of one process have the same hash seed, and whatever else is drawn once.
    let fresh_by = if settings.fresh_by.from == Source::Default { Isolation::Process } else { settings.fresh_by.value };
    let at_once = if settings.jobs.from == Source::Default { 1 } else { settings.jobs.value };
    let config = RepeatedRunsConfig { tests: args.tests.clone(), runs: args.runs, fresh_by, at_once };
    let (mut runs, mut learning) = (RepeatedRuns::new(config), AssertionLearning::default());
    let exec = Engine::new(launch)?;
    stop_on_signals(&exec)?;
    let progress = console::progress(colour, args.output.quiet);
    let run_loop = RunLoop::new(&mut runs, &mut memory, progress, here).with_assertions(Some(&mut learning));
    let mut gathered = run_loop.run(exec, command, |_, _| false);
    if let Some(name) = runs.unmatched_names().first() {
        return Err(Trouble::usage(format!("no test has `{name}` in its name")).hint("a part of its name is enough"));
    }
    let samples = learning.samples();
    let now: HashSet<Assertion> = samples.iter().map(|sample| sample.assertion.clone()).collect();
    let known = memory.keep_samples(&samples);
    let all = accumulate(known);
    let seen: Vec<Flakiness> = all.into_iter().filter(|one| now.contains(&one.assertion)).collect();
    let entries = entries(&learning, &gathered.tests, &seen, file.rule);
    let in_filter: HashSet<Assertion> = entries.iter().map(|entry| entry.learned.assertion.clone()).collect();
    let counts =
        Counts { seen: now.len(), learned: in_filter.len(), recorded: learning.recorded, attempts: learning.attempts };
    let (exit, meaning) = judge(&gathered, &counts);
    memory.finish(exit.code());
    gathered.notes.append(&mut memory.notes);
    let expires = args.expires.filter(|days| *days > 0).map_or(90, i64::from);
    let expires = today().checked_add(expires.days()).ok().filter(|_| args.expires != Some(0));
    // Entries follow the code, one version at a time.
    let follow = |old: Written| match learning.relearned(&gathered.tests, &old.learned()) {
        Some(now) => old.moved(now),
        None => old,
    };
    file.entries = file.entries.into_iter().map(follow).collect();
    if exit != Exit::Runner && !args.dry_run && !(entries.is_empty() && file.entries.is_empty()) {
        let by = who(here);
        let written = |entry: FilterEntry| {
            let reason = format!("{OUR_REASON} without a change: {} of {} runs failed", entry.failed, entry.runs);
            Written::new(entry, &by, today(), expires, reason)
        };
        file.renew(entries.into_iter().map(written).collect());
        file.write(&path)?;
    }
    gathered.findings = findings(&seen, &in_filter);
    let found = Found {
        name: "filter learn",
        command,
        gathered: &gathered,
        flaky_gates: false,
        can_locate: true,
        seed: None,
        exit,
        meaning: &meaning,
    };
    let varying = varying(&seen, &in_filter);
    let shown = path.strip_prefix(here).unwrap_or(&path).display().to_string();
    outputs.write(&found, colour, |run, look, out| {
        let learned = report::LearnedFilter {
            runs: args.runs,
            assertions: now.len(),
            varying: &varying,
            file: (!args.dry_run).then_some(shown.as_str()),
            expires: expires.map(|date| date.to_string()),
        };
        report::filter_learned(run, &learned, look, args.output.quiet, out)
    })?;
    Ok(exit)
}

/// The ones that may fail from now on.
fn entries(learning: &AssertionLearning, tests: &[Test], seen: &[Flakiness], rule: Word) -> Vec<FilterEntry> {
    let chosen: Vec<(&Flakiness, &VersionSample)> = seen
        .iter()
        .filter_map(|one| match rule {
            Word::Strict => Some((one, one.worst_inconsistent()?)),
            Word::Published => Some((one, one.worst())).filter(|(_, worst)| worst.score() > 0.0),
        })
        .collect();
    let learned = learning.learned(tests, chosen.iter().map(|(one, _)| one.assertion.clone()));
    let entry = |(learned, (one, worst)): (_, (&Flakiness, &VersionSample))| FilterEntry {
        learned,
        score: worst.score(),
        runs: worst.runs(),
        failed: failures(worst),
        failing: one.failing().into_iter().take(MOST_FAILING).collect(),
        inert: None,
    };
    learned.into_iter().zip(chosen).map(entry).collect()
}

fn failures(seen: &VersionSample) -> u32 {
    seen.groups.iter().filter(|group| group.how.is_failure()).map(|group| group.times).sum()
}

/// What varied, as people read it.
fn varying(seen: &[Flakiness], in_filter: &HashSet<Assertion>) -> Vec<VaryingAssertion> {
    let mut varying: Vec<VaryingAssertion> = seen
        .iter()
        .filter(|one| one.score() > 0.0)
        .map(|one| {
            let worst = one.worst();
            let mut saw: Vec<(String, u32)> =
                worst.groups.iter().map(|group| (group.values.clone(), group.times)).collect();
            saw.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
            VaryingAssertion {
                assertion: one.assertion.clone(),
                score: worst.score(),
                runs: worst.runs(),
                failed: failures(worst),
                versions: one.versions.len(),
                saw,
                in_filter: in_filter.contains(&one.assertion),
            }
        })
        .collect();
    varying.sort_by(|one, other| other.score.total_cmp(&one.score));
    varying
}

/// The same for machines.
fn findings(seen: &[Flakiness], in_filter: &HashSet<Assertion>) -> Vec<Finding> {
    let finding = |one: VaryingAssertion| {
        let kind = if one.in_filter { FilterKind::Flaky } else { FilterKind::NotInForce };
        let (score, runs) = (one.score, one.runs);
        let sentence = format!(
            "`{}` saw {} different things in {runs} runs without a change and failed {} times (score {score:.2})",
            one.assertion.spot.expression,
            one.saw.len(),
            one.failed
        );
        let saw = one.saw.first().map(|(values, _)| values.clone()).unwrap_or_default();
        let test = one.assertion.test.clone();
        let filtered = Filtered { kind, assertion: one.assertion, line: 0, saw, score: Some(score), runs };
        Finding { replay: vec![test.clone()], test, detail: Detail::Filter(filtered), sentence, repeat: None }
    };
    varying(seen, in_filter).into_iter().map(finding).collect()
}

struct Counts {
    seen: usize,
    learned: usize,
    recorded: u32,
    attempts: u32,
}

fn judge(gathered: &Gathered, counts: &Counts) -> (Exit, String) {
    if gathered.totals.interrupted {
        return (Exit::Interrupted, "you stopped it; what was seen until then is kept".to_owned());
    }
    if !gathered.problems.is_empty() || !gathered.listed {
        return (Exit::Runner, "the tests could not be run".to_owned());
    }
    if gathered.tests.is_empty() {
        return (Exit::NoTests, "no tests were found".to_owned());
    }
    if counts.recorded == 0 && counts.attempts > 0 {
        return (Exit::Runner, "the runner did not tell what assertions saw".to_owned());
    }
    let what = match (counts.seen, counts.learned) {
        (0, _) => "no assertion was evaluated".to_owned(),
        (_, 0) => "no assertion both held and failed".to_owned(),
        (_, 1) => "one assertion both held and failed".to_owned(),
        (_, some) => format!("{some} assertions both held and failed"),
    };
    (Exit::Success, what)
}

fn who(here: &Path) -> String {
    let git = Command::new("git").args(["config", "user.name"]).current_dir(here).output();
    let name = git
        .ok()
        .filter(|said| said.status.success())
        .map(|said| String::from_utf8_lossy(&said.stdout).trim().to_owned());
    name.filter(|name| !name.is_empty()).or_else(|| std::env::var("USER").ok()).unwrap_or_default()
}

/// The filter of a project, for `unflake run`.
pub(crate) fn filter(path: &Path, args: &FilteringArgs, store: &StoreLocation) -> Result<AssertionFilter, Trouble> {
    let Some(file) = FilterFile::read(path)? else {
        let what = format!("there is no filter: {} does not exist", path.display());
        return Err(Trouble::usage(what).hint("`unflake filter learn` makes one"));
    };
    let (threshold, today) = (args.threshold.unwrap_or(file.threshold), today());
    let entries = file.entries.iter().map(|entry| entry.entry(threshold, today)).collect();
    Ok(AssertionFilter::new(entries, &known(store)?, args.rule.unwrap_or(file.rule).rule()))
}

/// Everything the history knows of assertions.
pub(crate) fn known(store: &StoreLocation) -> Result<Vec<Flakiness>, Trouble> {
    Ok(accumulate(Store::find(store)?.map_or(Ok(Vec::new()), |store| store.samples(&OURS))?))
}

pub(crate) fn show(args: &FilterShowArgs, settings: &Settings, here: &Path, colour: When) -> Result<Exit, Trouble> {
    let wanted = |one: &Flakiness| args.test.as_deref().is_none_or(|part| one.assertion.test.as_str().contains(part));
    let known: Vec<Flakiness> = known(&settings.store.value)?.into_iter().filter(wanted).collect();
    let file = FilterFile::read(&place(args.file.as_deref(), here))?.unwrap_or_default();
    let in_filter: HashSet<Assertion> = file.entries.iter().map(Written::assertion).collect();
    let mut varying = varying(&known, &in_filter);
    varying.truncate(args.limit);
    let mut objects = object_scores(&known);
    let mut tests = test_scores(&known);
    objects.retain(|(_, score)| *score > 0.0);
    tests.retain(|(_, score)| *score > 0.0);
    let shown = report::AssertionRanks {
        assertions: known.len(),
        varying: &varying,
        objects: &objects[..objects.len().min(args.limit)],
        tests: &tests[..tests.len().min(args.limit)],
    };
    let mut out = io::stdout().lock();
    let _ = report::filter_ranks(&shown, &console::look(colour, &io::stdout()), &mut out).and_then(|()| out.flush());
    Ok(Exit::Success)
}
