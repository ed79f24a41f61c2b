//! The verdict ladder (Eloussi 2015, chapter 3): is this failure flaky?
//!
//! RERUN at once, POSTPONE to the end of the suite, FORK a fresh environment. The rung on which a failing test first
//! passes names the kind of its flakiness.

use std::collections::HashMap;

use unflake_model::{
    Attempt, Detail, EnvironmentId, Evidence, Finding, Observation, Origin, Outcome, Place, Purpose, Rung, Session,
    SessionId, TestId, Verdict, VerdictKind,
};

use crate::{Inquiry, NeverExcuse};

/// With fewer failing tests than this, no share of them is too many.
const NEVER_TOO_MANY_BELOW: usize = 10;

/// How often to try a failing test on each rung.
#[derive(Clone, Debug, PartialEq)]
pub struct Rungs {
    /// Attempts right after the failure, in the same environment (the thesis' C_IMM).
    pub immediate: u32,
    /// Attempts after the whole suite, in the same environment (C_END).
    pub at_end: u32,
    /// Attempts each in a fresh environment of its own (C_NEW).
    pub fresh: u32,
    /// How a fresh environment is to be made.
    pub fresh_by: Origin,
    /// The share of failing tests, in per cent, from which on the change is plainly broken and only the immediate
    /// attempts are made (THRESHOLD).
    pub too_many: f64,
}

impl Default for Rungs {
    fn default() -> Self {
        Self { immediate: 1, at_end: 1, fresh: 1, fresh_by: Origin::Fork, too_many: 1.0 }
    }
}

pub struct Ladder {
    rungs: Rungs,
    never_excuse: NeverExcuse,
    suite: Vec<TestId>,
    stage: Stage,
    asked: u32,
    /// Tests that have failed, in the order of their first failure.
    cases: Vec<Case>,
    case_of: HashMap<TestId, usize>,
}

#[derive(Clone, Copy, PartialEq)]
enum Stage {
    Suite,
    AtEnd,
    /// How many rounds of fresh environments have been asked for.
    Fresh(u32),
    TooMany,
    Over,
}

/// A test that failed at least once, and everything tried on it since.
struct Case {
    test: TestId,
    tries: Vec<Try>,
    never_excuse: Option<String>,
    /// Why an attempt that was asked for could not be made.
    not_rerun: Option<String>,
}

/// The part of an attempt that the verdict rests on.
struct Try {
    purpose: Purpose,
    run: u32,
    environment: EnvironmentId,
    origin: Origin,
    position: u32,
    outcome: Outcome,
}

impl Ladder {
    pub fn new(rungs: Rungs, never_excuse: NeverExcuse) -> Self {
        Self {
            rungs,
            never_excuse,
            suite: Vec::new(),
            stage: Stage::Suite,
            asked: 0,
            cases: Vec::new(),
            case_of: HashMap::new(),
        }
    }

    fn hear_attempt(&mut self, attempt: &Attempt) {
        let at = match self.case_of.get(&attempt.test) {
            Some(at) => *at,
            None if attempt.outcome.is_failure() => {
                self.case_of.insert(attempt.test.clone(), self.cases.len());
                self.cases.push(Case {
                    test: attempt.test.clone(),
                    tries: Vec::new(),
                    never_excuse: None,
                    not_rerun: None,
                });
                self.cases.len() - 1
            }
            None => return,
        };
        let case = &mut self.cases[at];
        case.tries.push(Try {
            purpose: attempt.purpose,
            run: attempt.run,
            environment: attempt.environment,
            origin: attempt.origin,
            position: attempt.position,
            outcome: attempt.outcome,
        });
        if case.never_excuse.is_none() {
            case.never_excuse = self.never_excuse.rule_for(attempt);
        }
    }

    fn undecided(&self) -> Vec<TestId> {
        self.cases.iter().filter(|case| case.pass().is_none()).map(|case| case.test.clone()).collect()
    }

