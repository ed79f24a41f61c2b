//! Runs one test once, in its own environment.

use unflake_model::{Event, Finding, Isolation, Purpose, Session, SessionId, TestId};

use crate::search::select::select_listed;
use crate::{Recordings, Technique};

pub struct SingleRun {
    name: String,
    /// Tests with the requested id, or else tests that contain it.
    pub matching: Vec<TestId>,
    requested: bool,
}

impl SingleRun {
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), matching: Vec::new(), requested: false }
    }
}

impl Technique for SingleRun {
    fn observe(&mut self, event: &Event, _: Recordings<'_>) {
        if let Event::TestsListed { tests, .. } = event {
            self.matching = select_listed(tests, Some(std::slice::from_ref(&self.name))).tests;
        }
    }

    fn next_sessions(&mut self, _: Recordings<'_>) -> Vec<Session> {
        let [test] = &self.matching[..] else { return Vec::new() };
        if std::mem::replace(&mut self.requested, true) {
            return Vec::new();
        }
        vec![Session::fresh(SessionId(1), Purpose::Look, Isolation::Fork, vec![test.clone()])]
    }

    fn findings(&self, _: Recordings<'_>) -> Vec<Finding> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::listed;

    fn requested(name: &str) -> (Vec<Session>, usize) {
        let mut once = SingleRun::new(name);
        once.observe(&listed(&["shop adds", "shop adds_twice", "shop pays"], true), Recordings::EMPTY);
        let sessions = once.next_sessions(Recordings::EMPTY);
        assert!(once.next_sessions(Recordings::EMPTY).is_empty());
        (sessions, once.matching.len())
    }

    #[test]
    fn an_exact_id_wins_over_a_part() {
        assert_eq!(requested("shop adds").0[0].tests, ["shop adds".into()]);
        assert_eq!(requested("pays").0[0].tests, ["shop pays".into()]);
    }

    #[test]
    fn an_ambiguous_name_is_not_run() {
        assert_eq!((requested("adds").0.len(), requested("adds").1), (0, 2));
        assert_eq!((requested("x").0.len(), requested("x").1), (0, 0));
    }
}
