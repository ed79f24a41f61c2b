//! The verdict ladder (Eloussi 2015, chapter 3): is this failure flaky?
//!
//! RERUN at once, POSTPONE to the end of the suite, FORK a fresh environment. The rung on which a failing test first
//! passes names the kind of its flakiness. A pass in the process of the failure is confirmed before it excuses anything.
//! INTERSECT is for those that never pass: can the change have done it?

use std::collections::{BTreeMap, BTreeSet, HashMap};

use unflake_model::{
    Attempt, Comparison, Dependencies, EnvironmentId, Event, Finding, Granularity, Isolation, Placement, Purpose,
    Session, SessionId, TestId,
};

use crate::change_impact::unaffected::{AT_BASE, AtBase, Before, HERE, Next};
use crate::rerun::confirmation::Confirmation;
use crate::rerun::failing_test::{Case, NotMade, how};
use crate::{NeverExcuse, Technique};

/// With fewer failing tests than this, no share of them is too many.
const NEVER_TOO_MANY_BELOW: usize = 10;

/// How often to try a failing test on each rung.
#[derive(Clone, Debug, PartialEq)]
pub struct Rungs {
    /// Attempts right after the failure, in the same environment (the thesis' C_IMM).
    pub immediate: u32,
    /// Attempts after the whole suite, in the same environment (C_END).
    pub at_end: u32,
    /// Attempts each in a fresh environment of its own (C_NEW). With 0 of them no pass is confirmed either.
    pub fresh: u32,
    /// How a fresh environment is to be made.
    pub fresh_by: Isolation,
    /// The share of failing tests, in per cent, from which on the change is plainly broken and only the immediate
    /// attempts are made (THRESHOLD). Passes among these are confirmed all the same.
    pub too_many: f64,
    /// How finely to look whether a change can have caused what never passes. None: not at all.
    pub intersect: Option<Granularity>,
    /// Whether tests that nothing ties to the change are run at the base, where no pass there is known.
    pub verify_base: AtBase,
}

impl Default for Rungs {
    fn default() -> Self {
        Self {
            immediate: 1,
            at_end: 1,
            fresh: 1,
            fresh_by: Isolation::Fork,
            too_many: 1.0,
            intersect: None,
            verify_base: AtBase::Needed,
        }
    }
}

pub struct Ladder {
    rungs: Rungs,
    never_excuse: NeverExcuse,
    suite: Vec<TestId>,
    /// Tests that are not to run.
    left_out: BTreeSet<TestId>,
    /// Whether every session has processes of its own, which end with it.
    isolated: bool,
    /// Where it has: what ran in each process of the suite, in its order; later, in those in which all of it is run again.
    processes: BTreeMap<EnvironmentId, Vec<TestId>>,
    /// The processes of the suite that ran more than one test.
    shared: BTreeSet<EnvironmentId>,
    stage: Stage,
    /// Whether there were too many failures for any rung but the first.
    too_many: bool,
    asked: u32,
    /// Tests that have failed, in the order of their first failure.
    cases: Vec<Case>,
    case_of: HashMap<TestId, usize>,
    /// The cases whose passes are being confirmed.
    confirming: HashMap<SessionId, usize>,
    /// What ran in each process of the suite, in its order, where processes live on.
    ran: HashMap<EnvironmentId, Vec<TestId>>,
    /// What changed, or why nobody can tell.
    compared: Option<Result<Comparison, String>>,
    /// The cases of which is being found out whether the change can have caused them.
    suspecting: HashMap<SessionId, (usize, Next)>,
}

#[derive(Clone, Copy, PartialEq)]
enum Stage {
    Suite,
    /// All of a process once more, where a test could not be run again in it.
    Again,
    AtEnd,
    /// How many rounds of fresh environments have been asked for, be it for a first pass or to confirm one.
    Fresh(u32),
    /// Whether the change can have caused what never passed.
    Intersect,
    Over,
}

impl Ladder {
    pub fn new(rungs: Rungs, never_excuse: NeverExcuse) -> Self {
        Self {
            rungs,
            never_excuse,
            suite: Vec::new(),
            left_out: BTreeSet::new(),
            isolated: false,
            processes: BTreeMap::new(),
            shared: BTreeSet::new(),
            stage: Stage::Suite,
            too_many: false,
            asked: 0,
            cases: Vec::new(),
            case_of: HashMap::new(),
            confirming: HashMap::new(),
            ran: HashMap::new(),
            compared: None,
            suspecting: HashMap::new(),
        }
    }

