//! A running session: which of its tests have been ordered, which run now, which remain.

use std::collections::VecDeque;
use std::time::Instant;

use tracing::{Span, debug, debug_span};
use unflake_model::{Isolation, Placement, Purpose, Session, TestId, Timestamp};

use crate::fork_tree::path::StatePath;
use crate::fork_tree::route::Route;

/// So many environments in a row may exit before they start a test.
const MAX_EARLY_EXITS: u32 = 3;

pub(crate) struct ActiveSession {
    pub(crate) session: Session,
    /// How to reach the state in which it starts, where that is not the fresh one. The tests on the
    /// route are in none of the batches.
    pub(crate) route: Option<Route>,
    /// Its diagnostics.
    pub(crate) span: Span,
    batches: VecDeque<TestBatch>,
    /// Tests that have been ordered and have not started.
    ordered: VecDeque<TestId>,
    /// Number of tests in the batch that was ordered last.
    batch_size: usize,
    /// Number of attempts at the tests of that batch before it.
    earlier_runs: u32,
    /// Running attempts. More than one only where the agent runs tests in parallel.
    pub(crate) running: Vec<RunningAttempt>,
    /// Tests whose start or result was never reported.
    lost: Vec<TestId>,
    /// Why the rest does not run.
    stop_reason: Option<String>,
    /// Number of environments in a row that exited before they started a test.
    early_exits: u32,
}

/// Tests that can be ordered at once.
#[derive(Debug, PartialEq)]
pub(crate) struct TestBatch {
    pub(crate) tests: Vec<TestId>,
    pub(crate) again: u32,
    /// Number of attempts at these tests before.
    earlier_runs: u32,
}

pub(crate) struct RunningAttempt {
    pub(crate) test: TestId,
    pub(crate) run: u32,
    pub(crate) began: Instant,
    pub(crate) started: Timestamp,
    pub(crate) overdue: Option<Overdue>,
    /// The process that makes it, where that is not the environment itself.
    pub(crate) process: Option<TestProcess>,
}

/// A process that an agent has started for tests.
#[derive(Clone, Copy)]
pub(crate) struct TestProcess {
    pub(crate) id: u32,
    /// Number of attempts made in it before.
    pub(crate) position: u32,
    /// Each test has an in-process environment of its own in it.
    pub(crate) in_process: bool,
}

/// An attempt that has exceeded its time limit.
pub(crate) struct Overdue {
    pub(crate) since: Instant,
    pub(crate) is_killed: bool,
    pub(crate) stacks: String,
}

impl ActiveSession {
    /// `stateful`: tests leave state in their environment, so that the prefix needs a route.
    pub(crate) fn new(session: Session, stateful: bool) -> Self {
        let route = StatePath::of(&session).filter(|_| stateful).map(Route::new);
        let on_route = if route.is_some() { session.tests.len().min(session.prefix as usize) } else { 0 };
        let rest = TestBatch { tests: session.tests[on_route..].to_vec(), again: session.again, earlier_runs: 0 };
        let span = debug_span!("session", id = session.id.0, purpose = session.purpose.word());
        Self {
            session,
            route,
            span,
            batches: VecDeque::from([rest]),
            ordered: VecDeque::new(),
            batch_size: 0,
            earlier_runs: 0,
            running: Vec::new(),
            lost: Vec::new(),
            stop_reason: None,
            early_exits: 0,
        }
    }

    /// The next batch to order. None when the session is done.
    pub(crate) fn next_batch(&mut self) -> Option<TestBatch> {
        let batch = self.batches.pop_front().filter(|batch| !batch.tests.is_empty())?;
        self.ordered = batch.tests.iter().cloned().collect();
        self.batch_size = batch.tests.len();
        self.earlier_runs = batch.earlier_runs;
        Some(batch)
    }

    /// The tests up to this step of the route; they count as ordered.
    pub(crate) fn order_route_to(&mut self, step: usize) -> Vec<TestId> {
        let Some(route) = &mut self.route else { return Vec::new() };
        let tests: Vec<TestId> = route.path.tests(route.ordered, step).cloned().collect();
        route.ordered = step;
        self.ordered = tests.iter().cloned().collect();
        tests
    }

