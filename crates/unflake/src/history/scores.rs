//! Computes the score of every test from the history.

use std::collections::{HashMap, HashSet};

use unflake_model::{Detail, FilterKind, Finding, VerdictKind};
use unflake_report::RecentOutcome;
use unflake_store::{Execution, Source, SourceId, Store, StoreLocation, TestKey};
use unflake_techniques::{ScoredRun, TestStanding, Timeline, TimelineSource};

use crate::error::CommandError;
use crate::history::recorder::fallback;
use crate::history::test_table::TestTable;

/// Branches on which a failure is not work in progress.
const MAIN: [&str; 5] = ["main", "master", "trunk", "develop", "default"];

/// Opens the history of a project. Fails where there is none.
pub(crate) fn open(location: &StoreLocation) -> Result<Store, CommandError> {
    let mut found = Store::find(location)?;
    if found.is_none() && !location.is_server() {
        found = fallback(&location.dir).map_or(Ok(None), Store::find)?;
    }
    found.ok_or_else(|| {
        let example = unflake_runners::examples().next().unwrap_or_default();
        let runner = example.split(' ').next().unwrap_or_default();
        CommandError::usage(format!("there is no history in {location}")).hint(format!(
            "`unflake run -- {runner}` begins one, `unflake history import REPORT…` takes in the results of your CI"
        ))
    })
}

/// Every known run, and the score of every test after them.
pub(crate) struct TestScores {
    pub(crate) tests: TestTable,
    /// Renamed tests: from an old key to the current one.
    today: HashMap<TestKey, TestKey>,
    /// Renamed tests: from the current key to the old ones.
    pub(crate) formerly: HashMap<TestKey, Vec<TestKey>>,
    /// The first source of each run, the oldest run first. The index is the run's number in the
    /// timeline.
    pub(crate) runs: Vec<Source>,
    /// All sources of each run.
    pub(crate) parts: Vec<Vec<SourceId>>,
    pub(crate) bad_days: HashSet<u32>,
    pub(crate) all: Vec<(TestKey, TestStanding)>,
}

impl TestScores {
    /// The current key of a test.
    pub(crate) fn today(&self, key: TestKey) -> TestKey {
        self.today.get(&key).copied().unwrap_or(key)
    }

    /// All keys of a test, the current one first.
    pub(crate) fn names(&self, key: TestKey) -> impl Iterator<Item = TestKey> {
        [key].into_iter().chain(self.formerly.get(&key).into_iter().flatten().copied())
    }

    /// The earlier names of a test, the oldest first.
    pub(crate) fn formerly(&self, key: TestKey) -> Vec<String> {
        let keys = self.formerly.get(&key).into_iter().flatten();
        keys.filter_map(|key| self.tests.get(key)).map(|stored| stored.test.to_string()).collect()
    }
}

/// `main`: the branch on which failures count, instead of [`MAIN`].
pub(crate) fn compute(store: &Store, main: Option<&str>) -> Result<TestScores, CommandError> {
    let tests = TestTable::new(store.tests()?);
    compute_with(store, main, || Ok(tests), &mut |_, _| {})
}

/// The same, and calls `each` with the run number of every execution, and the execution. Asks for
/// the names of the tests at last.
pub(crate) fn compute_with(
    store: &Store,
    main: Option<&str>,
    names: impl FnOnce() -> Result<TestTable, CommandError>,
    each: &mut dyn FnMut(u32, &Execution),
) -> Result<TestScores, CommandError> {
    let today = store.current_names()?;
    let mut timeline = Timeline::default();
    let mut numbers = SourceNumbers::default();
    for source in store.sources()? {
        let numbered = numbers.of(&source, main);
        timeline.begin(numbered);
        // Keys are dense: they count from 1 to the number of tests.
        store.executions_in(source.id, &mut |mut one| {
            one.test = today.get(&one.test).copied().unwrap_or(one.test);
            each(numbered.run, &one);
            if let Ok(test) = usize::try_from(one.test.0) {
                timeline.add(test, one.again > 0, one.outcome, one.seconds);
            }
        })?;
        for (test, verdict) in judged(store, source.id)? {
            let test = today.get(&test).copied().unwrap_or(test);
            timeline.judge(test.0 as usize, verdict);
        }
    }
    let bad_days = timeline.excluded_runs();
    let all: Vec<(TestKey, TestStanding)> =
        timeline.standings(&bad_days).into_iter().map(|standing| (TestKey(standing.test as i64), standing)).collect();
    let mut formerly: HashMap<TestKey, Vec<TestKey>> = HashMap::new();
    today.iter().for_each(|(old, new)| formerly.entry(*new).or_default().push(*old));
    formerly.values_mut().for_each(|old| old.sort());
    Ok(TestScores { tests: names()?, today, formerly, runs: numbers.runs, parts: numbers.parts, bad_days, all })
}

