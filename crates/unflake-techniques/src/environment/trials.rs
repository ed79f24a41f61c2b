//! Trials of an experiment: worlds, the runs that were made in each, and the budget for more.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use unflake_model::{Factor, FactorEffect, FactorKind, Outcome, Purpose, TestId, World};

use crate::search::rng::SeededRng;
use crate::search::scheduler::{Scheduler, SessionRequest, SessionResult};
use crate::stats::failure_rate::FailureCount;

/// At most this many other tests run before the test of an order.
const MAX_BEFORE: usize = 300;
/// Runs of another test in a world in which processes die.
const CONTROL_RUNS: usize = 2;

/// A world, by its difference from the controlled baseline.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum TrialWorld {
    /// No factor is set.
    Uncontrolled,
    /// The baseline with these factors changed. Empty: the baseline itself.
    With(Vec<Factor>),
}

impl TrialWorld {
    pub(crate) const BASELINE: Self = Self::With(Vec::new());

    pub(crate) fn changes(&self) -> &[Factor] {
        match self {
            Self::Uncontrolled => &[],
            Self::With(factors) => factors,
        }
    }

    /// The factor that it changes. None: none, or several.
    pub(crate) fn kind(&self) -> Option<FactorKind> {
        let (first, rest) = self.changes().split_first()?;
        rest.iter().all(|factor| factor.kind() == first.kind()).then(|| first.kind())
    }

    /// Forks of one process share what a process draws at random, so each run needs a new one.
    fn needs_process(&self) -> bool {
        *self == Self::Uncontrolled || self.changes().iter().any(|factor| factor.kind().per_process)
    }
}

/// One run of the test, or of the tests that are run together.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TrialRun {
    /// None: it was skipped.
    pub(crate) failed: Option<bool>,
    /// The process of every test died.
    pub(crate) crashed: bool,
    pub(crate) seconds: f64,
    /// The tests that failed.
    pub(crate) failing: Vec<TestId>,
    /// Its attempts, by the number of attempts observed before. Empty for runs from the history.
    pub(crate) attempts: Vec<usize>,
}

/// All runs in one world.
#[derive(Clone, Debug)]
pub(crate) struct WorldRuns {
    pub(crate) world: TrialWorld,
    pub(crate) runs: Vec<TrialRun>,
    /// Why nothing can run there.
    pub(crate) error: Option<String>,
}

impl WorldRuns {
    pub(crate) fn failures(&self) -> FailureCount {
        failures(&self.runs)
    }

    pub(crate) fn skipped(&self) -> u32 {
        self.runs.iter().filter(|run| run.failed.is_none()).count() as u32
    }
}

fn failures(runs: &[TrialRun]) -> FailureCount {
    let outcomes = runs.iter().filter_map(|run| run.failed);
    outcomes.fold(FailureCount::default(), |sum, failed| sum + FailureCount::new(u32::from(failed), 1))
}

/// All runs of the experiment, in the order in which worlds were first tried.
#[derive(Default)]
pub(crate) struct TrialLog {
    pub(crate) worlds: Vec<WorldRuns>,
    pub(crate) runs: u32,
}

impl TrialLog {
    pub(crate) fn world(&self, world: &TrialWorld) -> Option<&WorldRuns> {
        self.worlds.iter().find(|row| row.world == *world)
    }

    fn world_mut(&mut self, world: &TrialWorld) -> &mut WorldRuns {
        let at = self.worlds.iter().position(|row| row.world == *world).unwrap_or_else(|| {
            self.worlds.push(WorldRuns { world: world.clone(), runs: Vec::new(), error: None });
            self.worlds.len() - 1
        });
        &mut self.worlds[at]
    }

    pub(crate) fn failures(&self, world: &TrialWorld) -> FailureCount {
        self.world(world).map_or(FailureCount::default(), WorldRuns::failures)
    }

    /// Worlds in which a run ended.
    pub(crate) fn tried(&self) -> impl Iterator<Item = &WorldRuns> {
        self.worlds.iter().filter(|row| row.failures().runs > 0)
    }
}

