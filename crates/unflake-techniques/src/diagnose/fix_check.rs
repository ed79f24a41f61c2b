//! Whether a flaky test still fails: runs it until it fails, or until a failure rate as high as
//! before is excluded.
//!
//! The evidence after n passes against a failure rate of at least p is the e-value (1 − p)^−n. It
//! may be checked after every run: under that rate it reaches 20 with a probability of at most
//! 5 %. Failures cluster, so every other run is in a new process with another seed.

use unflake_model::{Coverage, Event, Finding, Isolation, Purpose, Session, SessionId, TestId, World};

use crate::search::budget::Budget;
use crate::search::select::select_one;
use crate::{Recordings, Technique};

/// The e-value at which a rate is excluded: 95 % confidence.
const ENOUGH: f64 = 20.0;
/// Runs per batch.
const BATCH: u32 = 10;

#[derive(Clone, Debug)]
pub struct FixCheckConfig {
    /// A test id, or a part of it that no other test has.
    pub test: String,
    /// The failure rate to exclude.
    pub rate: f64,
    /// The tests that ran before it where it failed; none: it failed alone too.
    pub after: Vec<TestId>,
    /// A world in which it failed every time.
    pub failing: Option<World>,
    /// Whether processes can have chosen seeds.
    pub can_seed: bool,
    pub fresh_by: Isolation,
    pub seconds: f64,
}

pub struct FixCheck {
    config: FixCheckConfig,
    budget: Budget,
    pub matching: Vec<TestId>,
    sessions: u32,
    passed: u32,
    failed: u32,
    done: bool,
}

impl FixCheck {
    pub fn new(config: FixCheckConfig) -> Self {
        let budget = Budget::new(config.seconds);
        Self { config, budget, matching: Vec::new(), sessions: 0, passed: 0, failed: 0, done: false }
    }

    /// Passes and failures so far.
    pub fn counts(&self) -> (u32, u32) {
        (self.passed, self.failed)
    }

    /// Whether the failure rate is excluded.
    pub fn is_excluded(&self) -> bool {
        self.failed == 0 && self.passed >= needed(self.config.rate)
    }

    /// The lowest failure rate that the passes exclude. 1: none.
    pub fn excluded_rate(&self) -> f64 {
        match (self.failed, self.passed) {
            (0, 1..) => 1.0 - ENOUGH.powf(-1.0 / f64::from(self.passed)),
            _ => 1.0,
        }
    }

    fn session(&mut self, test: &TestId) -> Session {
        self.sessions += 1;
        let number = self.sessions;
        let tests = [self.config.after.clone(), vec![test.clone()]].concat();
        // The first run is where it failed before: most broken fixes show there.
        let (isolation, under) = match &self.config.failing {
            Some(world) if number == 1 => (Isolation::Process, Some(world.clone())),
            _ if number.is_multiple_of(2) && self.config.can_seed => {
                (Isolation::Process, Some(World { seed: Some(u64::from(number)), ..World::default() }))
            }
            _ => (self.config.fresh_by, None),
        };
        Session { under, ..Session::fresh(SessionId(number), Purpose::Fresh, isolation, tests) }
    }
}

/// How many passes in a row exclude a failure rate.
fn needed(rate: f64) -> u32 {
    (ENOUGH.ln() / -(-rate).ln_1p()).ceil() as u32
}

impl Technique for FixCheck {
    fn observe(&mut self, event: &Event, _: Recordings<'_>) {
        match event {
            Event::TestsListed { tests, seconds, .. } => {
                self.budget = Budget::new(self.config.seconds - seconds);
                self.matching = select_one(tests, &self.config.test);
            }
            Event::AttemptEnded(attempt) if self.matching == [attempt.test.clone()] => {
                self.budget.observe(attempt);
                self.failed += u32::from(attempt.outcome.is_failure());
                self.passed += u32::from(attempt.outcome.is_pass());
            }
            Event::SessionEnded { left, why: Some(_), .. } if !left.is_empty() => self.done = true,
            _ => {}
        }
    }

    fn next_sessions(&mut self, _: Recordings<'_>) -> Vec<Session> {
        let [test] = &self.matching[..] else { return Vec::new() };
        let test = test.clone();
        let in_vain = self.sessions > 0 && self.passed + self.failed == 0;
        if self.done || in_vain || self.failed > 0 || self.is_excluded() || self.budget.is_exhausted() {
            return Vec::new();
        }
        let left = needed(self.config.rate) - self.passed;
        (0..left.min(BATCH)).map(|_| self.session(&test)).collect()
    }

    fn findings(&self, _: Recordings<'_>) -> Vec<Finding> {
        Vec::new()
    }

    fn coverage(&self) -> Option<Coverage> {
        let tests = self.matching.len() as u32;
        let complete = self.failed > 0 || self.is_excluded();
        Some(Coverage { tests, tried: tests.min(self.passed), left_out: 0, pairs: None, complete })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::rng::SeededRng;
    use crate::simulation::{attempt, ended, listed};
    use unflake_model::Outcome;

    fn checked(rate: f64, fails: &mut dyn FnMut(u32) -> bool) -> FixCheck {
        let config = FixCheckConfig {
            test: "t".to_owned(),
            rate,
            after: Vec::new(),
            failing: None,
            can_seed: true,
            fresh_by: Isolation::Fork,
            seconds: 1e6,
        };
        let mut check = FixCheck::new(config);
        check.observe(&listed(&["t"], false), Recordings::EMPTY);
        let mut run = 0;
        loop {
            let sessions = check.next_sessions(Recordings::EMPTY);
            if sessions.is_empty() {
                return check;
            }
            for session in sessions {
                run += 1;
                let outcome = if fails(run) { Outcome::Failed } else { Outcome::Passed };
                let attempt = attempt(&session, &"t".into(), outcome);
                check.observe(&Event::AttemptEnded(attempt), Recordings::EMPTY);
                check.observe(&ended(&session), Recordings::EMPTY);
            }
        }
    }

    #[test]
    fn passes_exclude_a_rate() {
        let counts = |rate: f64| checked(rate, &mut |_| false).counts();
        assert_eq!((counts(0.1), counts(0.5), counts(0.01)), ((29, 0), (5, 0), (299, 0)));
        let check = checked(0.1, &mut |_| false);
        assert!(check.is_excluded() && check.excluded_rate() < 0.1, "{}", check.excluded_rate());
    }

    #[test]
    fn a_failure_ends_it() {
        let check = checked(0.1, &mut |run| run == 3);
        assert!(!check.is_excluded());
        assert_eq!((check.counts(), check.excluded_rate()), ((9, 1), 1.0));
    }

    #[test]
    fn a_test_that_is_as_flaky_as_before_is_rarely_called_fixed() {
        let mut chance = SeededRng(1);
        let fixed = (0..2000).filter(|_| checked(0.1, &mut |_| chance.unit() < 0.1).is_excluded()).count();
        assert!(fixed <= 120, "{fixed} of 2000, and 5 % are 100");
    }

    #[test]
    fn every_other_run_has_another_seed() {
        let mut check = checked(0.5, &mut |_| false);
        let worlds: Vec<Option<World>> = (0..4).map(|_| check.session(&"t".into()).under).collect();
        assert_eq!(worlds.iter().flatten().count(), 2);
        assert_ne!(worlds[0], worlds[2].clone().or(worlds[1].clone()));
    }
}
