//! A session under way: what of it has been ordered, what runs now, what is left.

use std::collections::VecDeque;
use std::time::Instant;

use unflake_model::{Isolation, Placement, Purpose, Session, TestId, Timestamp};

use crate::fork_tree::prefix::Path;
use crate::fork_tree::route::Route;

pub(crate) struct Work {
    pub(crate) session: Session,
    /// The way to the state in which it begins, where that is not the fresh one. Its tests are not among the parts.
    pub(crate) route: Option<Route>,
    parts: VecDeque<Part>,
    /// Of the part that has been ordered: the tests that have not begun.
    ordered: VecDeque<TestId>,
    /// How many tests that part had.
    in_part: usize,
    base: u32,
    /// The attempts that are being made. More than one only where the agent runs tests side by side.
    pub(crate) running: Vec<Current>,
    why_left: Option<String>,
    barren_deaths: u32,
}

/// Tests that can be ordered in one go.
#[derive(Debug, PartialEq)]
pub(crate) struct Part {
    pub(crate) tests: Vec<TestId>,
    pub(crate) again: u32,
    /// How many attempts the session had made at these tests before.
    base: u32,
}

/// The attempt that is being made.
pub(crate) struct Current {
    pub(crate) test: TestId,
    pub(crate) run: u32,
    pub(crate) began: Instant,
    pub(crate) started: Timestamp,
    pub(crate) overdue: Option<Overdue>,
    /// The process in which it is made, where that is not the environment itself.
    pub(crate) process: Option<Process>,
}

/// A process that an agent has started for tests.
#[derive(Clone, Copy)]
pub(crate) struct Process {
    pub(crate) id: u32,
    /// How many attempts it had made before.
    pub(crate) position: u32,
    /// Whether each test has a in-process environment of its own in it.
    pub(crate) in_process: bool,
}

/// An attempt that has run out of time.
pub(crate) struct Overdue {
    pub(crate) since: Instant,
    pub(crate) killed: bool,
    pub(crate) stack: String,
}

impl Work {
    /// `stateful`: tests leave state behind in their environment, so that there is a way to one.
    pub(crate) fn new(session: Session, stateful: bool) -> Self {
        let route = Path::of(&session).filter(|_| stateful).map(Route::new);
        let on_the_way = if route.is_some() { session.tests.len().min(session.prefix as usize) } else { 0 };
        let rest = Part { tests: session.tests[on_the_way..].to_vec(), again: session.again, base: 0 };
        Self {
            session,
            route,
            parts: VecDeque::from([rest]),
            ordered: VecDeque::new(),
            in_part: 0,
            base: 0,
            running: Vec::new(),
            why_left: None,
            barren_deaths: 0,
        }
    }

    /// The next part to order. None when the session is over.
    pub(crate) fn next_part(&mut self) -> Option<Part> {
        let part = self.parts.pop_front().filter(|part| !part.tests.is_empty())?;
        self.ordered = part.tests.iter().cloned().collect();
        self.in_part = part.tests.len();
        self.base = part.base;
        Some(part)
    }

    /// The tests that lead to this step of its way are ordered.
    pub(crate) fn go_to(&mut self, step: usize) -> Vec<TestId> {
        let Some(route) = &mut self.route else { return Vec::new() };
        let tests: Vec<TestId> = route.path.tests(route.ordered, step).cloned().collect();
        route.ordered = step;
        self.ordered = tests.iter().cloned().collect();
        tests
    }

    /// How many steps of its way are behind it, the last perhaps not yet at its end.
    pub(crate) fn steps_begun(&self) -> usize {
        self.route.as_ref().map_or(0, |route| route.ordered - self.ordered.len())
    }

    /// It is in an environment that has made so many steps of its way, or is to begin again.
    pub(crate) fn set_out_from(&mut self, step: usize) {
        if let Some(route) = &mut self.route {
            route.ordered = step;
            self.ordered.clear();
        }
    }

    /// Whether what it comes to is compared with what others come to, so that all must find the same.
    pub(crate) fn is_compared(&self) -> bool {
        matches!(self.session.purpose, Purpose::Twice | Purpose::Order | Purpose::Search | Purpose::State)
    }

    /// The way that it can go together with others.
    pub(crate) fn shared_path(&self) -> Option<&Path> {
        let watches = self.session.probe.as_ref().is_some_and(|probe| !probe.watch.is_empty());
        let shares = self.session.place == Placement::Fresh(Isolation::Fork) && !watches;
        self.route.as_ref().map(|route| &route.path).filter(|_| shares)
    }

