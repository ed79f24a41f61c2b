//! Pagination of runs: those of unflake, and those that imported reports describe.

use std::collections::HashMap;

use unflake_model::{Event, Timestamp};
use unflake_report::pages::{Pagination, RunFailure, RunHead, RunList, RunPage, RunRow};
use unflake_store::{Run, RunId, Source, SourceId, Store, TestKey};

use super::overview::RunTally;
use super::views::ViewBuilder;
use crate::error::CommandError;

const RUNS: usize = 50;
/// The largest number of failures on a page.
const FAILURES: usize = 500;
/// Microseconds after which a run that has not ended and recorded nothing is taken for killed.
const SILENT: i64 = 120 * 1_000_000;
/// The number of latest runs among which one in progress is looked up.
const LATEST: usize = 5;

pub(crate) fn head(source: &Source) -> RunHead {
    let id = match source.id {
        SourceId::Run(run) => run.to_string(),
        SourceId::Report(report) => format!("ci-{report}"),
    };
    RunHead {
        id,
        when: source.started,
        commit: source.commit.clone(),
        dirty: source.dirty,
        branch: source.branch.clone(),
        ci_run: source.ci_run.clone(),
        job: source.job.clone(),
    }
}

/// A run of unflake that is in progress, as far as the history shows.
pub(crate) fn in_progress(views: &ViewBuilder) -> Result<Option<Box<RunRow>>, CommandError> {
    for run in views.store.runs(LATEST)? {
        if is_in_progress(views, &run)? {
            let tally = RunTally { passed: run.attempts, ..RunTally::default() };
            return Ok(Some(Box::new(row(ours_head(&run), tally, Some(&run), true, false))));
        }
    }
    Ok(None)
}

fn is_in_progress(views: &ViewBuilder, run: &Run) -> Result<bool, CommandError> {
    is_live(views.store, run, views.now)
}

/// Whether a run is in progress, as far as the history shows.
pub(super) fn is_live(store: &Store, run: &Run, now: Timestamp) -> Result<bool, CommandError> {
    Ok(run.ended.is_none() && now.0 - store.last_activity(run)?.0 < SILENT)
}

pub(crate) fn list(views: &ViewBuilder, page: usize) -> Result<RunList, CommandError> {
    let scores = &views.overview.scores;
    let newest_first: Vec<usize> = (0..scores.runs.len()).rev().collect();
    let (shown, pages) = Pagination::cut(&newest_first, page, RUNS);
    let rows = shown.iter().map(|number| numbered(views, *number)).collect::<Result<_, _>>()?;
    Ok(RunList { runs: rows, pages })
}

/// The row of a run, by its number in the scores.
fn numbered(views: &ViewBuilder, number: usize) -> Result<RunRow, CommandError> {
    let scores = &views.overview.scores;
    let source = &scores.runs[number];
    let ours = match source.id {
        SourceId::Run(run) => views.store.run(run)?,
        SourceId::Report(_) => None,
    };
    let going_on = ours.as_ref().map(|run| is_in_progress(views, run)).transpose()?.unwrap_or(false);
    let excluded = scores.bad_days.contains(&(number as u32));
    Ok(row(head(source), views.overview.tallies[number], ours.as_ref(), going_on, excluded))
}

fn row(head: RunHead, tally: RunTally, ours: Option<&Run>, going_on: bool, excluded: bool) -> RunRow {
    RunRow {
        head,
        command: ours.map(|run| run.facts.command.join(" ")).unwrap_or_default(),
        passed: tally.passed,
        failed: tally.failed,
        skipped: tally.skipped,
        attempts: ours.map_or(tally.executions(), |run| run.attempts),
        seconds: tally.seconds,
        listed: ours.and_then(|run| run.listed).map(|(listed, _)| listed),
        exit: ours.and_then(|run| run.ended).map(|(_, exit)| exit),
        going_on,
        excluded,
    }
}

fn ours_head(run: &Run) -> RunHead {
    RunHead {
        id: run.id.to_string(),
        when: run.facts.started,
        commit: run.facts.revision.commit.clone(),
        dirty: run.facts.revision.dirty == Some(true),
        branch: None,
        ci_run: None,
        job: None,
    }
}