    /// Number of route steps that have started; the last may still run.
    pub(crate) fn steps_started(&self) -> usize {
        self.route.as_ref().map_or(0, |route| route.ordered - self.ordered.len())
    }

    /// It has an environment that has completed so many steps of its route.
    pub(crate) fn continue_route_from(&mut self, step: usize) {
        if let Some(route) = &mut self.route {
            route.ordered = step;
            self.ordered.clear();
        }
    }

    /// Whether its results are compared with those of other sessions, so that all must find the
    /// same project files.
    pub(crate) fn is_compared(&self) -> bool {
        matches!(
            self.session.purpose,
            Purpose::Twice | Purpose::Order | Purpose::Search | Purpose::State | Purpose::Replay
        )
    }

    /// Whether it has to start with the same files loaded as other sessions, over several calls.
    pub(crate) fn compares_states(&self) -> bool {
        self.route.is_some() || matches!(self.session.purpose, Purpose::Order | Purpose::Search | Purpose::State)
    }

    /// The path to its state, where it can share it with other sessions.
    pub(crate) fn shareable_path(&self) -> Option<&StatePath> {
        let watches = self.session.probe.as_ref().is_some_and(|probe| !probe.watch.is_empty());
        let shares = self.session.place == Placement::Fresh(Isolation::Fork) && !watches;
        self.route.as_ref().map(|route| &route.path).filter(|_| shares)
    }

    /// Whether it has not reached the end of its route.
    pub(crate) fn is_on_route(&self) -> bool {
        self.route.as_ref().is_some_and(|route| !route.has_arrived)
    }

    pub(crate) fn arrive(&mut self) {
        self.route.iter_mut().for_each(|route| route.has_arrived = true);
    }

    /// Whether anything is to be done in the state at the end of its route.
    pub(crate) fn has_work_after_route(&self) -> bool {
        let restores = self.session.probe.as_ref().is_some_and(|probe| !probe.restore.is_empty());
        restores || self.batches.iter().any(|batch| !batch.tests.is_empty())
    }

    /// The tests that have not started.
    pub(crate) fn remaining(&self) -> impl Iterator<Item = &TestId> {
        let on_route = self.route.iter().flat_map(|route| route.path.tests(route.ordered, route.path.len()));
        self.ordered.iter().chain(on_route).chain(self.batches.iter().flat_map(|batch| &batch.tests))
    }

    /// An attempt starts. Returns how many attempts at its test this session made before.
    pub(crate) fn attempt_started(
        &mut self,
        test: TestId,
        run: u32,
        began: Instant,
        started: Timestamp,
        process: Option<TestProcess>,
    ) -> u32 {
        if run == 0
            && let Some(at) = self.ordered.iter().position(|ordered| *ordered == test)
        {
            match process {
                // Tests that run in parallel may start in another order.
                Some(_) => drop(self.ordered.remove(at)),
                None => {
                    self.lost.extend(self.ordered.drain(..at));
                    self.ordered.pop_front();
                }
            }
        }
        if process.is_none() {
            self.lose_running();
        }
        self.early_exits = 0;
        let run = self.earlier_runs + run;
        self.running.push(RunningAttempt { test, run, began, started, overdue: None, process });
        run
    }

    /// Takes out the running attempt at this test.
    pub(crate) fn attempt_ended(&mut self, test: &TestId) -> Option<RunningAttempt> {
        let at = self.running.iter().position(|running| running.test == *test)?;
        Some(self.running.remove(at))
    }

    /// Takes out the running attempts of one process.
    pub(crate) fn take_running_in(&mut self, process: Option<u32>) -> Vec<RunningAttempt> {
        let is_there =
            |attempt: &mut RunningAttempt| process.is_some() && attempt.process.map(|process| process.id) == process;
        self.running.extract_if(.., is_there).collect()
    }

    /// The agent has gone on without a result of the running attempts.
    pub(crate) fn lose_running(&mut self) {
        self.lost.extend(self.running.drain(..).map(|attempt| attempt.test));
    }

    /// Tests whose start or result was never reported, though the agent went on.
    pub(crate) fn take_lost(&mut self) -> Vec<TestId> {
        std::mem::take(&mut self.lost)
    }