    /// These tests are not run at all.
    pub fn leaving_out(mut self, tests: BTreeSet<TestId>) -> Self {
        self.left_out = tests;
        self
    }

    fn hear_attempt(&mut self, attempt: &Attempt) {
        if self.isolated && matches!(attempt.purpose, Purpose::Suite | Purpose::Again) {
            self.processes.entry(attempt.environment).or_default().push(attempt.test.clone());
        }
        if !self.isolated && attempt.purpose == Purpose::Suite {
            let ran = self.ran.entry(attempt.environment).or_default();
            if ran.last() != Some(&attempt.test) {
                ran.push(attempt.test.clone());
            }
        }
        let suspected = self.suspecting.get(&attempt.session);
        if let Some((at, Next::BaseAfterOthers)) = suspected {
            let case = &mut self.cases[*at];
            if case.test == attempt.test {
                // In another tree it may fail because something is not there that no commit has.
                if attempt.outcome.is_failure() && how(attempt) != case.how {
                    case.suspicion.no_base = Some("it fails there in another way".to_owned());
                } else {
                    case.suspicion.after_others = Some(attempt.outcome);
                }
            }
            return;
        }
        if let Some((at, Next::Base)) = suspected {
            return self.cases[*at].suspicion.at_base.push(attempt.outcome);
        }
        if let Some((at, Next::Here)) = suspected {
            self.cases[*at].suspicion.here.push(attempt.outcome);
        }
        let at = match self.case_of.get(&attempt.test) {
            Some(at) => *at,
            // What passed in the suite and fails beside a failure that is looked into is no failure of the suite.
            None if attempt.outcome.is_failure() && attempt.purpose == Purpose::Suite => {
                self.case_of.insert(attempt.test.clone(), self.cases.len());
                self.cases.push(Case::new(attempt.test.clone()));
                self.cases.len() - 1
            }
            None => return,
        };
        self.cases[at].hear(attempt, &self.never_excuse);
    }

    fn hear_end(&mut self, session: SessionId, left: &[TestId], why: Option<&str>) {
        if let Some(at) = self.confirming.remove(&session) {
            let left = (!left.is_empty()).then(|| why.unwrap_or("its session ended before").to_owned());
            if let Some(confirmation) = self.cases[at].confirmations.last_mut() {
                confirmation.end = Some(left.map_or(Ok(()), Err));
            }
        } else if let Some((at, next)) = self.suspecting.remove(&session) {
            let suspicion = &mut self.cases[at].suspicion;
            match next {
                Next::Before => {
                    if let Some(before) = &mut suspicion.before {
                        before.whole = left.is_empty();
                    }
                }
                Next::Base | Next::BaseAfterOthers if !left.is_empty() => {
                    suspicion.no_base = Some(why.unwrap_or("its session ended before").to_owned());
                }
                _ => {}
            }
        } else if let Some(why) = why {
            for test in left {
                if let Some(at) = self.case_of.get(test) {
                    self.cases[*at].left_out(why);
                }
            }
        }
    }

    fn hear_dependencies(&mut self, session: SessionId, test: &TestId, on: &Dependencies) {
        if let Some((at, Next::Before)) = self.suspecting.get(&session) {
            let before = self.cases[*at].suspicion.before.get_or_insert_default();
            before.on.push((test.clone(), Box::new(on.clone())));
        } else if let Some(at) = self.case_of.get(test) {
            self.cases[*at].depends = Some(Box::new(on.clone()));
        }
    }