/// The verdicts of a run of unflake on each failing test. One that passed only because the filter
/// excused an assertion was flaky, too.
fn judged(store: &Store, source: SourceId) -> Result<Vec<(TestKey, ScoredRun)>, CommandError> {
    let SourceId::Run(run) = source else { return Ok(Vec::new()) };
    let scored = |finding: &Finding| match &finding.detail {
        Detail::Verdict(verdict) if verdict.kind.is_flaky() => Some(ScoredRun::Flaked),
        Detail::Verdict(verdict) if verdict.kind == VerdictKind::Real => Some(ScoredRun::Real),
        Detail::Verdict(_) => Some(ScoredRun::Failed),
        Detail::Filter(one) => (one.kind == FilterKind::Flaky).then_some(ScoredRun::Flaked),
        _ => None,
    };
    let stored = store.findings_in(run)?.into_iter().filter(|(test, _)| test.0 > 0);
    Ok(stored.filter_map(|(test, finding)| Some((test, scored(&finding)?))).collect())
}

/// Assigns numbers to runs, commits and jobs.
#[derive(Default)]
struct SourceNumbers {
    runs: Vec<Source>,
    parts: Vec<Vec<SourceId>>,
    known_runs: HashMap<(String, u32), u32>,
    codes: HashMap<String, u32>,
    jobs: HashMap<String, u32>,
}

impl SourceNumbers {
    fn of(&mut self, source: &Source, main: Option<&str>) -> TimelineSource {
        let new = self.runs.len() as u32;
        let run = match &source.ci_run {
            Some(run) => *self.known_runs.entry((run.clone(), source.ci_attempt.unwrap_or(1))).or_insert(new),
            None => new,
        };
        if run == new {
            self.runs.push(source.clone());
            self.parts.push(Vec::new());
        }
        self.parts[run as usize].push(source.id);
        let code = source.commit.clone().filter(|_| !source.dirty).map(|commit| numbered(&mut self.codes, commit));
        let is_main = |branch: &str| main.map_or(MAIN.contains(&branch), |main| main == branch);
        let ours = if matches!(source.id, SourceId::Run(_)) { "here" } else { "" };
        TimelineSource {
            run,
            code,
            job: numbered(&mut self.jobs, source.job.clone().unwrap_or(ours.to_owned())),
            in_progress: source.dirty || source.branch.as_deref().is_some_and(|branch| !is_main(branch)),
        }
    }
}

fn numbered(numbers: &mut HashMap<String, u32>, name: String) -> u32 {
    let next = numbers.len() as u32;
    *numbers.entry(name).or_insert(next)
}

/// The latest runs of a test, for drawing.
pub(crate) fn strip(standing: &TestStanding, last: usize) -> Vec<RecentOutcome> {
    let from = standing.strip.len().saturating_sub(last);
    standing.strip[from..]
        .iter()
        .map(|(_, scored)| match scored {
            ScoredRun::Passed => RecentOutcome::Passed,
            ScoredRun::Flaked => RecentOutcome::Flaked,
            ScoredRun::Failed | ScoredRun::Real => RecentOutcome::Failed,
        })
        .collect()
}

#[cfg(test)]
mod tests;