    /// The rest does not run. The first reason counts.
    pub(crate) fn stop(&mut self, why: String) {
        debug!(parent: &self.span, why, "session stops");
        self.stop_reason.get_or_insert(why);
    }

    /// Its environment has exited, and with it the running attempts, which are returned. The rest
    /// is ordered in another environment, interrupted tests first if they may run again. On a route
    /// nothing is ordered again: another environment would not be in the same state.
    pub(crate) fn environment_exited(&mut self) -> Vec<RunningAttempt> {
        let dead = std::mem::take(&mut self.running);
        self.early_exits += u32::from(dead.is_empty());
        if self.route.is_some() {
            return dead;
        }
        if let Some(rest) = Some(self.ordered.drain(..).collect::<Vec<_>>()).filter(|rest| !rest.is_empty()) {
            self.batches.push_front(TestBatch { tests: rest, again: self.session.again, earlier_runs: 0 });
        }
        for attempt in dead.iter().filter(|attempt| attempt.run < self.session.again) {
            self.batches.push_front(TestBatch {
                tests: vec![attempt.test.clone()],
                again: self.session.again - attempt.run - 1,
                earlier_runs: attempt.run + 1,
            });
        }
        dead
    }

    /// The runner did not start all ordered tests, for a limit that does not count here: the others
    /// are ordered again. An order of which no test started is not repeated.
    pub(crate) fn order_rest_again(&mut self) {
        if !self.is_stopped() && !self.ordered.is_empty() && self.ordered.len() < self.batch_size {
            let tests = self.ordered.drain(..).collect();
            self.batches.push_front(TestBatch { tests, again: self.session.again, earlier_runs: 0 });
        }
    }

    /// The runner stops by itself, possibly in the middle of an attempt.
    pub(crate) fn runner_stopped(&mut self, why: String) {
        self.discard_running();
        self.stop(why);
    }

    pub(crate) fn discard_running(&mut self) {
        for attempt in std::mem::take(&mut self.running) {
            self.discard(attempt);
        }
    }

    /// The attempt does not count: its outcome is not known. A test without an earlier attempt
    /// remains.
    pub(crate) fn discard(&mut self, attempt: RunningAttempt) {
        if attempt.run == 0 {
            self.ordered.push_front(attempt.test);
        }
    }

    /// Whether environments keep exiting before they start a test, so that more would be useless.
    pub(crate) fn is_hopeless(&self) -> bool {
        self.early_exits >= MAX_EARLY_EXITS
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop_reason.is_some()
    }

    /// Whether another batch follows the one that has been ordered.
    pub(crate) fn has_more(&self) -> bool {
        !self.batches.is_empty()
    }

    pub(crate) fn is_done(&self) -> bool {
        !self.is_on_route() && self.batches.is_empty() && self.running.is_empty()
    }

    /// The tests that did not run, and why.
    pub(crate) fn into_unrun(self) -> (Vec<TestId>, Option<String>) {
        (self.remaining().cloned().collect(), self.stop_reason)
    }
}

#[cfg(test)]
mod tests {
    use unflake_model::SessionId;

    use super::*;

    fn work(tests: &[&str], again: u32) -> ActiveSession {
        let tests = tests.iter().map(|test| TestId::from(*test)).collect();
        ActiveSession::new(
            Session { again, ..Session::fresh(SessionId(0), Purpose::Suite, Isolation::Fork, tests) },
            true,
        )
    }

    fn names(batch: Option<TestBatch>) -> Vec<String> {
        batch.map(|batch| batch.tests.iter().map(TestId::to_string).collect()).unwrap_or_default()
    }

    fn start(work: &mut ActiveSession, test: &str, run: u32) {
        work.attempt_started(test.into(), run, Instant::now(), Timestamp(0), None);
    }