    /// Whether it has not begun what comes after its way.
    pub(crate) fn is_on_the_way(&self) -> bool {
        self.route.as_ref().is_some_and(|route| !route.is_over)
    }

    /// It is where it wanted to begin.
    pub(crate) fn arrive(&mut self) {
        self.route.iter_mut().for_each(|route| route.is_over = true);
    }

    /// Whether anything is to be done in the state to which its way leads.
    pub(crate) fn has_rest(&self) -> bool {
        let restores = self.session.probe.as_ref().is_some_and(|probe| !probe.restore.is_empty());
        restores || self.parts.iter().any(|part| !part.tests.is_empty())
    }

    /// Every test that is still to begin.
    pub(crate) fn needed(&self) -> impl Iterator<Item = &TestId> {
        let way = self.route.iter().flat_map(|route| route.path.tests(route.ordered, route.path.len()));
        self.ordered.iter().chain(way).chain(self.parts.iter().flat_map(|part| &part.tests))
    }

    /// An attempt has begun; which of the attempts at its test in this session it is.
    pub(crate) fn begin(
        &mut self,
        test: TestId,
        run: u32,
        began: Instant,
        started: Timestamp,
        process: Option<Process>,
    ) -> u32 {
        if run == 0
            && let Some(at) = self.ordered.iter().position(|ordered| *ordered == test)
        {
            match process {
                // Side by side, tests may begin in another order.
                Some(_) => drop(self.ordered.remove(at)),
                None => drop(self.ordered.drain(..=at)),
            }
        }
        if process.is_none() {
            self.running.clear();
        }
        self.barren_deaths = 0;
        let run = self.base + run;
        self.running.push(Current { test, run, began, started, overdue: None, process });
        run
    }

    /// Takes out the attempt at this test that is being made.
    pub(crate) fn ended(&mut self, test: &TestId) -> Option<Current> {
        let at = self.running.iter().position(|current| current.test == *test)?;
        Some(self.running.remove(at))
    }

    /// The runner will not begin the tests that are still ordered.
    pub(crate) fn stop(&mut self, why: String) {
        self.why_left.get_or_insert(why);
    }

    /// Its environment has died, and so have the attempts that were being made, which are handed back. What is left is to
    /// be ordered in another environment, the interrupted tests first if they may be run again. Where the environment had to be
    /// in a certain state, no other will do.
    pub(crate) fn environment_died(&mut self) -> Vec<Current> {
        let dead = std::mem::take(&mut self.running);
        self.barren_deaths += u32::from(dead.is_empty());
        if self.route.is_some() {
            return dead;
        }
        if let Some(rest) = Some(self.ordered.drain(..).collect::<Vec<_>>()).filter(|rest| !rest.is_empty()) {
            self.parts.push_front(Part { tests: rest, again: self.session.again, base: 0 });
        }
        for current in dead.iter().filter(|current| current.run < self.session.again) {
            self.parts.push_front(Part {
                tests: vec![current.test.clone()],
                again: self.session.again - current.run - 1,
                base: current.run + 1,
            });
        }
        dead
    }

    /// The runner has not begun all that was ordered, and that was no reason to stop: the others are ordered once more. An order
    /// of which it began nothing is not repeated.
    pub(crate) fn resume(&mut self) {
        if !self.is_stopped() && !self.ordered.is_empty() && self.ordered.len() < self.in_part {
            let tests = self.ordered.drain(..).collect();
            self.parts.push_front(Part { tests, again: self.session.again, base: 0 });
        }
    }

    /// The runner ends itself, in the middle of an attempt perhaps.
    pub(crate) fn cut_short(&mut self, why: String) {
        self.disregard_running();
        self.stop(why);
    }

    pub(crate) fn disregard_running(&mut self) {
        for current in std::mem::take(&mut self.running) {
            self.disregard(current);
        }
    }

    /// The attempt does not count: nobody knows how it would have ended. A test that had none before is left.
    pub(crate) fn disregard(&mut self, current: Current) {
        if current.run == 0 {
            self.ordered.push_front(current.test);
        }
    }

    /// Environments keep dying before they begin a test: there is no use in making more.
    pub(crate) fn is_hopeless(&self) -> bool {
        self.barren_deaths >= 3
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.why_left.is_some()
    }

    /// Whether another part follows the one that has been ordered.
    pub(crate) fn has_more(&self) -> bool {
        !self.parts.is_empty()
    }

    pub(crate) fn is_over(&self) -> bool {
        !self.is_on_the_way() && self.parts.is_empty() && self.running.is_empty()
    }

