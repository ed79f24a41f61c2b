//! The test at the same time as other tests of its program, in one process: which of them disturbs
//! it.

use unflake_model::{Event, Finding, Session, SessionId, TestId};

use crate::search::budget::Budget;
use crate::stress::company::Company;
use crate::{Recordings, Technique};

/// How often all other tests of the program are tried.
const ROUNDS: u32 = 2;
/// Only the number of tests decides here how many run at the same time.
const THREADS: u32 = 2;

pub(crate) struct CompanyTrial {
    test: TestId,
    company: Company,
    budget: Budget,
    rounds: u32,
    sessions: u32,
}

impl CompanyTrial {
    pub(crate) fn new(test: TestId, seconds: f64) -> Self {
        let (company, budget) = (Company::new(THREADS, 1), Budget::new(seconds));
        Self { test, company, budget, rounds: 0, sessions: 0 }
    }

    fn examinations(&mut self) -> Vec<Session> {
        let Self { company, sessions, .. } = self;
        company.examinations(|| {
            *sessions += 1;
            SessionId(*sessions)
        })
    }
}

impl Technique for CompanyTrial {
    fn observe(&mut self, event: &Event, _: Recordings<'_>) {
        match event {
            Event::TestsListed { tests, .. } => self.company.listed(tests),
            Event::AttemptEnded(attempt) => {
                self.budget.observe(attempt);
                self.company.observe(attempt);
            }
            _ => {}
        }
    }

    fn next_sessions(&mut self, _: Recordings<'_>) -> Vec<Session> {
        self.company.batch_ended();
        loop {
            if self.budget.is_exhausted() {
                return Vec::new();
            }
            let sessions = self.examinations();
            if !sessions.is_empty() || self.rounds == ROUNDS {
                return sessions;
            }
            self.rounds += 1;
            self.company.suspect(&self.test);
        }
    }

    /// Only a companion that is confirmed explains anything.
    fn findings(&self, _: Recordings<'_>) -> Vec<Finding> {
        let names_companion =
            |finding: &Finding| finding.verdict().is_some_and(|verdict| !verdict.evidence.beside.is_empty());
        self.company.findings().into_iter().filter(names_companion).collect()
    }
}

#[cfg(test)]
mod tests {
    use unflake_model::{Attempt, Outcome, Timestamp};

    use super::*;
    use crate::simulation::{attempt, listed};

    /// Findings, and the number of sessions. `fails`: whether `t00` fails at the same time as these.
    fn tried(count: usize, fails: impl Fn(&[&str], u32) -> bool) -> (Vec<Finding>, usize) {
        let names: Vec<String> = (0..count).map(|at| format!("t{at:02}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut trial = CompanyTrial::new("t00".into(), 1e6);
        trial.observe(&listed(&names, true), Recordings::EMPTY);
        let (mut ran, mut clock) = (0, 0);
        loop {
            let sessions = trial.next_sessions(Recordings::EMPTY);
            if sessions.is_empty() {
                return (trial.findings(Recordings::EMPTY), ran);
            }
            for session in &sessions {
                ran += 1;
                let all: Vec<&str> = session.tests.iter().map(TestId::as_str).collect();
                for test in &session.tests {
                    let failed = test.as_str() == "t00" && fails(&all, session.at_once);
                    let outcome = if failed { Outcome::Failed } else { Outcome::Passed };
                    let attempt =
                        Attempt { started: Timestamp(clock), seconds: 0.01, ..attempt(session, test, outcome) };
                    trial.observe(&Event::AttemptEnded(attempt), Recordings::EMPTY);
                    clock += 3_000;
                }
            }
        }
    }

    #[test]
    fn the_test_that_disturbs_it_is_named() {
        for count in [2, 5, 40] {
            let (found, _) = tried(count, |all, at_once| at_once > 1 && all.contains(&"t01"));
            let [finding] = &found[..] else { panic!("{count}: {found:?}") };
            assert!(finding.sentence.starts_with("fails when it runs at the same time as t01"), "{}", finding.sentence);
            assert_eq!(finding.confidence(), Some(unflake_model::Confidence::Likely));
        }
    }

    #[test]
    fn a_test_that_nothing_disturbs_has_no_finding() {
        for count in [1, 2, 5, 40] {
            let (found, sessions) = tried(count, |_, _| false);
            assert!(found.is_empty() && sessions < 300, "{count}: {sessions} sessions, {found:?}");
        }
    }

    #[test]
    fn a_test_that_fails_alone_is_not_blamed_on_others() {
        assert!(tried(5, |_, _| true).0.is_empty());
    }
}
