//! Applies the assertion filter during a run: assertions known to vary on unchanged code may fail.
//! Decides which of these failures still count, and reports those that do not.

use std::collections::{BTreeMap, HashMap, HashSet};

use unflake_model::{
    Assertion, AssertionOutcome, AssertionRecord, AssertionSite, Attempt, FilterKind, Finding, Isolation, Outcome,
    Purpose, Session, SessionId, Test, TestId,
};

use crate::assertion_filter::findings;
use crate::stats::binomial::{runs_to_exclude, wilson};
use crate::{AssertionPolicy, AssertionSource, Flakiness, LearnedAssertion};

/// An assertion that may fail, with the samples that justify it.
#[derive(Clone, Debug, PartialEq)]
pub struct FilterEntry {
    pub learned: LearnedAssertion,
    pub score: f64,
    /// Runs and failures without a change, on the version on which it varied most.
    pub runs: u32,
    pub failed: u32,
    /// Values with which it failed without a change.
    pub failing: Vec<String>,
    /// Why the entry has no effect: it has expired, or its score does not exceed the threshold.
    pub inert: Option<String>,
}

/// Which failures of filtered assertions are tolerated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FilterRule {
    /// Failures with known values, unless the assertion now fails significantly more often; and
    /// failures of assertions that hold when rerun.
    #[default]
    Strict,
    /// All of them (as published).
    Published,
}

/// Significance at which an assertion fails too often.
const SIGNIFICANT: f64 = 0.01;
/// Maximum number of attempts. An assertion that never held in them counts, although it may fail
/// that often without a change: nothing is tolerated that has not been seen to hold in this run.
const MOST_ATTEMPTS: u32 = 20;
/// Attempts per round.
const AT_ONCE: u32 = 4;
/// Session ids of the technique are smaller.
const OWN_SESSIONS: u32 = 1 << 30;

/// Evaluations of a filtered assertion in this run.
#[derive(Default)]
struct AssertionTally {
    held: u32,
    failed: u32,
    /// Failures in processes of their own.
    in_new_process: u32,
    /// Whether it failed in forks, which share whatever was drawn when their process started, such
    /// as its hash seed. All of them count as one sample.
    in_forks: bool,
    /// It fails every time, significantly more often than without a change.
    too_often: bool,
}

impl AssertionTally {
    fn independent_failures(&self) -> u32 {
        self.in_new_process + u32::from(self.in_forks)
    }
}

pub struct AssertionFilter {
    rule: FilterRule,
    entries: Vec<FilterEntry>,
    /// Score and runs of every sampled assertion; of those of the current code, once that is known.
    known: HashMap<Assertion, (f64, u32)>,
    bodies: HashMap<Assertion, String>,
    /// The assertions of the current code with the indexes of their entries.
    matched: HashMap<Assertion, Vec<usize>>,
    /// Indexes of entries that match no assertion, and the reason.
    unmatched: Vec<(usize, String)>,
    /// First tolerated failure of each assertion, and whether its values were new.
    tolerated: BTreeMap<Assertion, (AssertionRecord, bool)>,
    tallies: BTreeMap<Assertion, AssertionTally>,
    /// Number of requested sessions of the filter itself, and of rounds of them.
    requested: u32,
    rounds: u32,
    /// First failure of each assertion that counts.
    failed: BTreeMap<Assertion, AssertionRecord>,
}

impl AssertionFilter {
    pub fn new(entries: Vec<FilterEntry>, known: &[Flakiness], rule: FilterRule) -> Self {
        Self {
            rule,
            entries,
            known: known.iter().map(|one| (one.assertion.clone(), (one.score(), one.worst().runs()))).collect(),
            bodies: known.iter().map(|one| (one.assertion.clone(), one.body.clone())).collect(),
            matched: HashMap::new(),
            unmatched: Vec::new(),
            tolerated: BTreeMap::new(),
            tallies: BTreeMap::new(),
            requested: 0,
            rounds: 0,
            failed: BTreeMap::new(),
        }
    }

    /// Entries without an effect on this run, each with the reason.
    pub fn notes(&self) -> Vec<String> {
        let unmatched = self.unmatched.iter().map(|(at, reason)| (&self.entries[*at], reason));
        let inert = self.entries.iter().filter_map(|entry| Some((entry, entry.inert.as_ref()?)));
        let note = |(entry, reason): (&FilterEntry, &String)| {
            let Assertion { test, spot } = &entry.learned.assertion;
            format!("the filter does nothing for `{}` in {test}: {reason}", spot.expression)
        };
        inert.chain(unmatched).map(note).collect()
    }