pub(crate) struct TrialRunner {
    pub(crate) scheduler: Scheduler,
    pub(crate) log: Rc<RefCell<TrialLog>>,
    /// The test, or several that are run together.
    pub(crate) unit: Vec<TestId>,
    /// All tests, as the runner lists them.
    pub(crate) tests: Vec<TestId>,
    pub(crate) baseline: Vec<Factor>,
    pub(crate) max_runs: u32,
    /// Runs from the history, by their factors.
    pub(crate) known: RefCell<HashMap<Vec<Factor>, VecDeque<TrialRun>>>,
    /// Every run has a process of its own.
    pub(crate) new_processes: Cell<bool>,
    /// No two worlds run at the same time.
    pub(crate) sequential: Cell<bool>,
}

impl TrialRunner {
    /// All factors of a world.
    pub(crate) fn factors(&self, world: &TrialWorld) -> Vec<Factor> {
        match world {
            TrialWorld::Uncontrolled => Vec::new(),
            TrialWorld::With(changes) => with_changes(&self.baseline, changes),
        }
    }

    /// Runs the test this many times in each of these worlds. The failures of these runs, in the
    /// order of the worlds; of fewer runs where the budget is exhausted.
    pub(crate) async fn run(&self, wanted: &[(TrialWorld, u32)]) -> Vec<FailureCount> {
        if !self.sequential.get() {
            return self.run_batch(wanted).await;
        }
        let mut results = Vec::new();
        for one in wanted {
            results.extend(self.run_batch(std::slice::from_ref(one)).await);
        }
        results
    }

    async fn run_batch(&self, wanted: &[(TrialWorld, u32)]) -> Vec<FailureCount> {
        let mut requests = Vec::new();
        let mut new_runs: Vec<Vec<TrialRun>> = vec![Vec::new(); wanted.len()];
        for (at, (world, runs)) in wanted.iter().enumerate() {
            let factors = self.factors(world);
            let mut missing = *runs;
            if let Some(known) = self.known.borrow_mut().get_mut(&factors) {
                let taken = known.len().min(missing as usize);
                missing -= taken as u32;
                new_runs[at].extend(known.drain(..taken));
            }
            let cannot_run = self.log.borrow().world(world).is_some_and(|row| row.error.is_some());
            let room = self.runs_left().saturating_sub(requests.len() as u32);
            let missing = if cannot_run { 0 } else { missing.min(room) };
            requests.extend((0..missing).map(|_| (at, self.request(world, factors.clone()))));
        }
        let (places, requests): (Vec<usize>, Vec<SessionRequest>) = requests.into_iter().unzip();
        let results = if requests.is_empty() { Vec::new() } else { self.scheduler.run(requests).await };
        let mut log = self.log.borrow_mut();
        for (at, result) in places.into_iter().zip(results) {
            let (row, runs) = (log.world_mut(&wanted[at].0), &mut new_runs[at]);
            match self.run_of(&result) {
                Some(run) => runs.push(run),
                None if runs.is_empty() && row.runs.is_empty() => {
                    row.error = Some(result.reason.unwrap_or_else(|| "the test did not run".to_owned()));
                }
                None => {}
            }
        }
        for ((world, _), runs) in wanted.iter().zip(&new_runs) {
            log.runs += runs.len() as u32;
            let row = log.world_mut(world);
            row.runs.extend_from_slice(runs);
            if !runs.is_empty() {
                row.error = None;
            }
        }
        new_runs.iter().map(|runs| failures(runs)).collect()
    }

    fn request(&self, world: &TrialWorld, factors: Vec<Factor>) -> SessionRequest {
        let before = order_of(&factors).map_or(Vec::new(), |order| tests_before(&self.tests, &self.unit, order));
        SessionRequest {
            new_process: world.needs_process() || self.new_processes.get(),
            under: Some(World::of(factors)),
            ..SessionRequest::new(Purpose::Factor, [before, self.unit.clone()].concat())
        }
    }

    /// None: it did not run to its end.
    fn run_of(&self, result: &SessionResult) -> Option<TrialRun> {
        let is_ours = |test: &TestId| self.unit.contains(test);
        let mut run = TrialRun { failed: None, crashed: true, seconds: 0.0, failing: Vec::new(), attempts: Vec::new() };
        for attempt in result.attempts.iter().filter(|attempt| is_ours(&attempt.test)) {
            run.seconds += attempt.seconds;
            run.attempts.push(attempt.index);
            run.crashed &= matches!(attempt.outcome, Outcome::Crashed(_));
            if attempt.outcome.is_failure() {
                run.failing.push(attempt.test.clone());
            }
            if attempt.outcome.is_failure() || attempt.outcome.is_pass() {
                run.failed = Some(!run.failing.is_empty());
            }
        }
        let is_complete = !run.attempts.is_empty() && !result.not_run.iter().any(is_ours);
        is_complete.then_some(run)
    }