    /// For every failure that never passed: what is still to be found out of it and the change.
    fn sessions_to_intersect(&mut self) -> Vec<Session> {
        let (Some(granularity), Some(Ok(compared))) = (self.rungs.intersect, &self.compared) else { return Vec::new() };
        let mut wanted = Vec::new();
        for (at, case) in self.cases.iter().enumerate() {
            if case.pass().is_some() || case.never_excuse.is_some() {
                continue;
            }
            let before = self.ran_before(case);
            match case.suspicion.next(&case.test, before, compared, granularity, self.rungs.verify_base) {
                Next::Nothing => {}
                Next::Before => wanted.push((at, Next::Before, before.to_vec())),
                Next::BaseAfterOthers => {
                    let there = compared.passed.get(&case.test).cloned().unwrap_or_default();
                    wanted.push((at, Next::BaseAfterOthers, there));
                }
                next => wanted.push((at, next, Vec::new())),
            }
        }
        let place = Placement::Fresh(self.rungs.fresh_by);
        let mut sessions = Vec::new();
        for (at, next, mut tests) in wanted {
            tests.push(self.cases[at].test.clone());
            let (purpose, times, depends) = match next {
                Next::Before => (Purpose::Again, 1, Some(granularity)),
                Next::Base => (Purpose::Base, AT_BASE, Some(Granularity::File)),
                Next::BaseAfterOthers => (Purpose::Base, 1, Some(Granularity::File)),
                _ => (Purpose::Fresh, HERE, None),
            };
            if next == Next::Before {
                self.cases[at].suspicion.before = Some(Before::default());
            }
            for _ in 0..times {
                let session = Session { depends, ..self.session(purpose, place, tests.clone(), 0) };
                self.suspecting.insert(session.id, (at, next));
                sessions.push(session);
            }
        }
        sessions
    }

    /// The tests that had run in the process in which a case first failed.
    fn ran_before(&self, case: &Case) -> &[TestId] {
        let ran = self.ran.get(&case.tries[0].environment).map_or(&[][..], Vec::as_slice);
        ran.iter().position(|test| *test == case.test).map_or(&[], |at| &ran[..at])
    }

    fn undecided(&self) -> Vec<TestId> {
        self.cases.iter().filter(|case| case.pass().is_none()).map(|case| case.test.clone()).collect()
    }

    fn are_too_many(&self) -> bool {
        let failing = self.cases.len();
        failing >= NEVER_TOO_MANY_BELOW && failing as f64 * 100.0 >= self.rungs.too_many * self.suite.len() as f64
    }

    fn session(&mut self, purpose: Purpose, place: Placement, tests: Vec<TestId>, again: u32) -> Session {
        let id = SessionId(self.asked);
        self.asked += 1;
        Session { place, again, ..Session::fresh(id, purpose, Isolation::Fork, tests) }
    }

    /// For every test that failed in a process which it shared, and could not be run again in it: a new process with the
    /// same tests.
    fn processes_again(&mut self) -> Vec<Session> {
        let mut processes = std::mem::take(&mut self.processes);
        processes.retain(|_, ran| ran.len() > 1);
        self.shared = processes.keys().copied().collect();
        if self.rungs.immediate == 0 {
            return Vec::new();
        }
        let failed: BTreeSet<EnvironmentId> =
            self.cases.iter().filter(|case| case.tries.len() == 1).map(|case| case.tries[0].environment).collect();
        let again: Vec<Vec<TestId>> =
            failed.into_iter().filter_map(|environment| processes.remove(&environment)).collect();
        let place = Placement::Fresh(Isolation::Process);
        again.into_iter().map(|tests| self.session(Purpose::Again, place, tests, 0)).collect()
    }

    /// Whether the process in which a test first failed was its own.
    fn was_alone(&self, case: &Case) -> bool {
        self.isolated && !self.shared.contains(&case.tries[0].environment)
    }

    /// Once more after the suite: where it ran, or where that is over in a process of its own each.
    fn sessions_at_end(&mut self) -> Vec<Session> {
        if self.rungs.at_end == 0 || self.too_many {
            return Vec::new();
        }
        let again = self.rungs.at_end - 1;
        if self.isolated {
            // Beside others, or after them, is not the same state.
            let alone = |case: &&Case| case.pass().is_none() && self.was_alone(case);
            let tests: Vec<TestId> = self.cases.iter().filter(alone).map(|case| case.test.clone()).collect();
            let place = Placement::Fresh(Isolation::Process);
            return tests.into_iter().map(|test| self.session(Purpose::AtEnd, place, vec![test], again)).collect();
        }
        match self.undecided() {
            tests if tests.is_empty() => Vec::new(),
            tests => vec![self.session(Purpose::AtEnd, Placement::Live, tests, again)],
        }
    }