    #[test]
    fn after_an_exit_the_interrupted_test_runs_again_first() {
        let mut work = work(&["a", "b", "c"], 1);
        assert_eq!(names(work.next_batch()), ["a", "b", "c"]);
        start(&mut work, "a", 0);
        work.running.clear();
        start(&mut work, "b", 0);
        assert_eq!(work.environment_exited()[0].test, "b".into());
        let again = work.next_batch().unwrap();
        assert_eq!((names(Some(again)), work.earlier_runs), (vec!["b".to_owned()], 1));
        start(&mut work, "b", 0);
        assert_eq!(work.running[0].run, 1);
        assert_eq!(work.environment_exited()[0].run, 1);
        assert_eq!(names(work.next_batch()), ["c"]);
        start(&mut work, "c", 0);
        work.running.clear();
        assert!(work.next_batch().is_none());
        assert!(work.is_done());
    }

    #[test]
    fn a_result_that_never_arrives_is_lost() {
        let mut work = work(&["a", "b", "c", "d"], 0);
        work.next_batch();
        start(&mut work, "a", 0);
        work.attempt_ended(&"a".into());
        start(&mut work, "b", 0);
        // Neither the result of b nor the start of c is reported.
        start(&mut work, "d", 0);
        assert_eq!(work.take_lost(), ["c".into(), "b".into()]);
        work.lose_running();
        assert_eq!(work.take_lost(), ["d".into()]);
        assert!(work.into_unrun().0.is_empty());
    }

    #[test]
    fn three_environments_that_exit_early_are_enough() {
        let mut work = work(&["a"], 0);
        for _ in 0..3 {
            assert!(!work.is_hopeless());
            work.next_batch();
            assert!(work.environment_exited().is_empty());
        }
        assert!(work.is_hopeless());
        assert_eq!(work.into_unrun().0, ["a".into()]);
    }

    #[test]
    fn parallel_tests_may_start_and_end_in_any_order() {
        let mut work = work(&["a", "b", "c"], 0);
        work.next_batch();
        let process = |id| Some(TestProcess { id, position: 0, in_process: false });
        work.attempt_started("b".into(), 0, Instant::now(), Timestamp(0), process(7));
        work.attempt_started("a".into(), 0, Instant::now(), Timestamp(0), process(8));
        assert_eq!(work.attempt_ended(&"b".into()).unwrap().process.unwrap().id, 7);
        assert!(work.attempt_ended(&"b".into()).is_none());
        assert_eq!(work.remaining().collect::<Vec<_>>(), [&TestId::from("c")]);
        assert_eq!(work.environment_exited().len(), 1);
    }

    #[test]
    fn tests_that_a_stopped_runner_did_not_start_are_unrun() {
        let mut work = work(&["a", "b", "c"], 0);
        work.next_batch();
        start(&mut work, "a", 0);
        work.running.clear();
        work.stop("--maxfail".to_owned());
        assert_eq!(work.into_unrun(), (vec!["b".into(), "c".into()], Some("--maxfail".to_owned())));
    }

    #[test]
    fn a_session_that_does_not_reach_its_state_leaves_the_rest_of_its_route_unrun() {
        let tests = ["a", "b", "c", "v"].map(TestId::from).to_vec();
        let session = Session { prefix: 3, ..Session::fresh(SessionId(0), Purpose::Search, Isolation::Fork, tests) };
        let mut work = ActiveSession::new(session.clone(), true);
        work.continue_route_from(0);
        assert_eq!(work.order_route_to(2), ["a".into(), "b".into()]);
        start(&mut work, "a", 0);
        assert_eq!(work.steps_started(), 1);
        assert_eq!(work.environment_exited()[0].test, "a".into());
        assert_eq!(work.into_unrun().0, ["b", "c", "v"].map(TestId::from));
        assert_eq!(names(ActiveSession::new(session, false).next_batch()), ["a", "b", "c", "v"]);
    }

    #[test]
    fn tests_that_a_runner_did_not_start_for_a_limit_are_ordered_again() {
        let mut work = work(&["a", "b", "c"], 0);
        work.next_batch();
        start(&mut work, "a", 0);
        work.running.clear();
        work.order_rest_again();
        assert_eq!(names(work.next_batch()), ["b", "c"]);
        // It starts nothing any more: the order is not repeated.
        work.order_rest_again();
        assert!(work.is_done());
        assert_eq!(work.into_unrun().0, ["b".into(), "c".into()]);
    }
}