    /// Finds worlds in which no test can run at all: the process dies, whichever test it is for.
    /// Their runs are no failures of the test.
    pub(crate) async fn exclude_unusable(&self, worlds: &[TrialWorld]) {
        let crashes = |world: &&TrialWorld| {
            let log = self.log.borrow();
            log.world(world).is_some_and(|row| !row.runs.is_empty() && row.runs.iter().all(|run| run.crashed))
        };
        let baseline_crashes = crashes(&&TrialWorld::BASELINE);
        for world in worlds.iter().filter(crashes).filter(|_| !baseline_crashes) {
            if self.unit.len() > 1 || self.control_crashes(world).await {
                let mut log = self.log.borrow_mut();
                let row = log.world_mut(world);
                row.runs.clear();
                row.error = Some("could not run: every test process died there".to_owned());
            }
        }
    }

    /// Whether another test, which passes at the baseline, dies in this world too.
    async fn control_crashes(&self, world: &TrialWorld) -> bool {
        let Some(control) = self.tests.iter().find(|test| !self.unit.contains(test)) else { return false };
        let request = |world: &TrialWorld| SessionRequest {
            under: Some(World::of(self.factors(world))),
            ..SessionRequest::new(Purpose::Factor, vec![control.clone()])
        };
        let there = std::iter::repeat_n(request(world), CONTROL_RUNS);
        let results = self.scheduler.run([request(&TrialWorld::BASELINE)].into_iter().chain(there).collect()).await;
        let outcome = |result: &SessionResult| result.last().map(|attempt| attempt.outcome);
        let crashed = |result: &SessionResult| matches!(outcome(result), Some(Outcome::Crashed(_)));
        outcome(&results[0]).is_some_and(Outcome::is_pass) && results[1..].iter().all(crashed)
    }

    pub(crate) fn failures(&self, world: &TrialWorld) -> FailureCount {
        self.log.borrow().failures(world)
    }

    /// Removes a world and its runs from the log.
    pub(crate) fn forget(&self, world: &TrialWorld) {
        self.log.borrow_mut().worlds.retain(|row| row.world != *world);
    }

    fn runs_left(&self) -> u32 {
        if self.scheduler.out_of_time() { 0 } else { self.max_runs.saturating_sub(self.log.borrow().runs) }
    }

    pub(crate) fn is_exhausted(&self) -> bool {
        self.runs_left() == 0
    }
}

/// Of two settings of a factor the later applies, unless it is repeatable.
pub(crate) fn with_changes(baseline: &[Factor], changes: &[Factor]) -> Vec<Factor> {
    let is_changed = |factor: &&Factor| changes.iter().any(|change| change.kind() == factor.kind());
    let stays = |factor: &&Factor| factor.kind().repeatable || !is_changed(factor);
    baseline.iter().filter(stays).chain(changes).cloned().collect()
}

/// The test order among these factors.
pub(crate) fn order_of(factors: &[Factor]) -> Option<u64> {
    let is_order = |factor: &&Factor| matches!(factor.kind().effect, FactorEffect::TestOrder);
    factors.iter().find(is_order).and_then(|factor| factor.setting().parse().ok())
}

/// The tests that come before these in an order: 0 is the runner's, 1 its reverse, others are
/// shuffled.
pub(crate) fn tests_before(tests: &[TestId], unit: &[TestId], order: u64) -> Vec<TestId> {
    let mut tests = tests.to_vec();
    match order {
        0 => {}
        1 => tests.reverse(),
        seed => SeededRng(seed).shuffle(&mut tests),
    }
    let before: Vec<TestId> = tests.into_iter().take_while(|test| !unit.contains(test)).collect();
    before[before.len().saturating_sub(MAX_BEFORE)..].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_end_before_the_test() {
        let tests = ["a", "b", "c", "d"].map(TestId::from);
        let names =
            |order| tests_before(&tests, &["c".into()], order).iter().map(TestId::to_string).collect::<String>();
        assert_eq!(names(0), "ab");
        assert_eq!(names(1), "d");
        assert!(!names(7).contains('c'));
    }
}
