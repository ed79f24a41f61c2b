//! Where an experiment is made: worlds, the runs that were made in each, and what may still be run.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use unflake_model::{Factor, FactorKind, Purpose, TestId};

use crate::search::rng::SeededRng;
use crate::search::scheduler::{Scheduler, SessionRequest, SessionResult};
use crate::stats::failure_rate::FailureCount;

/// Before the test, of an order, at most so many others are run.
const BEFORE: usize = 300;

/// A world, by how it differs from the controlled one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum World {
    /// Nothing is set at all.
    Uncontrolled,
    /// The baseline with these set otherwise. None of them: the baseline itself.
    With(Vec<Factor>),
}

impl World {
    pub(crate) const BASELINE: Self = Self::With(Vec::new());

    pub(crate) fn differs_in(&self) -> &[Factor] {
        match self {
            Self::Uncontrolled => &[],
            Self::With(factors) => factors,
        }
    }

    pub(crate) fn kind(&self) -> Option<FactorKind> {
        self.differs_in().first().map(Factor::kind)
    }
}

/// One run of what is looked into.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Run {
    /// None: it was skipped.
    pub(crate) failed: Option<bool>,
    pub(crate) seconds: f64,
    /// The tests that failed.
    pub(crate) failing: Vec<TestId>,
    /// Its attempts, by how many had been told before. Of a run that was made earlier: none.
    pub(crate) attempts: Vec<usize>,
}

/// What is known of one world.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) world: World,
    pub(crate) runs: Vec<Run>,
    /// Why no run could be made.
    pub(crate) cannot: Option<String>,
}

impl Row {
    pub(crate) fn failures(&self) -> FailureCount {
        failures(&self.runs)
    }

    pub(crate) fn skipped(&self) -> u32 {
        self.runs.iter().filter(|run| run.failed.is_none()).count() as u32
    }
}

fn failures(runs: &[Run]) -> FailureCount {
    let told = runs.iter().filter_map(|run| run.failed);
    told.fold(FailureCount::default(), |sum, failed| FailureCount::new(sum.failed + u32::from(failed), sum.runs + 1))
}

/// All that has been run, in the order in which worlds were first tried.
#[derive(Default)]
pub(crate) struct Book {
    pub(crate) rows: Vec<Row>,
    pub(crate) made: u32,
}

impl Book {
    pub(crate) fn row(&self, world: &World) -> Option<&Row> {
        self.rows.iter().find(|row| row.world == *world)
    }

    fn row_mut(&mut self, world: &World) -> &mut Row {
        let at = self.rows.iter().position(|row| row.world == *world).unwrap_or_else(|| {
            self.rows.push(Row { world: world.clone(), runs: Vec::new(), cannot: None });
            self.rows.len() - 1
        });
        &mut self.rows[at]
    }

    pub(crate) fn failures(&self, world: &World) -> FailureCount {
        self.row(world).map_or(FailureCount::default(), Row::failures)
    }
}

pub(crate) struct Bench {
    pub(crate) scheduler: Scheduler,
    pub(crate) book: Rc<RefCell<Book>>,
    /// What is looked into: a test, or several that are run together.
    pub(crate) unit: Vec<TestId>,
    /// All tests, as the runner lists them.
    pub(crate) tests: Vec<TestId>,
    pub(crate) baseline: Vec<Factor>,
    /// How many runs may be made.
    pub(crate) budget: u32,
    /// Runs that an experiment which was stopped has made.
    pub(crate) known: RefCell<HashMap<Vec<Factor>, VecDeque<Run>>>,
    /// Every run has a world to itself: what is drawn by chance is the same in each.
    pub(crate) anew: Cell<bool>,
    /// Nothing runs in one world while something does in another.
    pub(crate) alone: Cell<bool>,
}

impl Bench {
    /// All that is set in a world. Of two settings of a factor the later holds; variables add up.
    pub(crate) fn factors(&self, world: &World) -> Vec<Factor> {
        let World::With(others) = world else { return Vec::new() };
        let stays = |factor: &&Factor| others.iter().all(|other| other.kind() != factor.kind()) || is_variable(factor);
        self.baseline.iter().filter(stays).chain(others).cloned().collect()
    }

    /// Makes so many runs in each of these worlds. What came of them, in the order of the worlds; fewer where no more could be made.
    pub(crate) async fn run(&self, wanted: &[(World, u32)]) -> Vec<FailureCount> {
        if !self.alone.get() {
            return self.run_together(wanted).await;
        }
        let mut found = Vec::new();
        for one in wanted {
            found.extend(self.run_together(std::slice::from_ref(one)).await);
        }
        found
    }

