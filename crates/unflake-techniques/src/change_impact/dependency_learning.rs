//! Runs the whole suite once to learn what each test depends on.

use unflake_model::{Event, Finding, Granularity, Isolation, Placement, Purpose, Session, SessionId, TestId};

use crate::{Recordings, Technique};

pub struct DependencyLearning {
    granularity: Granularity,
    suite: Vec<TestId>,
    requested: bool,
}

impl DependencyLearning {
    pub fn new(granularity: Granularity) -> Self {
        Self { granularity, suite: Vec::new(), requested: false }
    }
}

impl Technique for DependencyLearning {
    fn observe(&mut self, event: &Event, _: Recordings<'_>) {
        if let Event::TestsListed { tests, .. } = event {
            self.suite = tests.iter().map(|test| test.id.clone()).collect();
        }
    }

    fn next_sessions(&mut self, _: Recordings<'_>) -> Vec<Session> {
        if std::mem::replace(&mut self.requested, true) {
            return Vec::new();
        }
        let session = Session::fresh(SessionId(0), Purpose::Suite, Isolation::Process, std::mem::take(&mut self.suite));
        vec![Session { place: Placement::Live, depends: Some(self.granularity), ..session }]
    }

    fn findings(&self, _: Recordings<'_>) -> Vec<Finding> {
        Vec::new()
    }
}
