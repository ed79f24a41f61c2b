//! What all pages rest on: how every test stands, what the runs came to, and which failures look alike. Computed from the whole history at once.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use unflake_model::{Detail, Finding, Fingerprint, Location, Outcome};
use unflake_report::pages::{Overall, Start};
use unflake_store::{ChangeCounter, ReadyReport, Store, StoredFinding, StoredTest, TestKey};
use unflake_techniques::{TestHealth, TestStanding};

use super::causes::{CauseFacts, Failures, SeenFailure, causes, lost};
use crate::commands::score;
use crate::config::project;
use crate::error::Trouble;
use crate::owners::Owners;
use crate::test_scores::{self, Standings};

/// A test that is less likely to fail next time is not worth looking at.
const LEAST: f64 = 0.01;
/// A place that chance alone would bring about more often is a guess, and no cause that tests have in common.
const LIKELY: f64 = 0.05;
/// Findings that are looked at.
const SAID: usize = 10_000;

pub(crate) struct Overview {
    pub(crate) pulse: ChangeCounter,
    pub(crate) standings: Standings,
    /// Where in the standings a test is.
    pub(crate) at: HashMap<TestKey, usize>,
    /// All tests, by their place in the standings: what cost most first, then by name.
    pub(crate) order: Vec<usize>,
    /// By the number of the run.
    pub(crate) tallies: Vec<Tally>,
    /// What cost most time first.
    pub(crate) causes: Vec<CauseFacts>,
    /// Of each test that concerns somebody, what it failed with.
    pub(crate) failures: HashMap<TestKey, Vec<SeenFailure>>,
    /// What was found out about tests.
    pub(crate) found: HashMap<TestKey, Vec<StoredFinding>>,
    /// Findings that somebody called of no use.
    useless: HashSet<Fingerprint>,
    /// The last reports that were prepared, of whichever files.
    pub(crate) ready: HashMap<TestKey, ReadyReport>,
    pub(crate) owners: Owners,
}

/// What the executions of one run came to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
    pub(crate) seconds: f64,
}

impl Tally {
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
    pub(crate) fn of(store: &Store, here: &Path) -> Result<Self, Trouble> {
        let pulse = store.change_counter()?;
        let mut tallies: Vec<Tally> = Vec::new();
        let standings = test_scores::look_at(store, None, &mut |run, execution| {
            let run = run as usize;
            if run >= tallies.len() {
                tallies.resize(run + 1, Tally::default());
            }
            tallies[run].add(execution.outcome, execution.seconds);
        })?;
        tallies.resize(standings.runs.len(), Tally::default());
        let at: HashMap<TestKey, usize> = standings.all.iter().enumerate().map(|(at, (key, _))| (*key, at)).collect();
        let order = order(&standings);
        let keys: HashMap<&str, TestKey> = standings.tests.values().map(|kin| (kin.test.as_str(), kin.key)).collect();
        let mut found: HashMap<TestKey, Vec<StoredFinding>> = HashMap::new();
        for said in store.latest_findings(SAID)? {
            if let Some(key) = keys.get(said.finding.test.as_str()) {
                found.entry(standings.today(*key)).or_default().push(said);
            }
        }
        let ready = store.prepared(None)?.into_iter();
        let ready = ready.filter_map(|one| Some((standings.today(*keys.get(one.test.as_str())?), one))).collect();
        let useless = store.answers()?.into_iter().filter(|one| !one.useful).map(|one| one.finding).collect();
        let located = found.iter().filter_map(|(key, said)| {
            let (finding, first) = divergence(said, &useless)?;
            (first.chance < LIKELY).then(|| (*key, finding.cause().0))
        });
        let failures = Failures::new(located.collect()).look(store, &standings, &at)?;
        let causes = causes(&standings, &at, &failures);
        let owners = Owners::find(&project::find(here));
        Ok(Self { pulse, standings, at, order, tallies, causes, failures, found, useless, ready, owners })
    }

    pub(crate) fn standing(&self, key: TestKey) -> Option<&TestStanding> {
        self.at.get(&key).map(|at| &self.standings.all[*at].1)
    }

    pub(crate) fn overall(&self) -> Overall {
        let states = || self.standings.all.iter().map(|(_, standing)| standing).filter(|one| concerns(one));
        let broken = states().filter(|one| one.score.state == TestHealth::Broken).count();
        Overall {
            tests: self.standings.all.len(),
            runs: self.standings.runs.len(),
            flaky: states().count() - broken,
            broken,
            set_apart: self.standings.bad_days.len(),
            seconds_lost: states().map(lost).sum(),
            since: self.standings.runs.first().map(|run| run.started),
            going_on: None,
            behind: false,
        }
    }

    /// Where a test starts to fail, by the last that was found out.
    pub(crate) fn starts(&self, key: TestKey) -> Option<Start> {
        let (_, first) = divergence(self.found.get(&key)?, &self.useless)?;
        Some(start(first))
    }
}

pub(crate) fn concerns(standing: &TestStanding) -> bool {
    score::concerns(standing, LEAST)
}

pub(crate) fn start(location: &Location) -> Start {
    Start {
        file: location.line.file.to_string(),
        line: location.line.line,
        chance: location.chance,
        sentence: location.sentence.clone(),
    }
}

/// The newest finding that says where a test starts, and where that is; of those that nobody called of no use.
fn divergence<'a>(said: &'a [StoredFinding], useless: &HashSet<Fingerprint>) -> Option<(&'a Finding, &'a Location)> {
    said.iter().map(|said| &said.finding).filter(|finding| !useless.contains(&finding.id())).find_map(|finding| {
        match &finding.detail {
            Detail::Divergence(divergence) => Some((finding, divergence.locations.first()?)),
            _ => None,
        }
    })
}

fn order(standings: &Standings) -> Vec<usize> {
    let mut order: Vec<usize> = (0..standings.all.len()).collect();
    let name = |at: usize| standings.tests.get(&standings.all[at].0).map(|kin: &StoredTest| kin.test.as_str());
    order.sort_by(|one, other| {
        let rank = |at: usize| {
            let standing = &standings.all[at].1;
            let lost = if concerns(standing) { -standing.seconds_lost } else { 0.0 };
            (!concerns(standing), standing.strip.is_empty(), lost)
        };
        let by_rank = rank(*one).partial_cmp(&rank(*other)).unwrap_or(std::cmp::Ordering::Equal);
        by_rank.then_with(|| name(*one).cmp(&name(*other)))
    });
    order
}