    fn too_many(&self) -> bool {
        let failing = self.cases.len();
        failing >= NEVER_TOO_MANY_BELOW && failing as f64 * 100.0 >= self.rungs.too_many * self.suite.len() as f64
    }

    fn session(&mut self, purpose: Purpose, place: Place, tests: Vec<TestId>, again: u32) -> Session {
        let id = SessionId(self.asked);
        self.asked += 1;
        Session { id, purpose, place, tests, again }
    }
}

impl Inquiry for Ladder {
    fn hear(&mut self, observation: &Observation) {
        match observation {
            Observation::Listed { tests, .. } => self.suite = tests.iter().map(|test| test.id.clone()).collect(),
            Observation::Attempted(attempt) => self.hear_attempt(attempt),
            Observation::SessionEnded { left, why: Some(why), .. } => {
                for test in left {
                    if let Some(at) = self.case_of.get(test) {
                        self.cases[*at].not_rerun = Some(format!("could not be run again: {why}"));
                    }
                }
            }
            _ => {}
        }
    }

    fn ask(&mut self) -> Vec<Session> {
        if self.asked == 0 {
            let suite = self.suite.clone();
            return vec![self.session(Purpose::Suite, Place::Live, suite, self.rungs.immediate)];
        }
        loop {
            self.stage = match self.stage {
                Stage::Suite if self.too_many() => Stage::TooMany,
                Stage::Suite => Stage::AtEnd,
                Stage::AtEnd => Stage::Fresh(1),
                Stage::Fresh(round) => Stage::Fresh(round + 1),
                ended @ (Stage::TooMany | Stage::Over) => ended,
            };
            let undecided = self.undecided();
            match self.stage {
                Stage::AtEnd if self.rungs.at_end > 0 && !undecided.is_empty() => {
                    return vec![self.session(Purpose::AtEnd, Place::Live, undecided, self.rungs.at_end - 1)];
                }
                Stage::AtEnd => {}
                Stage::Fresh(round) if round <= self.rungs.fresh && !undecided.is_empty() => {
                    let place = Place::Fresh(self.rungs.fresh_by);
                    return undecided
                        .into_iter()
                        .map(|test| self.session(Purpose::Fresh, place, vec![test], 0))
                        .collect();
                }
                Stage::Fresh(_) => self.stage = Stage::Over,
                Stage::Suite | Stage::TooMany | Stage::Over => return Vec::new(),
            }
        }
    }

    fn findings(&self) -> Vec<Finding> {
        let not_rerun = match self.stage {
            Stage::TooMany => Some(format!(
                "{} of {} tests fail: too many to be chance, so they were not run again later",
                self.cases.len(),
                self.suite.len()
            )),
            Stage::Over => None,
            Stage::Suite | Stage::AtEnd | Stage::Fresh(_) => {
                Some("the run ended before it could be run again".to_owned())
            }
        };
        self.cases.iter().map(|case| case.finding(not_rerun.as_deref())).collect()
    }
}

impl Case {
    /// The first attempt after the first failure that passed.
    fn pass(&self) -> Option<&Try> {
        self.tries.iter().skip(1).find(|one| one.outcome.is_pass())
    }