    async fn run_together(&self, wanted: &[(World, u32)]) -> Vec<FailureCount> {
        let mut requests = Vec::new();
        let mut news: Vec<Vec<Run>> = vec![Vec::new(); wanted.len()];
        for (at, (world, runs)) in wanted.iter().enumerate() {
            let factors = self.factors(world);
            let mut missing = *runs;
            if let Some(known) = self.known.borrow_mut().get_mut(&factors) {
                let taken = known.len().min(missing as usize);
                missing -= taken as u32;
                news[at].extend(known.drain(..taken));
            }
            let cannot = self.book.borrow().row(world).is_some_and(|row| row.cannot.is_some());
            let room = self.left().saturating_sub(requests.len() as u32);
            let missing = if cannot { 0 } else { missing.min(room) };
            requests.extend((0..missing).map(|_| (at, self.request(world, factors.clone()))));
        }
        let (places, requests): (Vec<usize>, Vec<SessionRequest>) = requests.into_iter().unzip();
        let results = if requests.is_empty() { Vec::new() } else { self.scheduler.run(requests).await };
        let mut book = self.book.borrow_mut();
        for (at, result) in places.into_iter().zip(results) {
            let (world, row) = (&wanted[at].0, &mut news[at]);
            match self.run_of(&result) {
                Some(run) => row.push(run),
                None if row.is_empty() && book.row_mut(world).runs.is_empty() => {
                    book.row_mut(world).cannot =
                        Some(result.reason.clone().unwrap_or_else(|| "it did not run".to_owned()));
                }
                None => {}
            }
        }
        for ((world, _), runs) in wanted.iter().zip(&news) {
            book.made += runs.len() as u32;
            let row = book.row_mut(world);
            row.runs.extend_from_slice(runs);
            if !runs.is_empty() {
                row.cannot = None;
            }
        }
        news.iter().map(|runs| failures(runs)).collect()
    }

    fn request(&self, world: &World, factors: Vec<Factor>) -> SessionRequest {
        let tests = order_of(&factors).map_or(Vec::new(), |order| before(&self.tests, &self.unit, order));
        let drawn = world.kind() == Some(FactorKind::RandomSeed);
        SessionRequest {
            new_process: drawn || self.anew.get(),
            under: Some(factors),
            ..SessionRequest::new(Purpose::Factor, [tests, self.unit.clone()].concat())
        }
    }

    /// None: it did not come to its end.
    fn run_of(&self, result: &SessionResult) -> Option<Run> {
        let ours = result.attempts.iter().filter(|attempt| self.unit.contains(&attempt.test));
        let mut run = Run { failed: None, seconds: 0.0, failing: Vec::new(), attempts: Vec::new() };
        for attempt in ours {
            run.seconds += attempt.seconds;
            run.attempts.push(attempt.index);
            if attempt.outcome.is_failure() {
                run.failing.push(attempt.test.clone());
            }
            if attempt.outcome.is_failure() || attempt.outcome.is_pass() {
                run.failed = Some(!run.failing.is_empty());
            }
        }
        let is_ours = |test: &TestId| self.unit.contains(test);
        let whole = !result.not_run.iter().any(is_ours) && result.attempts.iter().any(|attempt| is_ours(&attempt.test));
        whole.then_some(run)
    }

    pub(crate) fn failures(&self, world: &World) -> FailureCount {
        self.book.borrow().failures(world)
    }

    /// Makes as if a world had never been tried.
    pub(crate) fn forget(&self, world: &World) {
        self.book.borrow_mut().rows.retain(|row| row.world != *world);
    }

    fn left(&self) -> u32 {
        if self.scheduler.out_of_time() { 0 } else { self.budget.saturating_sub(self.book.borrow().made) }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.left() == 0
    }
}

fn is_variable(factor: &Factor) -> bool {
    matches!(factor, Factor::Variable { .. })
}

/// The order of tests that is among these factors.
pub(crate) fn order_of(factors: &[Factor]) -> Option<u64> {
    factors.iter().find_map(|factor| match factor {
        Factor::Order(order) => Some(*order),
        _ => None,
    })
}

/// The tests that come before these in an order: 0 the runner's own, 1 that reversed, others shuffled.
pub(crate) fn before(tests: &[TestId], unit: &[TestId], order: u64) -> Vec<TestId> {
    let mut tests = tests.to_vec();
    match order {
        0 => {}
        1 => tests.reverse(),
        seed => SeededRng(seed).shuffle(&mut tests),
    }
    let before: Vec<TestId> = tests.into_iter().take_while(|test| !unit.contains(test)).collect();
    before[before.len().saturating_sub(BEFORE)..].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_end_with_what_is_looked_into() {
        let tests = ["a", "b", "c", "d"].map(TestId::from);
        let names = |order| before(&tests, &["c".into()], order).iter().map(TestId::to_string).collect::<String>();
        assert_eq!(names(0), "ab");
        assert_eq!(names(1), "d");
        assert!(!names(7).contains('c'));
    }
}
