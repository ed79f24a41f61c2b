//! Runs, as pages show them: ours, and those that reports tell of.

use std::collections::HashMap;

use unflake_model::Observation;
use unflake_report::pages::{Pages, RunFailure, RunHead, RunPage, RunRow, Runs};
use unflake_store::{Run, RunId, Source, SourceId, TestKey};

use super::overview::Tally;
use super::views::Sight;
use crate::error::Trouble;

const RUNS: usize = 50;
/// Failures that a page lists.
const FAILURES: usize = 500;
/// A run that has not ended and of which nothing was heard for so long was killed, for all we know.
const SILENT: i64 = 120 * 1_000_000;
/// Of so many of the last runs one may be going on.
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

/// A run of ours that goes on at this moment, as far as can be seen.
pub(crate) fn going_on(sight: &Sight) -> Result<Option<Box<RunRow>>, Trouble> {
    for run in sight.store.runs(LATEST)? {
        if goes_on(sight, &run)? {
            let tally = Tally { passed: run.attempts, ..Tally::default() };
            return Ok(Some(Box::new(row(ours_head(&run), tally, Some(&run), true, false))));
        }
    }
    Ok(None)
}

fn goes_on(sight: &Sight, run: &Run) -> Result<bool, Trouble> {
    Ok(run.ended.is_none() && sight.now.0 - sight.store.last_activity(run)?.0 < SILENT)
}

pub(crate) fn list(sight: &Sight, page: usize) -> Result<Runs, Trouble> {
    let standings = &sight.overview.standings;
    let newest_first: Vec<usize> = (0..standings.runs.len()).rev().collect();
    let (shown, pages) = Pages::cut(&newest_first, page, RUNS);
    let rows = shown.iter().map(|number| numbered(sight, *number)).collect::<Result<_, _>>()?;
    Ok(Runs { runs: rows, pages })
}

/// The run that the ledger has this number for.
fn numbered(sight: &Sight, number: usize) -> Result<RunRow, Trouble> {
    let standings = &sight.overview.standings;
    let source = &standings.runs[number];
    let ours = match source.id {
        SourceId::Run(run) => sight.store.run(run)?,
        SourceId::Report(_) => None,
    };
    let going_on = ours.as_ref().map(|run| goes_on(sight, run)).transpose()?.unwrap_or(false);
    let set_apart = standings.bad_days.contains(&(number as u32));
    Ok(row(head(source), sight.overview.tallies[number], ours.as_ref(), going_on, set_apart))
}

fn row(head: RunHead, tally: Tally, ours: Option<&Run>, going_on: bool, set_apart: bool) -> RunRow {
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
        set_apart,
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

/// The page of a run, by its name in addresses. Of one of ours everything is read anew.
pub(crate) fn page(sight: &Sight, id: &str) -> Result<Option<RunPage>, Trouble> {
    let standings = &sight.overview.standings;
    let number = || standings.runs.iter().position(|source| head(source).id == id);
    match id.parse() {
        Ok(ours) => {
            let Some(run) = sight.store.run(RunId(ours))? else { return Ok(None) };
            let set_apart = number().is_some_and(|number| standings.bad_days.contains(&(number as u32)));
            let goes_on = goes_on(sight, &run)?;
            let failed = failed(sight, &[SourceId::Run(run.id)])?;
            let row = row(ours_head(&run), failed.tally, Some(&run), goes_on, set_apart);
            let notes = notes(sight, run.id)?;
            Ok(Some(made(row, ours_facts(&run), failed, notes)))
        }
        Err(_) => {
            let Some(number) = number() else { return Ok(None) };
            let row = numbered(sight, number)?;
            let parts = &standings.parts[number];
            let failed = failed(sight, parts)?;
            let facts = vec![("Reports", parts.len().to_string())];
            let job = row.head.job.clone().map(|job| ("Job", job));
            Ok(Some(made(row, facts.into_iter().chain(job).collect(), failed, Vec::new())))
        }
    }
}

fn made(run: RunRow, facts: Vec<(&'static str, String)>, failed: Failed, notes: Vec<String>) -> RunPage {
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
        facts.insert(0, ("Listed", format!("{listed} tests, {deselected} left out by the command")));
    }
    facts
}

fn notes(sight: &Sight, run: RunId) -> Result<Vec<String>, Trouble> {
    let told = sight.store.other_observations(run)?.into_iter();
    Ok(told
        .filter_map(|told| match told {
            Observation::Note(text) => Some(text),
            Observation::Problem(problem) => Some(problem.text),
            _ => None,
        })
        .collect())
}

/// What sources came to.
struct Failed {
    tally: Tally,
    /// Not all where they are many.
    failures: Vec<RunFailure>,
    count: usize,
}

/// What these sources came to, and what failed in them: what never passed there first.
fn failed(sight: &Sight, parts: &[SourceId]) -> Result<Failed, Trouble> {
    let today = |key: TestKey| sight.overview.standings.today(key);
    let mut tally = Tally::default();
    let mut tests: HashMap<TestKey, (u32, u32)> = HashMap::new();
    let mut said = HashMap::new();
    for part in parts {
        sight.store.executions_in(*part, &mut |execution| {
            tally.add(execution.outcome, execution.seconds);
            let failed = execution.outcome.is_failure();
            if failed || execution.outcome.is_pass() {
                let counts = tests.entry(today(execution.test)).or_default();
                *counts = (counts.0 + u32::from(failed), counts.1 + u32::from(!failed));
            }
        })?;
        sight.store.failed_in(*part, &mut |test, failure| _ = said.insert(today(test), failure.message))?;
    }
    let name = |key: &TestKey| {
        // A test that began to exist after the overview was made has no page yet.
        let kin = sight.overview.standings.tests.get(key);
        kin.map_or_else(|| format!("test {}", key.0), |kin| kin.test.to_string())
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
        if let Some(message) = said.get(&TestKey(failure.key)) {
            failure.message = sight.store.text(*message)?;
        }
    }
    Ok(Failed { tally, failures, count })
}