    fn entries_of(&self, assertion: &Assertion) -> impl Iterator<Item = &FilterEntry> {
        self.matched.get(assertion).into_iter().flatten().map(|at| &self.entries[*at])
    }

    /// Whether an assertion failed with values that are known from unchanged code.
    fn has_known_values(&self, assertion: &Assertion, record: &AssertionRecord) -> bool {
        let known: HashSet<&String> = self.entries_of(assertion).flat_map(|entry| &entry.failing).collect();
        self.rule == FilterRule::Published || record.failing.iter().all(|values| known.contains(values))
    }

    /// Counts a failure, and returns whether the assertion now fails too often.
    fn fails_too_often(&mut self, assertion: &Assertion, attempt: &Attempt) -> bool {
        let limit = self.failure_limit(assertion);
        let tally = self.tallies.entry(assertion.clone()).or_default();
        tally.failed += 1;
        let forked = attempt.origin == Isolation::Fork || !owns(attempt.session);
        tally.in_new_process += u32::from(!forked);
        tally.in_forks |= forked;
        tally.too_often = tally.held == 0 && limit.is_some_and(|limit| tally.independent_failures() >= limit);
        tally.too_often
    }

    /// Number of failures without a pass after which an assertion fails too often. `None`: no
    /// limit.
    fn failure_limit(&self, assertion: &Assertion) -> Option<u32> {
        if self.rule == FilterRule::Published {
            return None;
        }
        // The highest failure rate that is compatible with the samples of unchanged code.
        let rate = self.entries_of(assertion).map(|entry| wilson(entry.failed, entry.runs).1).fold(0.0, f64::max);
        Some(runs_to_exclude(rate, SIGNIFICANT).clamp(2.0, f64::from(MOST_ATTEMPTS)) as u32)
    }

    /// The entry with the highest score.
    fn entry_of(&self, assertion: &Assertion) -> Option<&FilterEntry> {
        self.entries_of(assertion).max_by(|one, other| one.score.total_cmp(&other.score))
    }

    fn finding(
        &self,
        kind: FilterKind,
        assertion: Assertion,
        record: &AssertionRecord,
        reason: Option<&str>,
    ) -> Finding {
        let entry = self.entry_of(&assertion).map(|entry| (entry.score, entry.runs));
        let known = entry.or_else(|| self.known.get(&assertion).copied());
        findings::finding(kind, assertion, record, known, reason)
    }

    /// Classifies a failure that counts.
    fn classify(&self, assertion: &Assertion) -> (FilterKind, Option<String>) {
        if let Some(entry) = self.entries_of(assertion).next() {
            return (FilterKind::NotInForce, entry.inert.clone());
        }
        match self.known.get(assertion) {
            Some((score, _)) if *score > 0.0 => (FilterKind::NotInForce, Some("it is not in the filter".to_owned())),
            Some(_) => (FilterKind::NeverVaried, None),
            None => (FilterKind::Unknown, None),
        }
    }
}

fn real(findings: &[Finding]) -> HashSet<TestId> {
    findings.iter().filter(|one| one.is_real()).map(|one| one.test.clone()).collect()
}

fn owns(session: SessionId) -> bool {
    session.0 >= OWN_SESSIONS
}

impl AssertionPolicy for AssertionFilter {
    fn start(
        &mut self,
        tests: &[Test],
        sites: &[AssertionSite],
        source_hashes: &HashMap<String, String>,
    ) -> Vec<Assertion> {
        let code = AssertionSource::new(tests, sites, source_hashes);
        for (at, entry) in self.entries.iter().enumerate() {
            match code.find(&entry.learned) {
                Ok(assertion) => self.matched.entry(assertion).or_default().push(at),
                Err(reason) if entry.inert.is_none() => self.unmatched.push((at, reason)),
                Err(_) => {}
            }
        }
        // Samples of an assertion that has moved only inform findings; they tolerate nothing.
        for (assertion, body) in std::mem::take(&mut self.bodies) {
            let old = LearnedAssertion { assertion, body, same: 1, source: None, alike: false };
            let now = code.find(&old).ok().filter(|now| !self.known.contains_key(now));
            if let (Some(now), Some(known)) = (now, self.known.get(&old.assertion).copied()) {
                self.known.insert(now, known);
            }
        }
        let in_force = |at: &usize| self.entries[*at].inert.is_none();
        let may_fail = self.matched.iter().filter(|(_, entries)| entries.iter().any(in_force));
        let mut may_fail: Vec<Assertion> = may_fail.map(|(assertion, _)| assertion.clone()).collect();
        may_fail.sort();
        may_fail
    }

