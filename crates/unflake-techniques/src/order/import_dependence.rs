//! Import dependence: does a test's outcome change because files of other tests are loaded,
//! although none of their tests has run?
//!
//! A new process loads only the files of the tests in its session. So the test runs first, followed
//! by one test of every file that is to be loaded.

use unflake_model::{OrderKind, Purpose, Repeats, TestId};

use crate::order::polluter_search::Dependence;
use crate::search::minimize::{Minimized, Oracle, minimize};
use crate::search::scheduler::{AttemptSummary, Scheduler, SessionRequest, SessionResult};

/// Repetitions of the result, with those files and without.
const TIMES: usize = 3;

/// Does the outcome change when the files of these tests are loaded too?
struct LoadTrial<'a> {
    scheduler: &'a Scheduler,
    test: &'a TestId,
    fails_without: bool,
}

fn request(test: &TestId, with: &[TestId]) -> SessionRequest {
    let tests = [std::slice::from_ref(test), with].concat();
    SessionRequest { new_process: true, ..SessionRequest::new(Purpose::Search, tests) }
}

/// Outcome of the test, which comes first. `None` if unknown or skipped.
fn first(result: &SessionResult) -> Option<&AttemptSummary> {
    result.attempts.first().filter(|first| first.outcome.is_pass() || first.outcome.is_failure())
}

impl LoadTrial<'_> {
    fn differs(&self, result: &SessionResult) -> bool {
        first(result).is_some_and(|first| first.outcome.is_failure() != self.fails_without)
    }
}

impl Oracle<TestId> for LoadTrial<'_> {
    const COST_GROWS: bool = false;

    async fn reproduces(&self, lists: Vec<(Vec<TestId>, usize)>) -> Vec<bool> {
        let requests = lists.iter().map(|(list, _)| request(self.test, list));
        self.scheduler.run(requests.collect()).await.iter().map(|result| self.differs(result)).collect()
    }

    fn out_of_time(&self) -> bool {
        self.scheduler.out_of_time()
    }
}

/// `others`: one test of every other file. `None`: no difference, or out of time.
pub(crate) async fn import_dependence(scheduler: &Scheduler, test: &TestId, others: &[TestId]) -> Option<Dependence> {
    let results = scheduler.run(vec![request(test, &[]), request(test, others)]).await;
    let (without, with) = (first(&results[0])?, first(&results[1])?);
    if without.outcome.is_failure() == with.outcome.is_failure() {
        return None;
    }
    let loaded = LoadTrial { scheduler, test, fails_without: without.outcome.is_failure() };
    let Minimized::Minimal(list) = minimize(others.to_vec(), true, &loaded).await else { return None };
    let repeated = [vec![request(test, &list); TIMES], vec![request(test, &[]); TIMES]].concat();
    let results = scheduler.run(repeated).await;
    let count = |results: &[SessionResult]| results.iter().filter(|result| loaded.differs(result)).count();
    if count(&results[..TIMES]) < TIMES || count(&results[TIMES..]) > 0 {
        return None;
    }
    let times = TIMES as u32;
    let failing = if loaded.fails_without { without } else { with };
    Some(Dependence {
        kind: if loaded.fails_without { OrderKind::Brittle } else { OrderKind::Victim },
        alone: without.outcome,
        culprits: vec![list],
        has_more: false,
        cleaners: Vec::new(),
        evidence: Repeats {
            seen: times,
            tried: times,
            alone_passed: if loaded.fails_without { 0 } else { times },
            alone_tried: times,
        },
        failure: failing.failure.clone(),
        each_tried: None,
        by_loading: true,
        loaded: Vec::new(),
        unfinished: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::rng::SeededRng;
    use crate::simulation::simulated_suite::{SimulatedSuite, SimulatedTest, named};

    #[test]
    fn random_failures_are_not_taken_for_import_dependence() {
        for seed in 0..40 {
            let random = SimulatedTest { random_percent: 50, ..SimulatedTest::default() };
            let mut suite = SimulatedSuite::new(20, vec![(4, random)]);
            (suite.files, suite.rng) = (20, SeededRng(seed));
            let others: Vec<TestId> = (5..20).map(named).collect();
            let found = suite.search(async move |scheduler| import_dependence(&scheduler, &named(4), &others).await);
            assert!(found.is_none(), "seed {seed}: {found:?}");
        }
    }
}
