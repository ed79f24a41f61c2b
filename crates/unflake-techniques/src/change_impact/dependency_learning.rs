//! Runs every test once to learn what each depends on.
//!
//! Each runs in a fork of its own: what another test has cached would hide a dependency. Where every
//! session has processes of its own anyway, the runner reports what its tests share.

use unflake_model::{Event, Finding, Granularity, Isolation, Placement, Purpose, Session, SessionId, TestId};

use crate::{Recordings, Technique};

pub struct DependencyLearning {
    granularity: Granularity,
    suite: Vec<TestId>,
    isolated: bool,
    requested: bool,
}

impl DependencyLearning {
    pub fn new(granularity: Granularity) -> Self {
        Self { granularity, suite: Vec::new(), isolated: false, requested: false }
    }
}

impl Technique for DependencyLearning {
    fn observe(&mut self, event: &Event, _: Recordings<'_>) {
        if let Event::TestsListed { tests, isolated, .. } = event {
            self.isolated = *isolated;
            self.suite = tests.iter().map(|test| test.id.clone()).collect();
        }
    }

    fn next_sessions(&mut self, _: Recordings<'_>) -> Vec<Session> {
        if std::mem::replace(&mut self.requested, true) {
            return Vec::new();
        }
        let suite = std::mem::take(&mut self.suite);
        let depends = Some(self.granularity);
        if self.isolated {
            let session = Session::fresh(SessionId(0), Purpose::Suite, Isolation::Process, suite);
            return vec![Session { place: Placement::Live, depends, ..session }];
        }
        let alone = |(number, test)| Session {
            depends,
            ..Session::fresh(SessionId(number), Purpose::Suite, Isolation::Fork, vec![test])
        };
        (0..).zip(suite).map(alone).collect()
    }

    fn findings(&self, _: Recordings<'_>) -> Vec<Finding> {
        Vec::new()
    }
}
