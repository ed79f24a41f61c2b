//! Oracle of a suspect: does its outcome after a list of tests differ from its outcome alone?

use std::cell::{Cell, RefCell};

use unflake_model::{Failure, Purpose, Repeats, TestId};

use crate::search::minimize::Oracle;
use crate::search::scheduler::{AttemptSummary, Scheduler, SessionRequest, SessionResult};
use crate::stats::failure_rate::{FailureCount, more_often};

pub(crate) struct VictimTrial<'a> {
    pub(crate) scheduler: &'a Scheduler,
    pub(crate) test: &'a TestId,
    /// How often each list is tried.
    pub(crate) tries: usize,
    /// Its first outcome alone, determined together with the first lists.
    first_alone: RefCell<Option<AttemptSummary>>,
    /// Its failure after other tests.
    failure: RefCell<Option<Failure>>,
    /// Runs alone, and how many of them differed from the first.
    alone: Cell<(u32, u32)>,
    /// Accumulated repetitions per list.
    repeated: RefCell<Vec<(Vec<TestId>, Repeats)>>,
    /// The shortest list after which the outcome differed.
    best: &'a RefCell<Vec<TestId>>,
}

impl<'a> VictimTrial<'a> {
    pub(crate) fn new(scheduler: &'a Scheduler, test: &'a TestId, best: &'a RefCell<Vec<TestId>>) -> Self {
        let (first_alone, failure, alone) = (RefCell::default(), RefCell::default(), Cell::new((0, 0)));
        Self { scheduler, test, tries: 1, first_alone, failure, alone, repeated: RefCell::default(), best }
    }

    /// Its first outcome alone. `None` if unknown or skipped.
    pub(crate) fn first_alone(&self) -> Option<AttemptSummary> {
        self.first_alone.borrow().clone().filter(|first| first.outcome.is_pass() || first.outcome.is_failure())
    }

    /// Its failure: alone if it fails there, else after others.
    pub(crate) fn failure(&self) -> Option<Failure> {
        let alone = self.first_alone.borrow().as_ref().and_then(|first| first.failure.clone());
        alone.or_else(|| self.failure.borrow().clone())
    }

    fn fails_alone(&self) -> bool {
        self.first_alone.borrow().as_ref().is_some_and(|first| first.outcome.is_failure())
    }

    /// Runs alone, and how many of them differed from the first.
    pub(crate) fn alone(&self) -> (u32, u32) {
        self.alone.get()
    }

    fn differs(&self, result: &SessionResult) -> Option<bool> {
        self.first_alone()?;
        let last = result.last()?;
        if last.outcome.is_failure() && self.failure.borrow().is_none() {
            self.failure.borrow_mut().clone_from(&last.failure);
        }
        Some(if self.fails_alone() { last.outcome.is_pass() } else { last.outcome.is_failure() })
    }

    /// Tests that can run before it: one that ends its process leaves no state behind.
    pub(crate) fn runnable(&self, list: &[TestId]) -> Vec<TestId> {
        list.iter().filter(|test| *test != self.test && !self.scheduler.kills_process(test)).cloned().collect()
    }

    pub(crate) fn request(&self, list: Vec<TestId>, prefix: usize) -> SessionRequest {
        SessionRequest::new(Purpose::Search, [&list[..], std::slice::from_ref(self.test)].concat()).with_prefix(prefix)
    }

    /// Repeats a list and the test alone; returns the totals over all repetitions of the list.
    pub(crate) async fn repeat(&self, list: &[TestId], times: usize) -> Repeats {
        let alone = std::iter::repeat_n(self.request(Vec::new(), 0), times);
        let after = std::iter::repeat_n(self.request(list.to_vec(), 0), times);
        let results = self.scheduler.run(after.chain(alone).collect()).await;
        let (after, alone) = results.split_at(times);
        let alone_other = self.count_alone(alone);
        let alone_tried = alone.iter().filter(|result| result.last().is_some()).count() as u32;
        let other: Vec<bool> = after.iter().filter_map(|result| self.differs(result)).collect();
        let mut repeated = self.repeated.borrow_mut();
        let at = repeated.iter().position(|(one, _)| one == list).unwrap_or(repeated.len());
        if at == repeated.len() {
            repeated.push((list.to_vec(), Repeats::default()));
        }
        let evidence = &mut repeated[at].1;
        evidence.seen += other.iter().filter(|other| **other).count() as u32;
        evidence.tried += other.len() as u32;
        evidence.alone_passed += if self.fails_alone() { alone_other } else { alone_tried - alone_other };
        evidence.alone_tried += alone_tried;
        *evidence
    }

