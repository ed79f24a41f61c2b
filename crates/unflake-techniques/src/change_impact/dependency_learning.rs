//! Runs every test to learn what each depends on.
//!
//! Tests that probably have the same dependencies share a fork: those of a file, or by function
//! those of one line (the parameters of one test). Where an earlier test may have hidden a
//! dependency, the agent reports it as unknown; such a test runs again in a fork of its own. Where
//! every session has processes of its own anyway, the runner reports what its tests share.

use std::collections::{BTreeSet, HashMap};

use unflake_model::{Event, Finding, Granularity, Isolation, Placement, Purpose, Session, SessionId, Test, TestId};

use crate::{Recordings, Technique};

pub struct DependencyLearning {
    granularity: Granularity,
    suite: Vec<Test>,
    isolated: bool,
    round: Round,
    sessions: u32,
    /// Tests whose dependencies are not completely known yet.
    pending: BTreeSet<TestId>,
    /// By test whose attempt has not ended: whether all its dependencies are known.
    is_complete: HashMap<TestId, bool>,
}

enum Round {
    Shared,
    Alone,
    Done,
}

impl DependencyLearning {
    pub fn new(granularity: Granularity) -> Self {
        Self {
            granularity,
            suite: Vec::new(),
            isolated: false,
            round: Round::Shared,
            sessions: 0,
            pending: BTreeSet::new(),
            is_complete: HashMap::new(),
        }
    }

    /// The suite in groups that share a fork, in the order of their first tests.
    fn groups(&self) -> Vec<Vec<TestId>> {
        let mut groups: Vec<Vec<TestId>> = Vec::new();
        let mut known = HashMap::new();
        for test in &self.suite {
            let line = test.line.filter(|_| self.granularity == Granularity::Function);
            let shares = test.file.is_some() && (line.is_some() || self.granularity == Granularity::File);
            let group = match shares {
                true => *known.entry((&test.file, line)).or_insert(groups.len()),
                false => groups.len(),
            };
            if group == groups.len() {
                groups.push(Vec::new());
            }
            groups[group].push(test.id.clone());
        }
        groups
    }

    fn sessions(&mut self, groups: impl IntoIterator<Item = Vec<TestId>>) -> Vec<Session> {
        let depends = Some(self.granularity);
        let mut session = |tests| {
            let number = self.sessions;
            self.sessions += 1;
            Session { depends, ..Session::fresh(SessionId(number), Purpose::Suite, Isolation::Fork, tests) }
        };
        groups.into_iter().map(&mut session).collect()
    }
}

impl Technique for DependencyLearning {
    fn observe(&mut self, event: &Event, _: Recordings<'_>) {
        match event {
            Event::TestsListed { tests, isolated, .. } => {
                self.isolated = *isolated;
                self.suite = tests.clone();
            }
            Event::DependenciesRecorded { test, on, .. } => {
                self.is_complete.insert(test.clone(), on.unknown.is_empty());
            }
            // A test that fails may have been made to fail by those before it.
            Event::AttemptEnded(attempt) => {
                let is_complete = self.is_complete.remove(&attempt.test).unwrap_or(false);
                if is_complete && (!attempt.outcome.is_failure() || attempt.position == 0) {
                    self.pending.remove(&attempt.test);
                }
            }
            _ => {}
        }
    }

    fn next_sessions(&mut self, _: Recordings<'_>) -> Vec<Session> {
        match self.round {
            Round::Shared if self.isolated => {
                self.round = Round::Done;
                let suite = self.suite.iter().map(|test| test.id.clone()).collect();
                let session = Session::fresh(SessionId(0), Purpose::Suite, Isolation::Process, suite);
                vec![Session { place: Placement::Live, depends: Some(self.granularity), ..session }]
            }
            Round::Shared => {
                self.round = Round::Alone;
                let groups = self.groups();
                self.pending = groups.iter().filter(|group| group.len() > 1).flatten().cloned().collect();
                self.sessions(groups)
            }
            Round::Alone => {
                self.round = Round::Done;
                let pending = std::mem::take(&mut self.pending);
                let again: Vec<TestId> =
                    self.suite.iter().map(|test| test.id.clone()).filter(|id| pending.contains(id)).collect();
                self.sessions(again.into_iter().map(|test| vec![test]))
            }
            Round::Done => Vec::new(),
        }
    }

    fn findings(&self, _: Recordings<'_>) -> Vec<Finding> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests;