    /// Sessions of one test each: those that may give it its first pass, and those that confirm one.
    fn fresh_sessions(&mut self, round: u32) -> Vec<Session> {
        let place = Placement::Fresh(self.rungs.fresh_by);
        let mut sessions = Vec::new();
        if round <= self.rungs.fresh && !self.too_many {
            // A test that had a process to itself has been in a fresh environment from the first.
            let wanted = |case: &&Case| case.pass().is_none() && !self.was_alone(case);
            let tests: Vec<TestId> = self.cases.iter().filter(wanted).map(|case| case.test.clone()).collect();
            for test in tests {
                let depends = self.rungs.intersect.filter(|_| round == 1);
                sessions.push(Session { depends, ..self.session(Purpose::Fresh, place, vec![test], 0) });
            }
        }
        if self.rungs.fresh > 0 {
            for at in 0..self.cases.len() {
                let Some(again) = self.cases[at].to_confirm() else { continue };
                let session = self.session(Purpose::Fresh, place, vec![self.cases[at].test.clone()], again);
                self.confirming.insert(session.id, at);
                self.cases[at].confirmations.push(Confirmation { session: session.id, end: None });
                sessions.push(session);
            }
        }
        sessions
    }
}

impl Technique for Ladder {
    fn hear(&mut self, event: &Event) {
        match event {
            Event::TestsListed { tests, isolated, .. } => {
                let ids = tests.iter().map(|test| &test.id).filter(|test| !self.left_out.contains(test));
                self.suite = ids.cloned().collect();
                self.isolated = *isolated;
            }
            Event::ChangesCompared(compared) => self.compared = Some((**compared).clone()),
            Event::DependenciesRecorded { session, test, on } => self.hear_dependencies(*session, test, on),
            Event::AttemptEnded(attempt) => self.hear_attempt(attempt),
            Event::SessionEnded { session, left, why } => {
                self.hear_end(*session, left, why.as_deref());
            }
            _ => {}
        }
    }

    fn ask(&mut self) -> Vec<Session> {
        if self.asked == 0 {
            let suite = self.suite.clone();
            return vec![self.session(Purpose::Suite, Placement::Live, suite, self.rungs.immediate)];
        }
        loop {
            self.stage = match self.stage {
                Stage::Suite => {
                    self.too_many = self.are_too_many();
                    Stage::Again
                }
                Stage::Again => Stage::AtEnd,
                Stage::AtEnd => Stage::Fresh(1),
                Stage::Fresh(round) => Stage::Fresh(round + 1),
                Stage::Intersect => Stage::Intersect,
                Stage::Over => return Vec::new(),
            };
            let sessions = match self.stage {
                Stage::Again => self.processes_again(),
                Stage::AtEnd => self.sessions_at_end(),
                Stage::Fresh(round) => self.fresh_sessions(round),
                Stage::Intersect => self.sessions_to_intersect(),
                Stage::Suite | Stage::Over => Vec::new(),
            };
            if !sessions.is_empty() {
                return sessions;
            }
            match self.stage {
                Stage::Fresh(_) => self.stage = Stage::Intersect,
                Stage::Intersect => self.stage = Stage::Over,
                _ => {}
            }
        }
    }

    fn findings(&self) -> Vec<Finding> {
        let over = self.stage == Stage::Over;
        let not_made = NotMade {
            rerun: match over {
                _ if self.too_many => Some(format!(
                    "{} of {} tests fail: too many to be chance, so they were not run again later",
                    self.cases.len(),
                    self.suite.len()
                )),
                true => None,
                false => Some("the run ended before it could be run again".to_owned()),
            },
            confirmation: match over {
                _ if self.rungs.fresh == 0 => Some("fresh environments are not wanted"),
                true => None,
                false => Some("the run ended before it could be run in a fresh environment"),
            },
        };
        let in_company = |environment: EnvironmentId| {
            let again = self.processes.get(&environment).is_some_and(|ran| ran.len() > 1);
            again || self.shared.contains(&environment)
        };
        let compared = self.compared.as_ref().zip(self.rungs.intersect);
        let mut findings = Vec::new();
        for case in &self.cases {
            findings.push(case.finding(&not_made, self.isolated, &in_company, compared));
            if let Some((compared, granularity)) = compared.filter(|_| case.is_suspected()) {
                findings.extend(case.suspicion.finding(&case.test, compared, granularity));
            }
        }
        findings
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod isolated_tests;
