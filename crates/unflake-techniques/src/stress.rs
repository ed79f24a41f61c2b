//! Stress: runs every test repeatedly, in parallel with copies of itself, until it fails or the
//! budget is exhausted.
//!
//! Copies contend for everything a test shares with other processes (ports, files, the clock, the
//! CPU), and more of them run than there are cores. Each copy has a fresh environment, so that
//! nothing else differs between attempts. A test that has failed is not run again once it has also
//! passed or failed often enough; the others continue.
//!
//! Every test runs once before any runs beside its copies, and from then on those come first that
//! have taken the least time. So a short budget reaches all tests, wherever they are in the suite.

use std::collections::HashMap;

use unflake_model::{
    Attempt, Coverage, Event, Finding, Isolation, Outcome, Purpose, Session, SessionId, TestId, VerdictKind,
};

use crate::finding::counted_verdict;
use crate::search::budget::Budget;
use crate::{Recordings, Technique};

/// Budget, repetitions and parallelism.
#[derive(Clone, Debug, PartialEq)]
pub struct StressConfig {
    /// No attempt begins after this many seconds.
    pub seconds: f64,
    /// Maximum number of runs per test.
    pub times: Option<u32>,
    /// Copies of one test per batch.
    pub copies: u32,
    pub fresh_by: Isolation,
}

pub struct Stress {
    config: StressConfig,
    budget: Budget,
    tests: Vec<StressedTest>,
    /// Indexes into `tests`.
    at: HashMap<TestId, usize>,
    requested: u32,
}

/// Attempts at one test so far.
struct StressedTest {
    test: TestId,
    attempts: u32,
    passed: u32,
    failed: u32,
    /// Time that its attempts took.
    seconds: f64,
    /// Number and outcome of the first failing attempt.
    first_failure: Option<(u32, Outcome)>,
    /// Why it cannot run at all.
    left: Option<String>,
}

impl Stress {
    pub fn new(config: StressConfig) -> Self {
        let budget = Budget::new(config.seconds);
        Self { config, budget, tests: Vec::new(), at: HashMap::new(), requested: 0 }
    }

    fn observe_attempt(&mut self, attempt: &Attempt) {
        let Some(test) = self.at.get(&attempt.test).map(|at| &mut self.tests[*at]) else { return };
        test.attempts += 1;
        test.passed += u32::from(attempt.outcome.is_pass());
        test.seconds += attempt.seconds;
        if attempt.outcome.is_failure() {
            test.failed += 1;
            test.first_failure.get_or_insert((test.attempts, attempt.outcome));
        }
        self.budget.observe(attempt);
    }

    /// Number of further copies of a test to run now.
    fn copies_to_run(&self, test: &StressedTest) -> u32 {
        // A test that is skipped once is skipped always.
        let is_skipped = test.attempts > 0 && test.passed + test.failed == 0;
        let is_decided = test.failed > 0 && (test.passed > 0 || test.attempts > 1 || test.has_crashed());
        if is_decided || test.left.is_some() || is_skipped {
            return 0;
        }
        let left = self.config.times.map_or(u32::MAX, |times| times.saturating_sub(test.attempts));
        let copies = if test.attempts == 0 { 1 } else { self.config.copies.max(1) };
        copies.min(left)
    }
}

impl Technique for Stress {
    fn observe(&mut self, event: &Event, _: Recordings<'_>) {
        match event {
            Event::TestsListed { tests, .. } => {
                for test in tests {
                    self.at.insert(test.id.clone(), self.tests.len());
                    self.tests.push(StressedTest {
                        test: test.id.clone(),
                        attempts: 0,
                        passed: 0,
                        failed: 0,
                        seconds: 0.0,
                        first_failure: None,
                        left: None,
                    });
                }
            }
            Event::AttemptEnded(attempt) => self.observe_attempt(attempt),
            Event::SessionEnded { left, why: Some(why), .. } => {
                for test in left {
                    if let Some(at) = self.at.get(test) {
                        self.tests[*at].left.get_or_insert_with(|| why.clone());
                    }
                }
            }
            _ => {}
        }
    }