    fn judge(&mut self, attempt: &Attempt, records: Option<Vec<AssertionRecord>>) -> Attempt {
        let mut judged = attempt.clone();
        for record in records.into_iter().flatten().filter(|_| attempt.purpose != Purpose::Base) {
            let assertion = Assertion { test: attempt.test.clone(), spot: record.spot.clone() };
            match record.how {
                AssertionOutcome::Filtered => {
                    let has_new_values = !self.has_known_values(&assertion, &record);
                    let counts = match () {
                        () if self.fails_too_often(&assertion, attempt) => {
                            Some("It is in the filter, but fails every time now.")
                        }
                        () if has_new_values => Some("It is in the filter, but never failed with these values before."),
                        () => None,
                    };
                    if let Some(reason) = counts.filter(|_| judged.outcome.is_pass()) {
                        (judged.outcome, judged.failure) = (Outcome::Failed, Some(findings::failure(&record, reason)));
                    }
                    self.tolerated.entry(assertion).or_insert((record, has_new_values));
                }
                AssertionOutcome::Failed => drop(self.failed.entry(assertion).or_insert(record)),
                AssertionOutcome::Held if self.matched.contains_key(&assertion) => {
                    self.tallies.entry(assertion).or_default().held += 1
                }
                AssertionOutcome::Held | AssertionOutcome::Raised => {}
            }
        }
        judged
    }

    /// Reruns, alone, every test with a tolerated failure of an assertion that has not held yet:
    /// first in forks, which are cheap, then in new processes.
    fn next_sessions(&mut self, findings: &[Finding]) -> Vec<Session> {
        // A test that alone does not reach its assertion is not repeated forever.
        if self.rounds * AT_ONCE > MOST_ATTEMPTS {
            return Vec::new();
        }
        let origin = if self.rounds == 0 { Isolation::Fork } else { Isolation::Process };
        self.rounds += 1;
        let real = real(findings);
        let mut times: BTreeMap<&TestId, u32> = BTreeMap::new();
        for assertion in self.tolerated.keys().filter(|assertion| !real.contains(&assertion.test)) {
            let tally = self.tallies.get(assertion).filter(|tally| tally.held == 0);
            let missing = tally
                .and_then(|tally| self.failure_limit(assertion)?.checked_sub(tally.independent_failures()))
                .unwrap_or(0);
            let so_far = times.entry(&assertion.test).or_default();
            *so_far = missing.min(AT_ONCE).max(*so_far);
        }
        let tests = times.into_iter().flat_map(|(test, times)| (0..times).map(move |_| test.clone()));
        let session = |(id, test)| Session::fresh(SessionId(id), Purpose::Fresh, origin, vec![test]);
        let sessions: Vec<Session> = (OWN_SESSIONS + self.requested..).zip(tests).map(session).collect();
        self.requested += sessions.len() as u32;
        sessions
    }

    fn owns(&self, session: SessionId) -> bool {
        owns(session)
    }

    fn findings(&self, of_technique: Vec<Finding>) -> Vec<Finding> {
        let mut findings = of_technique;
        let real = real(&findings);
        let mut judged = real.clone();
        for (assertion, (record, has_new_values)) in &self.tolerated {
            let tally = self.tallies.get(assertion).filter(|tally| tally.too_often && tally.held == 0);
            let kind = match tally {
                _ if *has_new_values && real.contains(&assertion.test) => FilterKind::NeverLikeThis,
                Some(_) => FilterKind::EveryTime,
                None => FilterKind::Flaky,
            };
            if let Some(tally) = tally.filter(|_| judged.insert(assertion.test.clone())) {
                findings.retain(|finding| finding.test != assertion.test || finding.verdict().is_none());
                let before = self.entry_of(assertion).map(|entry| (entry.failed, entry.runs));
                findings.push(findings::verdict(&assertion.test, tally.failed, before));
            }
            findings.push(self.finding(kind, assertion.clone(), record, None));
        }
        for (assertion, record) in self.failed.iter().filter(|(assertion, _)| real.contains(&assertion.test)) {
            let (kind, reason) = self.classify(assertion);
            findings.push(self.finding(kind, assertion.clone(), record, reason.as_deref()));
        }
        findings
    }
}

#[cfg(test)]
mod tests;
