//! `unflake filter learn` and `unflake filter show`, and the filter around the technique of
//! `unflake run --filter`.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use jiff::civil::Date;
use jiff::{ToSpan, Zoned};
use unflake_engine::Launch;
use unflake_model::{Assertion, Detail, FilterKind, Filtered, Finding, Isolation, Layer, Replay, Test};
use unflake_report::{self as report, VaryingAssertion};
use unflake_store::{Store, StoreLocation};
use unflake_techniques::{
    AssertionFilter, AssertionLearning, FilterEntry, Flakiness, RepeatedRuns, RepeatedRunsConfig, VersionSample,
    accumulate, object_scores, test_scores,
};

use crate::args::filter::{FilterLearnArgs, FilterShowArgs};
use crate::args::run::FilteringArgs;
use crate::commands::filter::file::{FileEntry, FilterFile, NAME, OUR_REASON, RuleName};
use crate::config::project;
use crate::config::settings::SettingSource;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit::{Conclusion, Exit};
use crate::history::recorder::OUR_FILES;
use crate::launch::launch;
use crate::output::console::print;
use crate::run_loop::Gathered;
use crate::technique_run::{CommandFacts, TechniqueRun, inconclusive};

/// The number of failing values of an assertion that an entry keeps.
const MOST_FAILING: usize = 20;

/// The path of the filter: the one that was typed, else the default in the project.
pub(crate) fn path_of(typed: Option<&Path>, here: &Path) -> PathBuf {
    typed.map_or_else(|| project::find(here).join(NAME), Path::to_owned)
}

pub(crate) fn today() -> Date {
    Zoned::now().date()
}

/// A launch in which the agent reports every assertion and can let some fail.
pub(crate) fn watching(launch: Launch) -> Launch {
    Launch { layers: vec![Layer::Assertion], filter: true, ..launch }
}

pub(crate) fn learn(args: FilterLearnArgs, context: &Context) -> Result<Exit, CommandError> {
    let settings = &context.test_settings(args.settings, args.command)?;
    let here = &context.here;
    let launch = watching(launch(settings));
    if !settings.runner().can(|runner| runner.assertions) {
        let able = unflake_runners::names_with(|runner| runner.assertions, "and");
        return Err(CommandError::usage(format!("only {able} record assertion values"))
            .hint("`unflake run` finds flaky tests of every runner"));
    }
    let path = path_of(args.file.as_deref(), here);
    let mut file = FilterFile::read(&path)?.unwrap_or_default();
    file.rule = args.rule.unwrap_or(file.rule);
    // Forks of one process share the hash seed and everything else that is drawn once.
    let fresh_by =
        if settings.fresh_by.from == SettingSource::Default { Isolation::Process } else { settings.fresh_by.value };
    let at_once = if settings.jobs.from == SettingSource::Default { 1 } else { settings.jobs.value };
    let config = RepeatedRunsConfig { tests: args.tests, runs: args.runs, fresh_by, at_once };
    let (mut runs, mut learning) = (RepeatedRuns::new(config), AssertionLearning::default());
    let run = TechniqueRun::with_files(context, settings, launch, &args.output)?;
    let mut done = run.run_under(&mut runs, Some(&mut learning))?;
    if let Some(name) = runs.unmatched_names().first() {
        return Err(CommandError::unknown_test(name, done.record.test_names()));
    }
    let samples = learning.samples();
    let now: HashSet<Assertion> = samples.iter().map(|sample| sample.assertion.clone()).collect();
    let known = done.history.keep_samples(&samples);
    let all = accumulate(known);
    let seen: Vec<Flakiness> = all.into_iter().filter(|one| now.contains(&one.assertion)).collect();
    let entries = entries(&learning, &done.record.tests, &seen, file.rule);
    let in_filter: HashSet<Assertion> = entries.iter().map(|entry| entry.learned.assertion.clone()).collect();
    let (recorded, attempts) = (learning.recorded, learning.attempts);
    let counts = LearnCounts { seen: now.len(), learned: in_filter.len(), recorded, attempts };
    let conclusion = conclude(&done.record, &counts);
    done.finish(&conclusion);
    let expires = args.expires.filter(|days| *days > 0).map_or(90, i64::from);
    let expires = today().checked_add(expires.days()).ok().filter(|_| args.expires != Some(0));
    // Entries follow an assertion that has moved, one version at a time.
    let follow = |old: FileEntry| match learning.relearned(&done.record.tests, &old.learned()) {
        Some(now) => old.moved(now),
        None => old,
    };
    file.entries = file.entries.into_iter().map(follow).collect();
    if conclusion.exit != Exit::Runner && !args.dry_run && !(entries.is_empty() && file.entries.is_empty()) {
        let by = who(here);
        let written = |entry: FilterEntry| {
            let reason = format!("{OUR_REASON} without a change: {} of {} runs failed", entry.failed, entry.runs);
            FileEntry::new(entry, &by, today(), expires, reason)
        };
        file.renew(entries.into_iter().map(written).collect());
        file.write(&path)?;
    }
    done.record.findings = findings(&seen, &in_filter);
    let varying = varying(&seen, &in_filter);
    let shown = path.strip_prefix(here).unwrap_or(&path).display().to_string();
    let facts = CommandFacts { name: "filter learn", ..CommandFacts::default() };
    done.report(&facts, &conclusion, |run, style, out| {
        let learned = report::LearnedFilter {
            runs: args.runs,
            assertions: now.len(),
            varying: &varying,
            file: (!args.dry_run).then_some(shown.as_str()),
            expires: expires.map(|date| date.to_string()),
        };
        report::filter_learned(run, &learned, style, args.output.quiet, out)
    })
}