/// The page of a run, by its id in addresses. That of a run of unflake is read from the history,
/// not from the overview.
pub(crate) fn page(views: &ViewBuilder, id: &str) -> Result<Option<RunPage>, CommandError> {
    let scores = &views.overview.scores;
    let number = || scores.runs.iter().position(|source| head(source).id == id);
    match id.parse() {
        Ok(ours) => {
            let Some(run) = views.store.run(RunId(ours))? else { return Ok(None) };
            let excluded = number().is_some_and(|number| scores.bad_days.contains(&(number as u32)));
            let is_in_progress = is_in_progress(views, &run)?;
            let failed = failed(views, &[SourceId::Run(run.id)])?;
            let row = row(ours_head(&run), failed.tally, Some(&run), is_in_progress, excluded);
            let notes = notes(views, run.id)?;
            Ok(Some(assemble(row, ours_facts(&run), failed, notes)))
        }
        Err(_) => {
            let Some(number) = number() else { return Ok(None) };
            let row = numbered(views, number)?;
            let parts = &scores.parts[number];
            let failed = failed(views, parts)?;
            let facts = vec![("Reports", parts.len().to_string())];
            let job = row.head.job.clone().map(|job| ("Job", job));
            Ok(Some(assemble(row, facts.into_iter().chain(job).collect(), failed, Vec::new())))
        }
    }
}

fn assemble(run: RunRow, facts: Vec<(&'static str, String)>, failed: SourceFailures, notes: Vec<String>) -> RunPage {
    RunPage { run, facts, failures: failed.failures, failure_count: failed.count, notes }
}

fn ours_facts(run: &Run) -> Vec<(&'static str, String)> {
    let host = &run.facts.host;
    let mut facts = vec![
        ("Directory", run.facts.cwd.clone()),
        ("Machine", format!("{}, {} {}, {} cores", host.name, host.os, host.arch, host.cpus)),
        ("unflake", run.facts.version.clone()),
    ];
    if let Some((listed, deselected)) = run.listed {
        facts.insert(0, ("Listed", format!("{listed} tests, {deselected} deselected")));
    }
    facts
}

fn notes(views: &ViewBuilder, run: RunId) -> Result<Vec<String>, CommandError> {
    let observed = views.store.other_observations(run)?.into_iter();
    Ok(observed
        .filter_map(|event| match event {
            Event::Note(text) => Some(text),
            Event::Problem(problem) => Some(problem.text),
            _ => None,
        })
        .collect())
}

/// Counts and failures of some sources.
struct SourceFailures {
    tally: RunTally,
    /// At most [`FAILURES`].
    failures: Vec<RunFailure>,
    count: usize,
}

/// Reads the executions of some sources. TestList that never passed in them come first.
fn failed(views: &ViewBuilder, parts: &[SourceId]) -> Result<SourceFailures, CommandError> {
    let today = |key: TestKey| views.overview.scores.today(key);
    let mut tally = RunTally::default();
    let mut tests: HashMap<TestKey, (u32, u32)> = HashMap::new();
    let mut messages = HashMap::new();
    for part in parts {
        views.store.executions_in(*part, &mut |execution| {
            tally.add(execution.outcome, execution.seconds);
            let failed = execution.outcome.is_failure();
            if failed || execution.outcome.is_pass() {
                let counts = tests.entry(today(execution.test)).or_default();
                *counts = (counts.0 + u32::from(failed), counts.1 + u32::from(!failed));
            }
        })?;
        views.store.failed_in(*part, &mut |test, failure| _ = messages.insert(today(test), failure.message))?;
    }
    let name = |key: &TestKey| {
        // A test that was added after the overview was computed has no page yet.
        let stored = views.overview.scores.tests.get(key);
        stored.map_or_else(|| format!("test {}", key.0), |stored| stored.test.to_string())
    };
    let failed = tests.into_iter().filter(|(_, (failed, _))| *failed > 0);
    let mut failures: Vec<RunFailure> = failed
        .map(|(key, (failed, passed))| RunFailure {
            key: key.0,
            test: name(&key),
            failed,
            passed,
            message: String::new(),
        })
        .collect();
    let count = failures.len();
    failures.sort_by(|one, other| (one.passed > 0, &one.test).cmp(&(other.passed > 0, &other.test)));
    failures.truncate(FAILURES);
    for failure in &mut failures {
        if let Some(message) = messages.get(&TestKey(failure.key)) {
            failure.message = views.store.text(*message)?;
        }
    }
    Ok(SourceFailures { tally, failures, count })
}
