//! Screens tests in cheap environments before the expensive search: each test runs twice, many tests
//! per process. A test that does not pass both times is only suspected; a finding requires a process
//! of its own. State that one test leaves behind can hide that another is not idempotent.

use std::collections::{BTreeSet, HashMap};

use unflake_model::{EnvironmentId, Isolation, Outcome, Purpose, TestId};

use crate::search::scheduler::{Scheduler, SessionRequest};

/// Tests per process, initially and at most.
const INITIAL: usize = 32;
const MOST: usize = 512;
/// Tests that share a fork, at most: with more of them, more fail because of others.
const SHARED: usize = 50;
/// Fewer tests are not screened in shared forks: a fork each costs little.
const FEW: usize = 64;
/// Share of the remaining budget that one batch may take.
const SHARE: f64 = 0.25;

/// Where tests are screened.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ScreenIn {
    /// Each in an in-process environment of its own.
    InProcess,
    /// In forks that they share with tests of other files.
    SharedForks,
}

#[derive(Debug)]
pub(crate) struct Prefilter {
    place: ScreenIn,
    /// Number of parallel processes.
    jobs: usize,
    /// Budget in seconds.
    seconds: f64,
    tried: usize,
    suspected: usize,
}

impl Prefilter {
    /// `None` where screening this many tests saves nothing.
    pub(crate) fn new(place: ScreenIn, tests: usize, jobs: usize, seconds: f64) -> Option<Self> {
        let is_useful = place == ScreenIn::InProcess || tests > FEW;
        is_useful.then_some(Self { place, jobs: jobs.max(1), seconds, tried: 0, suspected: 0 })
    }

    /// Number of tests that raised no suspicion.
    pub(crate) fn passed(&self) -> usize {
        self.tried - self.suspected
    }

    /// Whether screening saves anything. Tests may need an environment that others share, or an
    /// agent that attaches to a process only once.
    pub(crate) fn is_useful(&self) -> bool {
        self.suspected * 2 <= self.tried
    }

    /// Number of tests to screen next.
    pub(crate) fn size(&self, scheduler: &Scheduler) -> usize {
        let left = scheduler.seconds_left();
        let each = (self.seconds - left) / self.tried as f64;
        let fit = if self.tried == 0 { 0 } else { (left * SHARE / each) as usize };
        fit.clamp(INITIAL * self.jobs, MOST * self.jobs)
    }

    /// The lists of tests that share a process. Tests of one file are the most likely to disturb each
    /// other, so neighbours do not share a fork.
    fn parts(&self, tests: &[TestId]) -> Vec<Vec<TestId>> {
        match self.place {
            ScreenIn::InProcess => tests.chunks(tests.len().div_ceil(self.jobs).max(1)).map(<[_]>::to_vec).collect(),
            ScreenIn::SharedForks => {
                let parts = tests.len().div_ceil(SHARED).max(self.jobs.min(tests.len()));
                (0..parts).map(|part| tests.iter().skip(part).step_by(parts).cloned().collect()).collect()
            }
        }
    }

    /// The tests that must run in processes of their own.
    pub(crate) async fn suspects(&mut self, scheduler: &Scheduler, tests: &[TestId]) -> Vec<TestId> {
        let in_process = self.place == ScreenIn::InProcess;
        let request = |tests: Vec<TestId>| {
            let twice = tests.into_iter().flat_map(|test| [test.clone(), test]).collect();
            SessionRequest { in_process, ..SessionRequest::new(Purpose::Twice, twice) }
        };
        let results = scheduler.run(self.parts(tests).into_iter().map(request).collect()).await;
        let mut outcomes: HashMap<&TestId, Vec<(EnvironmentId, Outcome)>> = HashMap::new();
        for attempt in results.iter().flat_map(|result| &result.attempts) {
            if !in_process || attempt.origin == Isolation::InProcess {
                outcomes.entry(&attempt.test).or_default().push((attempt.environment, attempt.outcome));
            }
        }
        let both = |test: &TestId, is_it: fn(Outcome) -> bool| match outcomes.get(test).map(Vec::as_slice) {
            Some([(here, first), (there, second)]) => here == there && is_it(*first) && is_it(*second),
            _ => false,
        };
        let is_skip = |outcome: Outcome| outcome == Outcome::Skipped;
        let skipped = tests.iter().filter(|test| both(test, is_skip)).cloned().collect();
        let skipped = skipped_anywhere(scheduler, skipped).await;
        let passed = |test: &TestId| both(test, Outcome::is_pass);
        let suspects: Vec<TestId> =
            tests.iter().filter(|test| !passed(test) && !skipped.contains(*test)).cloned().collect();
        self.tried += tests.len();
        self.suspected += suspects.len();
        suspects
    }
}

/// Tests that are skipped in another process, too. It need not be fresh for that, and they share it.
async fn skipped_anywhere(scheduler: &Scheduler, tests: Vec<TestId>) -> BTreeSet<TestId> {
    if tests.is_empty() {
        return BTreeSet::new();
    }
    let result = scheduler.run_one(SessionRequest::new(Purpose::Twice, tests)).await;
    result
        .attempts
        .into_iter()
        .filter(|attempt| attempt.outcome == Outcome::Skipped)
        .map(|attempt| attempt.test)
        .collect()
}

#[cfg(test)]
mod tests;
