//! What one process of the suite ran, and what of it brings about the state of its failures.

use unflake_model::{Attempt, TestId};

#[derive(Default)]
pub(crate) struct ProcessRun {
    /// In the order in which they ended, with the microsecond in which each began.
    tests: Vec<(TestId, i64)>,
    /// The place of the last test that failed.
    last_failure: usize,
    /// When the last failing test ended.
    failed_until: i64,
}

impl ProcessRun {
    pub(crate) fn observe(&mut self, attempt: &Attempt) {
        let began = attempt.started.0;
        if attempt.outcome.is_failure() {
            self.last_failure = self.tests.len();
            self.failed_until = self.failed_until.max(began + (attempt.seconds * 1e6) as i64);
        }
        self.tests.push((attempt.test.clone(), began));
    }

    /// Whether it ran more than one test.
    pub(crate) fn is_shared(&self) -> bool {
        self.tests.len() > 1
    }

    /// All its tests.
    pub(crate) fn all(self) -> Vec<TestId> {
        self.tests.into_iter().map(|(test, _)| test).collect()
    }

    /// The tests that ran before its last failure ended: those that began later cannot have caused
    /// it. Tests may run at the same time.
    pub(crate) fn until_failure(self) -> Vec<TestId> {
        let Self { tests, last_failure, failed_until } = self;
        let matters = |(at, (_, began)): &(usize, (TestId, i64))| *at <= last_failure || *began < failed_until;
        tests.into_iter().enumerate().filter(matters).map(|(_, (test, _))| test).collect()
    }
}

#[cfg(test)]
mod tests {
    use unflake_model::{Isolation, Outcome, Purpose, Session, SessionId, Timestamp};

    use super::*;
    use crate::simulation::attempt;

    /// Name, microseconds of begin and end, and outcome of each test, in the order in which they end.
    fn until_failure(ran: &[(&str, i64, i64, Outcome)]) -> String {
        let session = Session::fresh(SessionId(0), Purpose::Suite, Isolation::Process, Vec::new());
        let mut process = ProcessRun::default();
        for (name, began, ended, outcome) in ran {
            let seconds = (ended - began) as f64 / 1e6;
            let ended = attempt(&session, &(*name).into(), *outcome);
            process.observe(&Attempt { started: Timestamp(*began), seconds, ..ended });
        }
        process.until_failure().iter().map(TestId::as_str).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn tests_after_the_last_failure_are_left_out() {
        let (passed, failed) = (Outcome::Passed, Outcome::Failed);
        let ran = [("a", 0, 9, passed), ("b", 9, 20, failed), ("c", 20, 30, failed), ("d", 30, 40, passed)];
        assert_eq!(until_failure(&ran), "a b c");
        assert_eq!(until_failure(&ran[..2]), "a b");
    }

    #[test]
    fn tests_that_ran_beside_a_failure_stay() {
        let (passed, failed) = (Outcome::Passed, Outcome::Failed);
        let ran = [("a", 0, 20, failed), ("beside", 5, 90, passed), ("after", 30, 40, passed)];
        assert_eq!(until_failure(&ran), "a beside");
    }
}