/// The entries of assertions that may fail from now on.
fn entries(learning: &AssertionLearning, tests: &[Test], seen: &[Flakiness], rule: RuleName) -> Vec<FilterEntry> {
    let chosen: Vec<(&Flakiness, &VersionSample)> = seen
        .iter()
        .filter_map(|one| match rule {
            RuleName::Strict => Some((one, one.worst_inconsistent()?)),
            RuleName::Published => Some((one, one.worst())).filter(|(_, worst)| worst.score() > 0.0),
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

/// The assertions that varied, those with the highest score first, for people.
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

/// The same as findings, for report files.
fn findings(seen: &[Flakiness], in_filter: &HashSet<Assertion>) -> Vec<Finding> {
    let finding = |one: VaryingAssertion| {
        let kind = if one.in_filter { FilterKind::Flaky } else { FilterKind::NotInForce };
        let (score, runs) = (one.score, one.runs);
        let sentence = format!(
            "`{}` saw {} different values in {runs} runs without a change and failed {} times (score {score:.2})",
            one.assertion.spot.expression,
            one.saw.len(),
            one.failed
        );
        let saw = one.saw.first().map(|(values, _)| values.clone()).unwrap_or_default();
        let test = one.assertion.test.clone();
        let filtered = Filtered { kind, assertion: one.assertion, line: 0, saw, score: Some(score), runs };
        Finding {
            replays: vec![Replay::counted(vec![test.clone()], one.failed, runs)],
            test,
            detail: Detail::Filter(filtered),
            sentence,
            reproduce: Vec::new(),
        }
    };
    varying(seen, in_filter).into_iter().map(finding).collect()
}

struct LearnCounts {
    seen: usize,
    learned: usize,
    recorded: u32,
    attempts: u32,
}

fn conclude(record: &Gathered, counts: &LearnCounts) -> Conclusion {
    if let Some(conclusion) = inconclusive(record, "interrupted; samples so far are kept") {
        return conclusion;
    }
    if counts.recorded == 0 && counts.attempts > 0 {
        return Exit::Runner.because("the runner recorded no assertion values");
    }
    let what = match (counts.seen, counts.learned) {
        (0, _) => "no assertion was evaluated".to_owned(),
        (_, 0) => "no assertion both passed and failed".to_owned(),
        (_, 1) => "one assertion both passed and failed".to_owned(),
        (_, some) => format!("{some} assertions both passed and failed"),
    };
    Exit::Success.because(what)
}

/// The name that entries carry: from git, else of the login.
fn who(here: &Path) -> String {
    let git = Command::new("git").args(["config", "user.name"]).current_dir(here).output();
    let name = git
        .ok()
        .filter(|output| output.status.success())
        .map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    name.filter(|name| !name.is_empty()).or_else(|| std::env::var("USER").ok()).unwrap_or_default()
}

/// The filter of a project, for `unflake run --filter`.
pub(crate) fn filter(
    path: &Path,
    args: &FilteringArgs,
    store: &StoreLocation,
) -> Result<AssertionFilter, CommandError> {
    let Some(file) = FilterFile::read(path)? else {
        let what = format!("there is no filter: {} does not exist", path.display());
        return Err(CommandError::usage(what).hint("`unflake filter learn` makes one"));
    };
    let (threshold, today) = (args.threshold.unwrap_or(file.threshold), today());
    let entries = file.entries.iter().map(|entry| entry.entry(threshold, today)).collect();
    Ok(AssertionFilter::new(entries, &known(store)?, args.rule.unwrap_or(file.rule).rule()))
}

/// Everything that the history knows of assertions.
pub(crate) fn known(store: &StoreLocation) -> Result<Vec<Flakiness>, CommandError> {
    Ok(accumulate(Store::find(store)?.map_or(Ok(Vec::new()), |store| store.samples(&OUR_FILES))?))
}

pub(crate) fn show(args: FilterShowArgs, context: &Context) -> Result<Exit, CommandError> {
    let wanted = |one: &Flakiness| args.test.as_deref().is_none_or(|part| one.assertion.test.as_str().contains(part));
    let known: Vec<Flakiness> = known(&context.store(args.store)?)?.into_iter().filter(wanted).collect();
    let file = FilterFile::read(&path_of(args.file.as_deref(), &context.here))?.unwrap_or_default();
    let in_filter: HashSet<Assertion> = file.entries.iter().map(FileEntry::assertion).collect();
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
    print("print the ranks", |out| report::filter_ranks(&shown, &context.style(), out))?;
    Ok(Exit::Success)
}
