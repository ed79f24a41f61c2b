//! The data behind all pages: scores of tests, totals of runs, and causes. Computed from the whole
//! history at once.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::OnceLock;
use std::thread;

use unflake_model::{Confidence, Finding, Fingerprint, Outcome};
use unflake_report::pages::HistoryTotals;
use unflake_report::{diagnosis_rank, is_diagnosis};
use unflake_store::{ChangeCounter, ReadyReport, Store, StoredFinding, StoredTest, TestKey};
use unflake_techniques::{TestHealth, TestStanding};

use super::causes::{CauseFacts, Failures, SeenFailure, causes, lost};
use crate::commands::history::score;
use crate::config::project;
use crate::error::CommandError;
use crate::history::scores::{self, TestScores};
use crate::history::test_table::{KeyIndex, TestTable};
use crate::project::code_owners::CodeOwners;

/// Tests below this probability of failing next need no attention.
const LEAST: f64 = 0.01;
/// The number of latest findings that are read.
const FINDINGS: usize = 10_000;

pub(crate) struct Overview {
    pub(crate) pulse: ChangeCounter,
    pub(crate) scores: TestScores,
    /// The index of a test in the scores.
    pub(crate) at: KeyIndex,
    /// See [`Overview::order`].
    order: OnceLock<Vec<usize>>,
    /// By the number of the run.
    pub(crate) tallies: Vec<RunTally>,
    /// Those that cost most time first.
    pub(crate) causes: Vec<CauseFacts>,
    /// The failures of each test that needs attention.
    pub(crate) failures: HashMap<TestKey, Vec<SeenFailure>>,
    /// The findings on each test.
    pub(crate) findings: HashMap<TestKey, Vec<StoredFinding>>,
    /// Findings that were marked as not useful.
    useless: HashSet<Fingerprint>,
    /// The latest prepared reports, whatever files they are about.
    pub(crate) ready: HashMap<TestKey, ReadyReport>,
    pub(crate) owners: CodeOwners,
}

/// Counts of the executions of one run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RunTally {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
    pub(crate) seconds: f64,
}

impl RunTally {
    pub(crate) fn executions(&self) -> u64 {
        self.passed + self.failed + self.skipped
    }

    pub(crate) fn add(&mut self, outcome: Outcome, seconds: f32) {
        self.seconds += f64::from(seconds);
        match outcome {
            outcome if outcome.is_failure() => self.failed += 1,
            outcome if outcome.is_pass() => self.passed += 1,
            _ => self.skipped += 1,
        }
    }
}

impl Overview {
    pub(crate) fn of(store: &Store, here: &Path) -> Result<Self, CommandError> {
        Self::with_names(store, || Ok(TestTable::new(store.tests()?)), here)
    }

    /// The same, where `other` reads the names of the tests meanwhile.
    pub(crate) fn of_two(store: &Store, other: &mut Store, here: &Path) -> Result<Self, CommandError> {
        thread::scope(|scope| {
            let names = scope.spawn(move || -> Result<TestTable, CommandError> { Ok(TestTable::new(other.tests()?)) });
            Self::with_names(store, || names.join().expect("reading does not panic"), here)
        })
    }

    fn with_names(
        store: &Store,
        names: impl FnOnce() -> Result<TestTable, CommandError>,
        here: &Path,
    ) -> Result<Self, CommandError> {
        let pulse = store.change_counter()?;
        let mut tallies: Vec<RunTally> = Vec::new();
        let scores = scores::compute_with(store, None, names, &mut |run, execution| {
            let run = run as usize;
            if run >= tallies.len() {
                tallies.resize(run + 1, RunTally::default());
            }
            tallies[run].add(execution.outcome, execution.seconds);
        })?;
        tallies.resize(scores.runs.len(), RunTally::default());
        let at = KeyIndex::new(scores.all.iter().map(|(key, _)| *key));
        let (latest, prepared) = (store.latest_findings(FINDINGS)?, store.prepared(None)?);
        let names = latest.iter().map(|stored| stored.finding.test.as_str());
        let keys = keys_of(&scores, names.chain(prepared.iter().map(|one| one.test.as_str())).collect());
        let mut findings: HashMap<TestKey, Vec<StoredFinding>> = HashMap::new();
        for stored in latest {
            if let Some(key) = keys.get(stored.finding.test.as_str()) {
                findings.entry(scores.today(*key)).or_default().push(stored);
            }
        }
        let ready =
            prepared.into_iter().filter_map(|one| Some((scores.today(*keys.get(one.test.as_str())?), one))).collect();
        let useless = store.feedback()?.into_iter().filter(|one| !one.useful).map(|one| one.finding).collect();
        let diagnosed = findings.iter().filter_map(|(key, stored)| {
            let finding =
                useful(stored, &useless).filter(|finding| is_cause(finding)).min_by_key(|one| diagnosis_rank(one))?;
            Some((*key, finding.cause().0))
        });
        let failures = Failures::new(diagnosed.collect()).read(store, &scores, &at)?;
        let causes = causes(&scores, &at, &failures);
        let owners = CodeOwners::find(&project::find(here));
        let order = OnceLock::new();
        Ok(Self { pulse, scores, at, order, tallies, causes, failures, findings, useless, ready, owners })
    }