    fn finding(&self, not_rerun: Option<&str>) -> Finding {
        let first = &self.tries[0];
        let pass = self.pass();
        let rung = pass.map(|one| match one.purpose {
            Purpose::Suite => Rung::Immediate,
            Purpose::AtEnd => Rung::AtEnd,
            Purpose::Fresh => Rung::Fresh,
        });
        let kind = match rung {
            _ if self.never_excuse.is_some() => VerdictKind::Real,
            Some(Rung::Immediate) => VerdictKind::FlakyIndependent,
            Some(Rung::AtEnd) => VerdictKind::FlakyBursty,
            Some(Rung::Fresh) => VerdictKind::FlakyStateDependent,
            Some(Rung::Intersect) => VerdictKind::UnaffectedByChange,
            None => VerdictKind::Real,
        };
        let fresh = self.tries.iter().filter(|one| one.purpose == Purpose::Fresh).map(|one| one.origin);
        let evidence = Evidence {
            attempts: self.tries.len() as u32,
            failed: self.tries.iter().filter(|one| one.outcome.is_failure()).count() as u32,
            fresh: fresh.max_by_key(|origin| *origin == Origin::Process),
            after: first.position,
            never_excuse: self.never_excuse.clone(),
            not_rerun: if pass.is_none() {
                self.not_rerun.clone().or_else(|| not_rerun.map(str::to_owned))
            } else {
                None
            },
        };
        let sentence = match (pass, kind) {
            (Some(pass), kind) if kind.is_flaky() => self.flaky_sentence(pass, kind),
            _ => self.real_sentence(&evidence),
        };
        let replay = match kind {
            VerdictKind::FlakyBursty | VerdictKind::FlakyStateDependent => Vec::new(),
            _ => vec![self.test.clone()],
        };
        Finding {
            test: self.test.clone(),
            detail: Detail::Verdict(Verdict { kind, rung, evidence }),
            sentence,
            repeat: None,
            replay,
        }
    }

    fn flaky_sentence(&self, pass: &Try, kind: VerdictKind) -> String {
        let first = &self.tries[0];
        let mut sentence = match kind {
            VerdictKind::FlakyIndependent if pass.run > 1 => {
                format!("passed when run again at once, the {} time", ordinal(pass.run))
            }
            VerdictKind::FlakyIndependent => "passed when run again at once".to_owned(),
            VerdictKind::FlakyBursty => "passed when run again after the whole suite, in the same process".to_owned(),
            _ if first.position == 0 => {
                "passed only in a fresh environment, though no test had run before it: loading the other files may do it"
                    .to_owned()
            }
            _ if first.position == 1 => {
                "passed only in a fresh environment: the test before it leaves something behind".to_owned()
            }
            _ => format!(
                "passed only in a fresh environment: one of the {} attempts before it leaves something behind",
                first.position
            ),
        };
        if first.outcome == Outcome::TimedOut {
            sentence.insert_str(0, "timed out, and ");
        }
        // The rung promises the same environment. Where that one had to be ended, say so.
        if kind != VerdictKind::FlakyStateDependent && pass.environment != first.environment {
            sentence = sentence.replace(", in the same process", "");
            sentence.push_str(", in a new process because the first had to be ended");
        }
        sentence
    }

    fn real_sentence(&self, evidence: &Evidence) -> String {
        let first = self.tries[0].outcome;
        let how = match first {
            Outcome::Crashed(death) => format!("crashed ({death})"),
            Outcome::TimedOut => "timed out".to_owned(),
            Outcome::Error => "had an error in set-up or tear-down".to_owned(),
            _ => "failed".to_owned(),
        };
        let same = self.tries.iter().filter(|one| one.outcome.is_failure()).all(|one| one.outcome == first);
        let mut sentence = match (evidence.failed, evidence.attempts) {
            (1, 1) => format!("{how} the one time it ran"),
            (failed, attempts) if same => format!("{how} {failed} of {attempts} times"),
            (failed, attempts) => format!("{how} at first, and went wrong {failed} of {attempts} times"),
        };
        match evidence.fresh {
            _ if evidence.failed < evidence.attempts => {}
            Some(Origin::Process) => sentence.push_str(", in a new process too"),
            Some(Origin::Fork) => sentence.push_str(", in a fresh environment too"),
            None => {}
        }
        if let (Some(rule), true) = (&evidence.never_excuse, evidence.failed < evidence.attempts) {
            sentence.push_str(&format!("; {rule} is never excused by a later pass"));
        }
        if let Some(why) = &evidence.not_rerun {
            sentence.push_str(&format!("; {why}"));
        }
        sentence
    }
}

fn ordinal(number: u32) -> String {
    match number {
        1 => "first".to_owned(),
        2 => "second".to_owned(),
        3 => "third".to_owned(),
        _ => format!("{number}th"),
    }
}

#[cfg(test)]
#[path = "ladder_tests.rs"]
mod tests;
