//! The test at the same time as other tests of its program, in one process: which of them disturbs
//! it. Tests that share a variable meet for microseconds, so in the last round threads start later, and
//! what one of them changed stays for longer.

use unflake_model::{Event, Finding, Session, SessionId, Test, TestId, World};

use crate::search::budget::Budget;
use crate::stress::company::Company;
use crate::{Recordings, Technique};

/// How often all other tests of the program are tried.
const ROUNDS: u32 = 1;
/// So many other tests leave time for one round: that with delays.
const MANY: usize = 64;
/// How many times its time it may take to find which of the tests disturbs it, where some do.
const LONGER: f64 = 3.0;
/// Only the number of tests decides here how many run at the same time.
const THREADS: u32 = 2;

pub(crate) struct CompanyTrial {
    test: TestId,
    company: Company,
    budget: Budget,
    /// Until when a failure is examined.
    longer: Budget,
    rounds: u32,
    sessions: u32,
    listed: Vec<Test>,
    /// The worlds of the last round.
    delayed: Vec<World>,
}

impl CompanyTrial {
    /// `delayed`: worlds in which waits, starts of threads and changes of what they share take longer.
    pub(crate) fn new(test: TestId, delayed: Vec<World>, seconds: f64) -> Self {
        let (company, budget) = (Company::new(THREADS, 1), Budget::new(seconds));
        let longer = Budget::new(seconds * LONGER);
        Self { test, company, budget, longer, rounds: 0, sessions: 0, listed: Vec::new(), delayed }
    }

    /// All tests again in the other worlds, where only what runs there counts. False: that has been done,
    /// or a test that disturbs it is known.
    fn start_delayed(&mut self) -> bool {
        let worlds = std::mem::take(&mut self.delayed);
        if worlds.is_empty() || self.named().next().is_some() {
            return false;
        }
        self.company = Company::new(THREADS, 2).under(worlds);
        self.company.listed(&self.listed);
        self.company.suspect(&self.test);
        true
    }

    /// Only a companion that is confirmed explains anything.
    fn named(&self) -> impl Iterator<Item = Finding> {
        let names_companion =
            |finding: &Finding| finding.verdict().is_some_and(|verdict| !verdict.evidence.beside.is_empty());
        self.company.findings().into_iter().filter(names_companion)
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
            Event::TestsListed { tests, .. } => {
                self.company.listed(tests);
                self.listed.clone_from(tests);
            }
            Event::AttemptEnded(attempt) => {
                self.budget.observe(attempt);
                self.longer.observe(attempt);
                self.company.observe(attempt);
            }
            _ => {}
        }
    }

    fn next_sessions(&mut self, _: Recordings<'_>) -> Vec<Session> {
        self.company.batch_ended();
        loop {
            let budget = if self.company.has_failed() { &self.longer } else { &self.budget };
            if budget.is_exhausted() {
                return Vec::new();
            }
            let sessions = self.examinations();
            if !sessions.is_empty() {
                return sessions;
            }
            let skips_plain = !self.delayed.is_empty() && self.company.companions(&self.test) > MANY;
            if self.rounds < ROUNDS && !skips_plain {
                self.rounds += 1;
                self.company.suspect(&self.test);
            } else if !self.start_delayed() {
                return Vec::new();
            }
        }
    }

    fn findings(&self, _: Recordings<'_>) -> Vec<Finding> {
        self.named().collect()
    }
}

#[cfg(test)]
mod tests {
    use unflake_model::{Attempt, FactorDeclaration, FactorKind, FactorPhrase, Outcome, Timestamp, declare_factors};

    use super::*;
    use crate::simulation::{attempt, listed};

    static DELAYS: FactorDeclaration = FactorDeclaration {
        name: "pauses",
        title: "pauses",
        phrase: FactorPhrase::When(|_, _| "when delayed".to_owned()),
        ..FactorDeclaration::EMPTY
    };

    /// Findings, and the number of sessions. `fails`: whether `t00` fails at the same time as these.
    fn tried(count: usize, fails: impl Fn(&[&str], u32) -> bool) -> (Vec<Finding>, usize) {
        tried_in(Vec::new(), count, |all, at_once, _| fails(all, at_once))
    }

    /// `fails`: the same, and whether in another world.
    fn tried_in(worlds: Vec<World>, count: usize, fails: impl Fn(&[&str], u32, bool) -> bool) -> (Vec<Finding>, usize) {
        let names: Vec<String> = (0..count).map(|at| format!("t{at:02}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut trial = CompanyTrial::new("t00".into(), worlds, 1e6);
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
                    let failed = test.as_str() == "t00" && fails(&all, session.at_once, session.under.is_some());
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
    fn tests_that_meet_rarely_are_tried_with_delays() {
        declare_factors([&DELAYS]);
        let delays = FactorKind::named("pauses").unwrap().set("20ms").unwrap();
        let worlds = || vec![World::of(vec![delays.clone()])];
        let beside = |all: &[&str], at_once| at_once > 1 && all.contains(&"t03");
        let (found, _) = tried_in(worlds(), 9, |all, at_once, is_delayed| is_delayed && beside(all, at_once));
        let [finding] = &found[..] else { panic!("{found:?}") };
        assert!(finding.sentence.contains("as t03 in one process, when delayed: "), "{}", finding.sentence);
        assert_eq!(finding.replays[0].under.options(), ["--pauses=20ms"]);
        // A limit on time that delays exceed is not blamed on others.
        assert_eq!(tried_in(worlds(), 9, |_, _, is_delayed| is_delayed).0, []);
        let (found, _) = tried_in(worlds(), 9, |all, at_once, _| beside(all, at_once));
        assert!(found[0].replays[0].under.factors.is_empty(), "{found:?}");
    }

    #[test]
    fn in_a_large_program_tests_are_tried_with_delays_only() {
        declare_factors([&DELAYS]);
        let delays = FactorKind::named("pauses").unwrap().set("20ms").unwrap();
        let beside = |all: &[&str], at_once| at_once > 1 && all.contains(&"t70");
        let worlds = vec![World::of(vec![delays])];
        let (found, _) = tried_in(worlds, 90, |all, at_once, is_delayed| {
            assert!(is_delayed);
            beside(all, at_once)
        });
        assert!(found[0].sentence.contains("at the same time as t70"), "{found:?}");
    }

    #[test]
    fn a_test_that_fails_alone_is_not_blamed_on_others() {
        assert!(tried(5, |_, _| true).0.is_empty());
    }
}
