//! Stress: every test again and again, beside copies of itself, until it fails or the time is over.
//!
//! What a test shares with other processes (ports, files, the clock, the processors) is contested by its own copies, and
//! more of them run than there are processors. Each copy has a fresh environment, so that nothing but that differs
//! from one attempt to the next. A test that has failed is left alone; the others go on.

use std::collections::HashMap;

use unflake_model::{
    Attempt, Detail, Event, Evidence, Finding, Isolation, Outcome, Purpose, Rung, Session, SessionId, TestId, Verdict,
    VerdictKind,
};

use crate::Technique;

/// How long, how often, and how many at once.
#[derive(Clone, Debug, PartialEq)]
pub struct StressConfig {
    /// No attempt is begun after so many seconds.
    pub seconds: f64,
    /// No test is run more often than this.
    pub times: Option<u32>,
    /// How many copies of one test are asked for together.
    pub copies: u32,
    pub fresh_by: Isolation,
}

pub struct Stress {
    pressure: StressConfig,
    tests: Vec<Course>,
    at: HashMap<TestId, usize>,
    asked: u32,
    /// Microseconds: when the first attempt began, and when the latest one known to us ended.
    first: Option<i64>,
    latest: i64,
}

/// What became of one test so far.
struct Course {
    test: TestId,
    attempts: u32,
    passed: u32,
    failed: u32,
    /// Of the attempts, which was the first to fail, and how.
    first_failure: Option<(u32, Outcome)>,
    /// Why it cannot be run at all.
    left: Option<String>,
}

impl Stress {
    pub fn new(pressure: StressConfig) -> Self {
        Self { pressure, tests: Vec::new(), at: HashMap::new(), asked: 0, first: None, latest: 0 }
    }

    fn hear_attempt(&mut self, attempt: &Attempt) {
        let Some(course) = self.at.get(&attempt.test).map(|at| &mut self.tests[*at]) else { return };
        course.attempts += 1;
        course.passed += u32::from(attempt.outcome.is_pass());
        if attempt.outcome.is_failure() {
            course.failed += 1;
            course.first_failure.get_or_insert((course.attempts, attempt.outcome));
        }
        let began = attempt.started.0;
        self.first = Some(self.first.unwrap_or(began).min(began));
        self.latest = self.latest.max(began + (attempt.seconds * 1e6) as i64);
    }

    fn is_over(&self) -> bool {
        self.first.is_some_and(|first| (self.latest - first) as f64 >= self.pressure.seconds * 1e6)
    }

    /// How many more copies of a test are wanted now.
    fn wanted(&self, course: &Course) -> u32 {
        // What is skipped once is skipped always.
        let is_skipped = course.attempts > 0 && course.passed + course.failed == 0;
        if course.failed > 0 || course.left.is_some() || is_skipped {
            return 0;
        }
        let left = self.pressure.times.map_or(u32::MAX, |times| times.saturating_sub(course.attempts));
        self.pressure.copies.max(1).min(left)
    }
}

