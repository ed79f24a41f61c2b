//! The test alone, a few times, one after the other: whether it varies without anything else.

use unflake_model::{Event, Finding, Isolation, Purpose, Session, TestId};

use crate::search::scheduler::{Scheduler, SearchTask, SessionRequest};
use crate::{Recordings, Technique};

/// Runs, each in an environment of its own.
const TIMES: usize = 6;

pub(crate) struct Retries {
    test: TestId,
    fresh_by: Isolation,
    seconds: f64,
    task: Option<SearchTask>,
}

impl Retries {
    pub(crate) fn new(test: TestId, fresh_by: Isolation, seconds: f64) -> Self {
        Self { test, fresh_by, seconds, task: None }
    }
}

impl Technique for Retries {
    fn observe(&mut self, event: &Event, _: Recordings<'_>) {
        if let Event::TestsListed { .. } = event {
            let scheduler = Scheduler::new(self.fresh_by, self.seconds);
            let requests = vec![SessionRequest::new(Purpose::Fresh, vec![self.test.clone()]); TIMES];
            let search = scheduler.sequential();
            self.task = Some(SearchTask::new(scheduler, async move {
                search.run(requests).await;
            }));
        }
        if let Some(task) = &mut self.task {
            task.observe(event);
        }
    }

    fn next_sessions(&mut self, _: Recordings<'_>) -> Vec<Session> {
        self.task.as_mut().map_or(Vec::new(), SearchTask::next_sessions)
    }

    fn findings(&self, _: Recordings<'_>) -> Vec<Finding> {
        Vec::new()
    }
}