    fn next_sessions(&mut self, _: Recordings<'_>) -> Vec<Session> {
        if self.budget.is_exhausted() {
            return Vec::new();
        }
        let mut sessions = Vec::new();
        let mut cheapest_first: Vec<usize> = (0..self.tests.len()).collect();
        cheapest_first.sort_by(|one, other| self.tests[*one].seconds.total_cmp(&self.tests[*other].seconds));
        for at in cheapest_first {
            for _ in 0..self.copies_to_run(&self.tests[at]) {
                // Session 0 is the suite, which does not run here.
                self.requested += 1;
                let (id, test) = (SessionId(self.requested), self.tests[at].test.clone());
                sessions.push(Session::fresh(id, Purpose::Stress, self.config.fresh_by, vec![test]));
            }
        }
        sessions
    }

    fn findings(&self, _: Recordings<'_>) -> Vec<Finding> {
        self.tests.iter().filter_map(StressedTest::finding).collect()
    }

    fn coverage(&self) -> Option<Coverage> {
        let count = |wanted: fn(&StressedTest) -> bool| self.tests.iter().filter(|test| wanted(test)).count() as u32;
        let tried = count(|test| test.passed + test.failed > 0);
        let left_out = count(|test| test.passed + test.failed == 0 && (test.attempts > 0 || test.left.is_some()));
        let tests = self.tests.len() as u32;
        Some(Coverage { tests, tried, left_out, pairs: None, complete: tried + left_out == tests })
    }
}

impl StressedTest {
    fn has_crashed(&self) -> bool {
        matches!(self.first_failure, Some((_, Outcome::Crashed(_))))
    }

    fn finding(&self) -> Option<Finding> {
        let (which, outcome) = self.first_failure?;
        let kind = match (self.passed, self.attempts) {
            _ if self.has_crashed() => VerdictKind::Real,
            (0, 1) => VerdictKind::NotDecided,
            (0, _) => VerdictKind::Real,
            _ => VerdictKind::FlakyIndependent,
        };
        let how = match outcome {
            Outcome::Crashed(death) => format!("crashed ({death})"),
            Outcome::TimedOut => "timed out".to_owned(),
            Outcome::Error => "had an error in set-up or tear-down".to_owned(),
            _ => "failed".to_owned(),
        };
        let sentence = match (self.passed, self.attempts) {
            (0, 1) => format!("{how} in its only run"),
            (0, attempts) => format!("{how} in {attempts} of {attempts} runs under stress"),
            (_, attempts) => {
                format!("random: {how} in {} of {attempts} runs under stress, first in run {which}", self.failed)
            }
        };
        let counts = (self.attempts, self.failed);
        Some(counted_verdict(&self.test, kind, counts, Isolation::Process, sentence))
    }
}

#[cfg(test)]
mod tests {
    use unflake_model::Timestamp;

    use super::*;
    use crate::simulation::{attempt, listed};

    fn stress(tests: &[&str], seconds: f64, times: Option<u32>) -> Stress {
        let mut stress = Stress::new(StressConfig { seconds, times, copies: 3, fresh_by: Isolation::Fork });
        stress.observe(&listed(tests, true), Recordings::EMPTY);
        stress
    }

