//! A session under way: what of it has been ordered, what runs now, what is left.

use std::collections::VecDeque;
use std::time::Instant;

use unflake_model::{Session, TestId, Timestamp};

pub(crate) struct Work {
    pub(crate) session: Session,
    parts: VecDeque<Part>,
    /// Of the part that has been ordered: the tests that have not begun.
    ordered: VecDeque<TestId>,
    base: u32,
    pub(crate) current: Option<Current>,
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
}

/// An attempt that has run out of time.
pub(crate) struct Overdue {
    pub(crate) since: Instant,
    pub(crate) killed: bool,
    pub(crate) stack: String,
}

impl Work {
    pub(crate) fn new(session: Session) -> Self {
        let whole = Part { tests: session.tests.clone(), again: session.again, base: 0 };
        Self {
            session,
            parts: VecDeque::from([whole]),
            ordered: VecDeque::new(),
            base: 0,
            current: None,
            why_left: None,
            barren_deaths: 0,
        }
    }

    /// The next part to order. None when the session is over.
    pub(crate) fn next_part(&mut self) -> Option<Part> {
        let part = self.parts.pop_front().filter(|part| !part.tests.is_empty())?;
        self.ordered = part.tests.iter().cloned().collect();
        self.base = part.base;
        Some(part)
    }

    /// Every test that is still to begin.
    pub(crate) fn needed(&self) -> impl Iterator<Item = &TestId> {
        self.ordered.iter().chain(self.parts.iter().flat_map(|part| &part.tests))
    }

    pub(crate) fn begin(&mut self, test: TestId, run: u32, began: Instant, started: Timestamp) -> &Current {
        if run == 0
            && let Some(at) = self.ordered.iter().position(|ordered| *ordered == test)
        {
            self.ordered.drain(..=at);
        }
        self.barren_deaths = 0;
        self.current.insert(Current { test, run: self.base + run, began, started, overdue: None })
    }

    /// The runner will not begin the tests that are still ordered.
    pub(crate) fn stop(&mut self, why: String) {
        self.why_left.get_or_insert(why);
    }

    /// Its environment has died, and so has the attempt that was being made, which is handed back. What is left is to
    /// be ordered in another environment, the interrupted test first if it may be run again.
    pub(crate) fn environment_died(&mut self) -> Option<Current> {
        let current = self.current.take();
        if let Some(rest) = Some(self.ordered.drain(..).collect::<Vec<_>>()).filter(|rest| !rest.is_empty()) {
            self.parts.push_front(Part { tests: rest, again: self.session.again, base: 0 });
        }
        match &current {
            Some(dead) if dead.run < self.session.again => self.parts.push_front(Part {
                tests: vec![dead.test.clone()],
                again: self.session.again - dead.run - 1,
                base: dead.run + 1,
            }),
            Some(_) => {}
            None => self.barren_deaths += 1,
        }
        current
    }

    /// The runner ends itself, in the middle of an attempt perhaps.
    pub(crate) fn cut_short(&mut self, why: String) {
        if let Some(current) = self.current.take() {
            self.disregard(current);
        }
        self.stop(why);
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
        self.parts.is_empty() && self.current.is_none()
    }

    /// What was planned and not run, and why.
    pub(crate) fn left(self) -> (Vec<TestId>, Option<String>) {
        let left = self.ordered.into_iter().chain(self.parts.into_iter().flat_map(|part| part.tests)).collect();
        (left, self.why_left)
    }
}

#[cfg(test)]
mod tests {
    use unflake_model::{Place, Purpose, SessionId};

    use super::*;

    fn work(tests: &[&str], again: u32) -> Work {
        Work::new(Session {
            id: SessionId(0),
            purpose: Purpose::Suite,
            place: Place::Live,
            tests: tests.iter().map(|test| TestId::from(*test)).collect(),
            again,
        })
    }

    fn names(part: Option<Part>) -> Vec<String> {
        part.map(|part| part.tests.iter().map(TestId::to_string).collect()).unwrap_or_default()
    }

    fn begin(work: &mut Work, test: &str, run: u32) {
        work.begin(test.into(), run, Instant::now(), Timestamp(0));
    }

    #[test]
    fn after_a_death_the_test_that_died_is_run_again_first_and_then_the_rest() {
        let mut work = work(&["a", "b", "c"], 1);
        assert_eq!(names(work.next_part()), ["a", "b", "c"]);
        begin(&mut work, "a", 0);
        work.current = None;
        begin(&mut work, "b", 0);
        assert_eq!(work.environment_died().unwrap().test, "b".into());
        let again = work.next_part().unwrap();
        assert_eq!((names(Some(again)), work.base), (vec!["b".to_owned()], 1));
        begin(&mut work, "b", 0);
        assert_eq!(work.current.as_ref().unwrap().run, 1);
        assert_eq!(work.environment_died().unwrap().run, 1);
        assert_eq!(names(work.next_part()), ["c"]);
        begin(&mut work, "c", 0);
        work.current = None;
        assert!(work.next_part().is_none());
        assert!(work.is_over());
    }

    #[test]
    fn environments_that_die_before_any_test_are_given_up_after_three() {
        let mut work = work(&["a"], 0);
        for _ in 0..3 {
            assert!(!work.is_hopeless());
            work.next_part();
            assert!(work.environment_died().is_none());
        }
        assert!(work.is_hopeless());
        assert_eq!(work.left().0, ["a".into()]);
    }

    #[test]
    fn what_a_stopped_runner_did_not_begin_is_left() {
        let mut work = work(&["a", "b", "c"], 0);
        work.next_part();
        begin(&mut work, "a", 0);
        work.current = None;
        work.stop("--maxfail".to_owned());
        assert_eq!(work.left(), (vec!["b".into(), "c".into()], Some("--maxfail".to_owned())));
    }
}