    pub(crate) fn standing(&self, key: TestKey) -> Option<&TestStanding> {
        self.at.get(key).map(|at| &self.scores.all[at].1)
    }

    /// All tests, by their index in the scores: those that cost most time first, then by name.
    /// Computed when it is needed first, which the inbox never does.
    pub(crate) fn order(&self) -> &[usize] {
        self.order.get_or_init(|| order(&self.scores))
    }

    pub(crate) fn overall(&self) -> HistoryTotals {
        let states = || self.scores.all.iter().map(|(_, standing)| standing).filter(|one| concerns(one));
        let broken = states().filter(|one| one.score.state == TestHealth::Broken).count();
        HistoryTotals {
            tests: self.scores.all.len(),
            runs: self.scores.runs.len(),
            flaky: states().count() - broken,
            broken,
            excluded_runs: self.scores.bad_days.len(),
            seconds_lost: states().map(lost).sum(),
            since: self.scores.runs.first().map(|run| run.started),
            going_on: None,
            behind: false,
        }
    }

    /// The findings on a test that were not marked as not useful, the newest first.
    pub(crate) fn useful_findings(&self, key: TestKey) -> impl Iterator<Item = &Finding> {
        useful(self.findings.get(&key).map_or(&[][..], Vec::as_slice), &self.useless)
    }
}

pub(crate) fn concerns(standing: &TestStanding) -> bool {
    score::concerns(standing, LEAST)
}

fn useful<'a>(stored: &'a [StoredFinding], useless: &'a HashSet<Fingerprint>) -> impl Iterator<Item = &'a Finding> {
    stored.iter().map(|stored| &stored.finding).filter(|finding| !useless.contains(&finding.id()))
}

/// Whether a diagnosis is certain enough to group failures by.
fn is_cause(finding: &Finding) -> bool {
    is_diagnosis(finding) && matches!(finding.confidence(), Some(Confidence::Proven | Confidence::Likely))
}

/// The keys of the tests with these names. A history may have a million tests and few findings.
fn keys_of<'a>(scores: &'a TestScores, names: HashSet<&str>) -> HashMap<&'a str, TestKey> {
    if names.is_empty() {
        return HashMap::new();
    }
    let stored = scores.tests.values().filter(|stored| names.contains(stored.test.as_str()));
    stored.map(|stored| (stored.test.as_str(), stored.key)).collect()
}

fn order(scores: &TestScores) -> Vec<usize> {
    let mut ranked: Vec<_> = (scores.all.iter().enumerate())
        .map(|(at, (key, standing))| {
            let is_healthy = !concerns(standing);
            let lost = if is_healthy { 0.0 } else { -standing.seconds_lost };
            let name = scores.tests.get(key).map(|stored: &StoredTest| stored.test.as_str());
            ((is_healthy, standing.strip.is_empty()), lost, name, at)
        })
        .collect();
    ranked.sort_unstable_by(|(rank, lost, name, _), (other_rank, other_lost, other_name, _)| {
        rank.cmp(other_rank).then(lost.total_cmp(other_lost)).then_with(|| name.cmp(other_name))
    });
    ranked.into_iter().map(|(.., at)| at).collect()
}