    /// Runs it alone; returns how many outcomes differed from the first.
    pub(crate) async fn repeat_alone(&self, times: usize) -> u32 {
        let requests = std::iter::repeat_n(self.request(Vec::new(), 0), times);
        self.count_alone(&self.scheduler.run(requests.collect()).await)
    }

    fn count_alone(&self, results: &[SessionResult]) -> u32 {
        let known = results.iter().filter_map(SessionResult::last);
        let other = known.clone().filter(|one| one.outcome.is_failure() != self.fails_alone()).count() as u32;
        let (before, other_before) = self.alone.get();
        self.alone.set((before + known.count() as u32, other_before + other));
        other
    }

    /// Whether the repetitions are significant (p < 0.01) and the outcome alone never varied.
    pub(crate) fn is_significant(&self, evidence: &Repeats) -> bool {
        let same = if self.fails_alone() { 0 } else { evidence.alone_tried };
        evidence.alone_passed == same && p_value(evidence) < 0.01
    }
}

/// Exact p-value of the outcome differing only after the list, if the list made no difference.
fn p_value(evidence: &Repeats) -> f64 {
    more_often(FailureCount::new(evidence.seen, evidence.tried), FailureCount::new(0, evidence.alone_tried))
}

impl Oracle<TestId> for VictimTrial<'_> {
    const COST_GROWS: bool = true;

    async fn reproduces(&self, lists: Vec<(Vec<TestId>, usize)>) -> Vec<bool> {
        let mut reproduces: Vec<Option<bool>> = vec![None; lists.len()];
        // Tests that end the process are excluded from the next round.
        for _ in 0..3 {
            let mut tried = Vec::new();
            let is_first = self.first_alone.borrow().is_none();
            let mut requests = vec![self.request(Vec::new(), 0); usize::from(is_first)];
            for (at, (list, prefix)) in lists.iter().enumerate() {
                if reproduces[at].is_some() {
                    continue;
                }
                let (list, prefix) = (self.runnable(list), self.runnable(&list[..*prefix]).len());
                if list.is_empty() {
                    reproduces[at] = Some(false);
                } else {
                    tried.push(at);
                    requests.extend(std::iter::repeat_n(self.request(list, prefix), self.tries));
                }
            }
            let mut results = self.scheduler.run(requests).await;
            if is_first {
                *self.first_alone.borrow_mut() = results.remove(0).last().cloned();
                self.alone.set((1, 0));
            }
            for (at, results) in tried.into_iter().zip(results.chunks(self.tries)) {
                reproduces[at] = results.iter().filter_map(|result| self.differs(result)).reduce(|one, two| one || two);
                let mut best = self.best.borrow_mut();
                if reproduces[at] == Some(true) && (best.is_empty() || lists[at].0.len() < best.len()) {
                    *best = self.runnable(&lists[at].0);
                }
            }
            if reproduces.iter().all(Option::is_some) {
                break;
            }
        }
        reproduces.into_iter().map(|reproduces| reproduces == Some(true)).collect()
    }

    fn out_of_time(&self) -> bool {
        self.scheduler.out_of_time()
    }
}

#[cfg(test)]
mod tests {
    use unflake_model::Isolation;

    use super::*;

    fn confirmed(seen: u32, tried: u32, alone_passed: u32, alone_tried: u32) -> bool {
        let (scheduler, test, best) = (Scheduler::new(Isolation::Fork, 1.0), TestId::from("v"), RefCell::default());
        VictimTrial::new(&scheduler, &test, &best).is_significant(&Repeats { seen, tried, alone_passed, alone_tried })
    }

    #[test]
    fn five_of_five_is_significant_and_less_is_not() {
        assert!(confirmed(5, 5, 5, 5));
        assert!(!confirmed(4, 5, 5, 5));
        assert!(!confirmed(5, 5, 4, 5));
        assert!(!confirmed(3, 3, 3, 3));
        assert!(!confirmed(5, 5, 0, 0));
        assert!(!confirmed(0, 0, 5, 5));
    }

    #[test]
    fn a_varying_outcome_needs_more_repetitions() {
        assert!(confirmed(7, 20, 20, 20));
        assert!(!confirmed(5, 20, 20, 20));
        assert!(!confirmed(20, 20, 19, 20));
    }
}
