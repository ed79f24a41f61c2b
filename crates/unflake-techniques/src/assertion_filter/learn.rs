//! Learns how assertions vary on unchanged code: samples their values while the tests are repeated.

use std::collections::{BTreeMap, HashMap};

use unflake_model::{
    Assertion, AssertionOutcome, AssertionRecord, AssertionSample, AssertionSite, Attempt, Event, Finding, Isolation,
    Placement, Purpose, Session, SessionId, Test, ValueGroup,
};

use crate::assertion_filter::flakiness::{add, is_inconsistent};
use crate::search::select::{Selection, select_listed};
use crate::{AssertionPolicy, AssertionSource, LearnedAssertion, Recordings, Technique};

/// What to run, and how.
pub struct RepeatedRunsConfig {
    /// Names of tests, or parts of them. Empty: all.
    pub tests: Vec<String>,
    pub runs: u32,
    /// Isolation of the runs after the first.
    pub fresh_by: Isolation,
    /// Number of parallel runs. They may disturb each other.
    pub at_once: usize,
}

/// Runs the same tests several times: first in the user's own process, then in fresh environments.
pub struct RepeatedRuns {
    config: RepeatedRunsConfig,
    selection: Selection,
    requested: u32,
}

impl RepeatedRuns {
    pub fn new(config: RepeatedRunsConfig) -> Self {
        Self { config, selection: Selection::default(), requested: 0 }
    }

    /// Requested names without a matching test.
    pub fn unmatched_names(&self) -> &[String] {
        &self.selection.unmatched
    }
}

impl Technique for RepeatedRuns {
    fn observe(&mut self, event: &Event, _: Recordings<'_>) {
        if let Event::TestsListed { tests, .. } = event {
            let only = Some(&self.config.tests[..]).filter(|names| !names.is_empty());
            self.selection = select_listed(tests, only);
        }
    }

    fn next_sessions(&mut self, _: Recordings<'_>) -> Vec<Session> {
        if self.selection.tests.is_empty() {
            return Vec::new();
        }
        let at_once = if self.requested == 0 { 1 } else { self.config.at_once.max(1) as u32 };
        let end = self.config.runs.min(self.requested + at_once);
        let session = |id: u32| {
            let (purpose, place) = match id {
                0 => (Purpose::Suite, Placement::Live),
                _ => (Purpose::Look, Placement::Fresh(self.config.fresh_by)),
            };
            let tests = self.selection.tests.clone();
            Session { place, ..Session::fresh(SessionId(id), purpose, self.config.fresh_by, tests) }
        };
        let sessions = (self.requested..end).map(session).collect();
        self.requested = end;
        sessions
    }

    fn findings(&self, _: Recordings<'_>) -> Vec<Finding> {
        Vec::new()
    }
}

/// Samples the assertions of every attempt. Assertions that have both passed and failed may fail from
/// then on, as they will with a filter, so that later assertions are sampled equally often.
#[derive(Default)]
pub struct AssertionLearning {
    sites: Vec<AssertionSite>,
    source_hashes: HashMap<String, String>,
    samples: BTreeMap<Assertion, Vec<ValueGroup>>,
    /// Number of assertions that may fail by now.
    may_fail: usize,
    pub attempts: u32,
    /// Number of attempts with records of their assertions.
    pub recorded: u32,
}

impl AssertionLearning {
    /// The samples, without a version: the store adds it.
    pub fn samples(&self) -> Vec<AssertionSample> {
        let body: HashMap<_, _> = self.sites.iter().map(|site| (&site.spot, &site.body)).collect();
        let sample = |(assertion, groups): (&Assertion, &Vec<ValueGroup>)| AssertionSample {
            body: body.get(&assertion.spot).map(|body| (*body).clone()).unwrap_or_default(),
            assertion: assertion.clone(),
            version: String::new(),
            groups: groups.clone(),
        };
        self.samples.iter().map(sample).collect()
    }

    /// Updates a learned assertion to the current code. `None`: the match is uncertain.
    pub fn relearned(&self, tests: &[Test], old: &LearnedAssertion) -> Option<LearnedAssertion> {
        let code = AssertionSource::new(tests, &self.sites, &self.source_hashes);
        code.find(old).ok().map(|now| code.learned(&now))
    }

    /// Describes assertions so that they can be found in later versions of the code.
    pub fn learned(&self, tests: &[Test], assertions: impl IntoIterator<Item = Assertion>) -> Vec<LearnedAssertion> {
        let code = AssertionSource::new(tests, &self.sites, &self.source_hashes);
        assertions.into_iter().map(|assertion| code.learned(&assertion)).collect()
    }
}

impl AssertionPolicy for AssertionLearning {
    fn start(
        &mut self,
        _: &[Test],
        sites: &[AssertionSite],
        source_hashes: &HashMap<String, String>,
    ) -> Vec<Assertion> {
        (self.sites, self.source_hashes) = (sites.to_vec(), source_hashes.clone());
        Vec::new()
    }

    fn changed_assertions(&mut self) -> Option<Vec<Assertion>> {
        let varying = self.samples.iter().filter(|(_, groups)| is_inconsistent(groups));
        let varying: Vec<Assertion> = varying.map(|(assertion, _)| assertion.clone()).collect();
        let changed = varying.len() != self.may_fail;
        self.may_fail = varying.len();
        (changed && !self.sites.is_empty()).then_some(varying)
    }

    fn judge(&mut self, attempt: &Attempt, records: Option<Vec<AssertionRecord>>) -> Attempt {
        self.attempts += 1;
        self.recorded += u32::from(records.is_some());
        for record in records.into_iter().flatten() {
            let how = match record.how {
                AssertionOutcome::Filtered => AssertionOutcome::Failed,
                // An error inside the expression is no value of the assertion.
                AssertionOutcome::Raised => continue,
                how => how,
            };
            let assertion = Assertion { test: attempt.test.clone(), spot: record.spot };
            let group = ValueGroup { how, values: record.values, failing: record.failing, times: 1 };
            add(self.samples.entry(assertion).or_default(), group);
        }
        attempt.clone()
    }
}

#[cfg(test)]
mod tests;
