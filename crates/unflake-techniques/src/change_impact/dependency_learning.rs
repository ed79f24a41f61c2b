//! The whole suite once, to learn what each test depends on.

use unflake_model::{Event, Finding, Granularity, Isolation, Placement, Purpose, Session, SessionId, TestId};

use crate::Technique;

pub struct DependencyLearning {
    granularity: Granularity,
    suite: Vec<TestId>,
    asked: bool,
}

impl DependencyLearning {
    pub fn new(granularity: Granularity) -> Self {
        Self { granularity, suite: Vec::new(), asked: false }
    }
}

impl Technique for DependencyLearning {
    fn hear(&mut self, event: &Event) {
        if let Event::TestsListed { tests, .. } = event {
            self.suite = tests.iter().map(|test| test.id.clone()).collect();
        }
    }

    fn ask(&mut self) -> Vec<Session> {
        if std::mem::replace(&mut self.asked, true) {
            return Vec::new();
        }
        let session = Session::fresh(SessionId(0), Purpose::Suite, Isolation::Process, std::mem::take(&mut self.suite));
        vec![Session { place: Placement::Live, depends: Some(self.granularity), ..session }]
    }

    fn findings(&self) -> Vec<Finding> {
        Vec::new()
    }
}