impl Technique for Stress {
    fn hear(&mut self, event: &Event) {
        match event {
            Event::TestsListed { tests, .. } => {
                for test in tests {
                    self.at.insert(test.id.clone(), self.tests.len());
                    self.tests.push(Course {
                        test: test.id.clone(),
                        attempts: 0,
                        passed: 0,
                        failed: 0,
                        first_failure: None,
                        left: None,
                    });
                }
            }
            Event::AttemptEnded(attempt) => self.hear_attempt(attempt),
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

    fn ask(&mut self) -> Vec<Session> {
        if self.is_over() {
            return Vec::new();
        }
        let mut sessions = Vec::new();
        for at in 0..self.tests.len() {
            for _ in 0..self.wanted(&self.tests[at]) {
                // Number 0 is the suite's, and there is none here.
                self.asked += 1;
                let (id, test) = (SessionId(self.asked), self.tests[at].test.clone());
                sessions.push(Session::fresh(id, Purpose::Stress, self.pressure.fresh_by, vec![test]));
            }
        }
        sessions
    }

    fn findings(&self) -> Vec<Finding> {
        self.tests.iter().filter_map(Course::finding).collect()
    }
}

impl Course {
    fn finding(&self) -> Option<Finding> {
        let (which, outcome) = self.first_failure?;
        let flaky = self.passed > 0 && !matches!(outcome, Outcome::Crashed(_));
        let kind = if flaky { VerdictKind::FlakyIndependent } else { VerdictKind::Real };
        let how = match outcome {
            Outcome::Crashed(death) => format!("crashed ({death})"),
            Outcome::TimedOut => "ran out of time".to_owned(),
            Outcome::Error => "had an error in set-up or tear-down".to_owned(),
            _ => "failed".to_owned(),
        };
        let sentence = match (self.passed, self.attempts) {
            (0, 1) => format!("{how} the one time it ran"),
            (0, attempts) => format!("{how} {attempts} of {attempts} times: not a matter of load"),
            (passed, attempts) => format!(
                "{how} under stress in attempt {which} ({} of {attempts}), and passed {passed} times, each in an environment of its own",
                self.failed
            ),
        };
        let evidence = Evidence {
            attempts: self.attempts,
            failed: self.failed,
            fresh: Some(Isolation::Process),
            after: 0,
            never_excuse: None,
            confirmed: None,
            not_rerun: None,
        };
        let rung = flaky.then_some(Rung::Fresh);
        Some(Finding {
            test: self.test.clone(),
            detail: Detail::Verdict(Verdict { kind, rung, evidence }),
            sentence,
            repeat: None,
            replay: vec![self.test.clone()],
        })
    }
}

#[cfg(test)]
mod tests {
    use unflake_model::{EnvironmentId, Test, Timestamp};

    use super::*;

    fn stress(tests: &[&str], seconds: f64, times: Option<u32>) -> Stress {
        let mut stress = Stress::new(StressConfig { seconds, times, copies: 3, fresh_by: Isolation::Fork });
        let test = |id: &&str| Test { id: (*id).into(), file: None, line: None, command: Vec::new() };
        stress.hear(&Event::TestsListed { tests: tests.iter().map(test).collect(), deselected: 0, isolated: true });
        stress
    }

    /// Plays the sessions; every attempt takes a second, three at a time.
    fn play(stress: &mut Stress, mut outcome: impl FnMut(&str, u32) -> Outcome) -> Vec<String> {
        let mut times: HashMap<TestId, u32> = HashMap::new();
        let mut rounds = Vec::new();
        let mut clock = 0;
        loop {
            let sessions = stress.ask();
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
                stress.hear(&Event::AttemptEnded(Attempt {
                    test,
                    session: session.id,
                    purpose: session.purpose,
                    environment: EnvironmentId(session.id.0),
                    origin: Isolation::Process,
                    position: 0,
                    run: 0,
                    outcome,
                    started,
                    seconds: 1.0,
                    failure: None,
                    stdout: String::new(),
                    stderr: String::new(),
                }));
            }
            clock += sessions.len().div_ceil(3) as i64 * 1_000_000;
        }
    }

    #[test]
    fn a_test_that_failed_is_left_alone_and_the_others_go_on() {
        let mut stress = stress(&["a", "b"], 6.0, None);
        let rounds = play(&mut stress, |test, time| match (test, time) {
            ("a", 2) => Outcome::Failed,
            _ => Outcome::Passed,
        });
        assert_eq!(rounds, ["a a a b b b", "b b b", "b b b", "b b b", "b b b"]);
        let findings = stress.findings();
        assert_eq!(findings.len(), 1);
        assert_eq!(
            findings[0].sentence,
            "failed under stress in attempt 2 (1 of 3), and passed 2 times, each in an environment of its own"
        );
        assert_eq!(findings[0].verdict().unwrap().kind, VerdictKind::FlakyIndependent);
    }

    #[test]
    fn what_fails_always_is_no_matter_of_load() {
        let mut stress = stress(&["a"], 60.0, None);
        play(&mut stress, |_, _| Outcome::Failed);
        assert_eq!(stress.findings()[0].verdict().unwrap().kind, VerdictKind::Real);
        assert_eq!(stress.findings()[0].sentence, "failed 3 of 3 times: not a matter of load");
    }

    #[test]
    fn a_number_of_times_is_kept_and_a_skipped_test_is_not_tried_again() {
        let mut stress = stress(&["a", "s"], 60.0, Some(4));
        let rounds = play(&mut stress, |test, _| if test == "s" { Outcome::Skipped } else { Outcome::Passed });
        assert_eq!(rounds, ["a a a s s s", "a"]);
        assert!(stress.findings().is_empty());
    }

    #[test]
    fn a_crash_is_never_called_flaky() {
        let mut stress = stress(&["a"], 3.0, None);
        play(&mut stress, |_, time| match time {
            3 => Outcome::Crashed(unflake_model::Death::Signal(11)),
            _ => Outcome::Passed,
        });
        assert_eq!(stress.findings()[0].verdict().unwrap().kind, VerdictKind::Real);
    }
}