    /// What was planned and not run, and why.
    pub(crate) fn left(self) -> (Vec<TestId>, Option<String>) {
        (self.needed().cloned().collect(), self.why_left)
    }
}

#[cfg(test)]
mod tests {
    use unflake_model::SessionId;

    use super::*;

    fn work(tests: &[&str], again: u32) -> Work {
        let tests = tests.iter().map(|test| TestId::from(*test)).collect();
        Work::new(Session { again, ..Session::fresh(SessionId(0), Purpose::Suite, Isolation::Fork, tests) }, true)
    }

    fn names(part: Option<Part>) -> Vec<String> {
        part.map(|part| part.tests.iter().map(TestId::to_string).collect()).unwrap_or_default()
    }

    fn begin(work: &mut Work, test: &str, run: u32) {
        work.begin(test.into(), run, Instant::now(), Timestamp(0), None);
    }

    #[test]
    fn after_a_death_the_test_that_died_is_run_again_first_and_then_the_rest() {
        let mut work = work(&["a", "b", "c"], 1);
        assert_eq!(names(work.next_part()), ["a", "b", "c"]);
        begin(&mut work, "a", 0);
        work.running.clear();
        begin(&mut work, "b", 0);
        assert_eq!(work.environment_died()[0].test, "b".into());
        let again = work.next_part().unwrap();
        assert_eq!((names(Some(again)), work.base), (vec!["b".to_owned()], 1));
        begin(&mut work, "b", 0);
        assert_eq!(work.running[0].run, 1);
        assert_eq!(work.environment_died()[0].run, 1);
        assert_eq!(names(work.next_part()), ["c"]);
        begin(&mut work, "c", 0);
        work.running.clear();
        assert!(work.next_part().is_none());
        assert!(work.is_over());
    }

    #[test]
    fn environments_that_die_before_any_test_are_given_up_after_three() {
        let mut work = work(&["a"], 0);
        for _ in 0..3 {
            assert!(!work.is_hopeless());
            work.next_part();
            assert!(work.environment_died().is_empty());
        }
        assert!(work.is_hopeless());
        assert_eq!(work.left().0, ["a".into()]);
    }

    #[test]
    fn tests_that_run_side_by_side_may_begin_and_end_in_any_order() {
        let mut work = work(&["a", "b", "c"], 0);
        work.next_part();
        let aside = |id| Some(Process { id, position: 0, in_process: false });
        work.begin("b".into(), 0, Instant::now(), Timestamp(0), aside(7));
        work.begin("a".into(), 0, Instant::now(), Timestamp(0), aside(8));
        assert_eq!(work.ended(&"b".into()).unwrap().process.unwrap().id, 7);
        assert!(work.ended(&"b".into()).is_none());
        assert_eq!(work.needed().collect::<Vec<_>>(), [&TestId::from("c")]);
        assert_eq!(work.environment_died().len(), 1);
    }

    #[test]
    fn what_a_stopped_runner_did_not_begin_is_left() {
        let mut work = work(&["a", "b", "c"], 0);
        work.next_part();
        begin(&mut work, "a", 0);
        work.running.clear();
        work.stop("--maxfail".to_owned());
        assert_eq!(work.left(), (vec!["b".into(), "c".into()], Some("--maxfail".to_owned())));
    }

    #[test]
    fn a_session_that_does_not_reach_its_state_leaves_the_rest_of_the_way_too() {
        let tests = ["a", "b", "c", "v"].map(TestId::from).to_vec();
        let session = Session { prefix: 3, ..Session::fresh(SessionId(0), Purpose::Search, Isolation::Fork, tests) };
        let mut work = Work::new(session.clone(), true);
        work.set_out_from(0);
        assert_eq!(work.go_to(2), ["a".into(), "b".into()]);
        begin(&mut work, "a", 0);
        assert_eq!(work.steps_begun(), 1);
        assert_eq!(work.environment_died()[0].test, "a".into());
        assert_eq!(work.left().0, ["b", "c", "v"].map(TestId::from));
        assert_eq!(names(Work::new(session, false).next_part()), ["a", "b", "c", "v"]);
    }

    #[test]
    fn what_a_runner_did_not_begin_for_a_limit_is_ordered_once_more() {
        let mut work = work(&["a", "b", "c"], 0);
        work.next_part();
        begin(&mut work, "a", 0);
        work.running.clear();
        work.resume();
        assert_eq!(names(work.next_part()), ["b", "c"]);
        // It begins nothing any more: that is its last word.
        work.resume();
        assert!(work.is_over());
        assert_eq!(work.left().0, ["b".into(), "c".into()]);
    }
}