    /// Runs the sessions; every attempt takes a second, three at a time.
    fn run_stress(stress: &mut Stress, mut outcome: impl FnMut(&str, u32) -> Outcome) -> Vec<String> {
        let mut times: HashMap<TestId, u32> = HashMap::new();
        let mut rounds = Vec::new();
        let mut clock = 0;
        loop {
            let sessions = stress.next_sessions(Recordings::EMPTY);
            if sessions.is_empty() {
                return rounds;
            }
            rounds.push(sessions.iter().map(|session| session.tests[0].as_str()).collect::<Vec<_>>().join(" "));
            for (at, session) in sessions.iter().enumerate() {
                let test = session.tests[0].clone();
                let time = times.entry(test.clone()).or_default();
                *time += 1;
                let outcome = outcome(test.as_str(), *time);
                let started = Timestamp(clock + at as i64 / 3 * 1_000_000);
                let attempt = Attempt { started, seconds: 1.0, ..attempt(session, &test, outcome) };
                stress.observe(&Event::AttemptEnded(attempt), Recordings::EMPTY);
            }
            clock += sessions.len().div_ceil(3) as i64 * 1_000_000;
        }
    }

    #[test]
    fn a_failed_test_stops_and_the_others_continue() {
        let mut stress = stress(&["a", "b"], 6.0, None);
        let rounds = run_stress(&mut stress, |test, time| match (test, time) {
            ("a", 2) => Outcome::Failed,
            _ => Outcome::Passed,
        });
        assert_eq!(rounds, ["a b", "a a a b b b", "b b b", "b b b", "b b b"]);
        let findings = stress.findings(Recordings::EMPTY);
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].sentence, "random: failed in 1 of 4 runs under stress, first in run 2");
        assert_eq!(findings[0].verdict().unwrap().kind, VerdictKind::FlakyIndependent);
    }

    #[test]
    fn a_test_that_always_fails_is_real() {
        let mut stress = stress(&["a"], 60.0, None);
        run_stress(&mut stress, |_, _| Outcome::Failed);
        assert_eq!(stress.findings(Recordings::EMPTY)[0].verdict().unwrap().kind, VerdictKind::Real);
        assert_eq!(stress.findings(Recordings::EMPTY)[0].sentence, "failed in 4 of 4 runs under stress");
    }

    #[test]
    fn one_failure_decides_nothing() {
        let mut stress = stress(&["a"], 60.0, Some(1));
        run_stress(&mut stress, |_, _| Outcome::Failed);
        let findings = stress.findings(Recordings::EMPTY);
        assert_eq!(findings[0].verdict().unwrap().kind, VerdictKind::NotDecided);
        assert_eq!(findings[0].sentence, "failed in its only run");
    }

    #[test]
    fn every_test_runs_once_first_and_then_the_cheapest_come_first() {
        let mut stress = stress(&["slow", "quick", "medium"], 60.0, None);
        let names = |stress: &mut Stress| {
            let sessions = stress.next_sessions(Recordings::EMPTY);
            sessions.iter().map(|session| session.tests[0].to_string()).collect::<Vec<_>>().join(" ")
        };
        let sessions = stress.next_sessions(Recordings::EMPTY);
        assert_eq!(sessions.len(), 3);
        for (session, seconds) in sessions.iter().zip([9.0, 1.0, 4.0]) {
            let attempt = Attempt { seconds, ..attempt(session, &session.tests[0], Outcome::Passed) };
            stress.observe(&Event::AttemptEnded(attempt), Recordings::EMPTY);
        }
        assert_eq!(names(&mut stress), "quick quick quick medium medium medium slow slow slow");
    }

    #[test]
    fn the_repetition_limit_holds_and_skipped_tests_are_not_repeated() {
        let mut stress = stress(&["a", "s"], 60.0, Some(4));
        let rounds = run_stress(&mut stress, |test, _| if test == "s" { Outcome::Skipped } else { Outcome::Passed });
        assert_eq!(rounds, ["a s", "a a a"]);
        assert!(stress.findings(Recordings::EMPTY).is_empty());
    }

    #[test]
    fn a_crash_is_never_flaky() {
        let mut stress = stress(&["a"], 3.0, None);
        run_stress(&mut stress, |_, time| match time {
            3 => Outcome::Crashed(unflake_model::Death::Signal(11)),
            _ => Outcome::Passed,
        });
        assert_eq!(stress.findings(Recordings::EMPTY)[0].verdict().unwrap().kind, VerdictKind::Real);
    }
}
