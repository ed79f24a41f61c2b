//! Runs the named tests once, in the order in which they are named, in one session.

use unflake_model::{Event, Finding, Isolation, Purpose, Session, SessionId, TestId, World};

use crate::search::select::select_one;
use crate::{Recordings, Technique};

pub struct SingleSession {
    names: Vec<String>,
    purpose: Purpose,
    fresh_by: Isolation,
    under: Option<World>,
    at_once: u32,
    /// For each name: the test with that id, or else the tests that contain it.
    pub matching: Vec<Vec<TestId>>,
    requested: bool,
}

impl SingleSession {
    /// A test that is named twice runs twice.
    pub fn new(names: Vec<String>, purpose: Purpose, fresh_by: Isolation) -> Self {
        Self { names, purpose, fresh_by, under: None, at_once: 0, matching: Vec::new(), requested: false }
    }

    /// The same in another world than that of the user's runner.
    pub fn under(self, world: World) -> Self {
        Self { under: Some(world), ..self }
    }

    /// So many of the tests at the same time in one process.
    pub fn at_once(self, at_once: u32) -> Self {
        Self { at_once, ..self }
    }

    /// The tests to run. None: a name does not match exactly one test.
    fn tests(&self) -> Option<Vec<TestId>> {
        let only = |matching: &Vec<TestId>| match &matching[..] {
            [test] => Some(test.clone()),
            _ => None,
        };
        self.matching.iter().map(only).collect()
    }
}

impl Technique for SingleSession {
    fn observe(&mut self, event: &Event, _: Recordings<'_>) {
        if let Event::TestsListed { tests, .. } = event {
            let matching = |name: &String| select_one(tests, name);
            self.matching = self.names.iter().map(matching).collect();
        }
    }

    fn next_sessions(&mut self, _: Recordings<'_>) -> Vec<Session> {
        let Some(tests) = self.tests().filter(|_| !self.requested) else { return Vec::new() };
        self.requested = true;
        let session = Session::fresh(SessionId(0), self.purpose, self.fresh_by, tests);
        vec![Session { under: self.under.clone(), at_once: self.at_once, ..session }]
    }

    fn findings(&self, _: Recordings<'_>) -> Vec<Finding> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::listed;

    /// The tests of the session, and how many tests match each name.
    fn requested(names: &[&str]) -> (Vec<TestId>, Vec<usize>) {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        let mut single = SingleSession::new(names, Purpose::Replay, Isolation::Fork);
        single.observe(&listed(&["shop adds", "shop adds_twice", "shop pays"], true), Recordings::EMPTY);
        let sessions = single.next_sessions(Recordings::EMPTY);
        assert!(single.next_sessions(Recordings::EMPTY).is_empty());
        let tests = sessions.into_iter().flat_map(|session| session.tests).collect();
        (tests, single.matching.iter().map(Vec::len).collect())
    }

    #[test]
    fn an_exact_id_wins_over_a_part() {
        assert_eq!(requested(&["shop adds"]).0, ["shop adds".into()]);
        assert_eq!(requested(&["pays"]).0, ["shop pays".into()]);
    }

    #[test]
    fn tests_run_as_they_are_named() {
        let order = ["shop pays", "shop adds", "shop adds"];
        assert_eq!(requested(&order).0, order.map(TestId::from));
    }

    #[test]
    fn nothing_runs_where_a_name_is_ambiguous_or_unknown() {
        assert_eq!(requested(&["pays", "add"]), (Vec::new(), vec![1, 2]));
        assert_eq!(requested(&["x"]), (Vec::new(), vec![0]));
    }
}
