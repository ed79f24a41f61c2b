//! The verdict ladder (Eloussi 2015, chapter 3): is this failure flaky?
//!
//! RERUN at once, POSTPONE to the end of the suite, FORK a fresh environment. The rung on which a
//! failing test first passes determines the kind of flakiness. A pass in the process of the failure
//! is confirmed before it excuses anything. INTERSECT handles tests that never pass: can the change
//! have caused it?

use std::collections::{BTreeMap, BTreeSet, HashMap};

use unflake_model::{
    Attempt, Comparison, Dependencies, EnvironmentId, Event, FactorKind, Finding, Granularity, Isolation, Placement,
    Purpose, Session, SessionId, Test, TestId, WORLD_NOT_REACHED, World,
};

use crate::change_impact::unaffected::{AT_BASE, AtBase, BaseCheck, HERE};
use crate::rerun::confirmation::Confirmation;
use crate::rerun::failing_test::{FailedTest, failure_site};
use crate::rerun::first_pass::FirstPass;
use crate::rerun::ladder_stage::LadderStage;
use crate::rerun::other_seeds::{Circumstances, RETRIES, tests_together};
use crate::rerun::process_run::ProcessRun;
use crate::rerun::verdict::MissingAttempts;
use crate::{NeverExcuse, Recordings, Technique};

/// With fewer failing tests than this, no share of them is too many.
const NEVER_TOO_MANY_BELOW: usize = 10;

/// New processes with other seeds at the same time.
const SEEDS_PER_ROUND: usize = 2;

/// Number of attempts at a failing test on each rung.
#[derive(Clone, Debug, PartialEq)]
pub struct Rungs {
    /// Attempts directly after the failure, in the same environment (C_IMM in the thesis).
    pub immediate: u32,
    /// Attempts after the whole suite, in the same environment (C_END).
    pub at_end: u32,
    /// Attempts in a fresh environment each (C_NEW). With 0, no pass is confirmed either.
    pub fresh: u32,
    /// How fresh environments are made.
    pub fresh_by: Isolation,
    /// New processes with other seeds in which a failure must repeat before it is real.
    pub new_processes: usize,
    /// Percentage of failing tests from which the change is plainly broken and only immediate
    /// attempts are made (THRESHOLD). Passes among these are confirmed all the same.
    pub too_many: f64,
    /// Granularity of the change impact check for tests that never pass. `None`: no check.
    pub intersect: Option<Granularity>,
    /// Worlds that differ in their seeds only, for new processes. Where a process draws all its
    /// seeds itself, there are none and every new process will do.
    pub seeds: Vec<World>,
    /// Whether the runner can isolate tests from each other inside one process.
    pub together: bool,
    /// Whether the runner repeats its whole process even if less of it is wanted: then all results
    /// of that count.
    pub whole_processes: bool,
    /// The factor that hides a file. None: files that tests leave behind are not examined.
    pub hides: Option<FactorKind>,
    /// Whether tests unrelated to the change run at the base when no pass there is known.
    pub verify_base: AtBase,
}

impl Default for Rungs {
    fn default() -> Self {
        Self {
            immediate: 1,
            at_end: 1,
            fresh: 1,
            fresh_by: Isolation::Fork,
            new_processes: 8,
            too_many: 1.0,
            intersect: None,
            seeds: Vec::new(),
            together: false,
            whole_processes: false,
            hides: None,
            verify_base: AtBase::Needed,
        }
    }
}

pub struct Ladder {
    rungs: Rungs,
    never_excuse: NeverExcuse,
    suite: Vec<TestId>,
    /// Tests that must not run.
    left_out: BTreeSet<TestId>,
    first_pass: FirstPass,
    /// Whether every session has its own processes, which end with it.
    isolated: bool,
    /// If so: the tests of each suite process in execution order; later, of the processes that
    /// repeat them.
    processes: BTreeMap<EnvironmentId, ProcessRun>,
    /// If so: the passes of the suite. Such a test may fail when its process is repeated for another.
    passed: HashMap<TestId, Attempt>,
    /// Suite processes that ran more than one test.
    shared: BTreeSet<EnvironmentId>,
    stage: LadderStage,
    /// Whether there were too many failures for any rung but the first.
    too_many: bool,
    requested: u32,
    /// Tests that have failed, in the order of their first failure.
    failing: Vec<FailedTest>,
    failing_at: HashMap<TestId, usize>,
    /// Sessions that confirm passes, with the index of their test.
    confirming: HashMap<SessionId, usize>,
    /// Sessions in which several tests share a new process.
    together: BTreeSet<SessionId>,
    /// Sessions in new processes with other seeds, with the seed where unflake set it.
    seeded: HashMap<SessionId, u64>,
    /// What changed, or why that is unknown.
    compared: Option<Result<Comparison, String>>,
    /// Sessions of the change impact check, with the index of their test.
    suspecting: HashMap<SessionId, (usize, BaseCheck)>,
}

impl Ladder {
    pub fn new(rungs: Rungs, never_excuse: NeverExcuse) -> Self {
        Self {
            rungs,
            never_excuse,
            suite: Vec::new(),
            left_out: BTreeSet::new(),
            first_pass: FirstPass::default(),
            isolated: false,
            processes: BTreeMap::new(),
            passed: HashMap::new(),
            shared: BTreeSet::new(),
            stage: LadderStage::Suite,
            too_many: false,
            requested: 0,
            failing: Vec::new(),
            failing_at: HashMap::new(),
            confirming: HashMap::new(),
            together: BTreeSet::new(),
            seeded: HashMap::new(),
            compared: None,
            suspecting: HashMap::new(),
        }
    }

    /// Excludes these tests from the run.
    pub fn leaving_out(mut self, tests: BTreeSet<TestId>) -> Self {
        self.left_out = tests;
        self
    }

    /// How long tests took in earlier runs.
    pub fn knowing(mut self, seconds: HashMap<TestId, f64>) -> Self {
        self.first_pass.seconds = seconds;
        self
    }

    fn observe_attempt(&mut self, attempt: &Attempt) {
        if let (Some(seed), Some(at)) = (self.seeded.get(&attempt.session), self.failing_at.get(&attempt.test)) {
            self.failing[*at].seeds.push((*seed, attempt.outcome));
        }
        if self.isolated && matches!(attempt.purpose, Purpose::Suite | Purpose::Again) {
            self.processes.entry(attempt.environment).or_default().observe(attempt);
        }
        if attempt.purpose == Purpose::WithoutFiles {
            if let Some(at) = self.failing_at.get(&attempt.test) {
                self.failing[*at].left_files.observe(attempt.session, attempt.outcome);
            }
            return;
        }
        if attempt.purpose == Purpose::Together {
            if let Some(at) = self.failing_at.get(&attempt.test)
                && self.failing[*at].counts_together(attempt)
            {
                self.failing[*at].observe(attempt, &self.never_excuse);
            }
            return;
        }
        if let Some((at, check)) = self.suspecting.get(&attempt.session) {
            let failing_test = &mut self.failing[*at];
            let is_elsewhere = *check != BaseCheck::Here;
            if is_elsewhere && attempt.outcome.is_failure() && failure_site(attempt) != failing_test.first_failure {
                // In another tree it may fail because an uncommitted file is missing.
                if failing_test.test == attempt.test {
                    failing_test.suspicion.no_base = Some("it fails there differently".to_owned());
                }
            } else if failing_test.test == attempt.test {
                match check {
                    BaseCheck::Alone => failing_test.suspicion.at_base.push(attempt.outcome),
                    BaseCheck::AfterOthers => failing_test.suspicion.after_others = Some(attempt.outcome),
                    BaseCheck::Here => failing_test.suspicion.here.push(attempt.outcome),
                }
            }
            if is_elsewhere {
                return;
            }
        }
        if self.isolated && attempt.purpose == Purpose::Suite && attempt.outcome.is_pass() {
            self.passed.insert(attempt.test.clone(), attempt.clone());
        }
        if let Some(at) = self.failing_at.get(&attempt.test) {
            return self.failing[*at].observe(attempt, &self.never_excuse);
        }
        if !attempt.outcome.is_failure() || !matches!(attempt.purpose, Purpose::Suite | Purpose::Again) {
            return;
        }
        let mut failed = FailedTest::new(attempt.test.clone());
        failed.observe(attempt, &self.never_excuse);
        if let Some(passed) = self.passed.get(&attempt.test) {
            failed.observe(passed, &self.never_excuse);
        }
        self.failing_at.insert(attempt.test.clone(), self.failing.len());
        self.failing.push(failed);
    }

    fn observe_end(&mut self, session: SessionId, left: &[TestId], why: Option<&str>) {
        if let Some(at) = self.confirming.remove(&session) {
            let left = (!left.is_empty()).then(|| why.unwrap_or("its session ended early").to_owned());
            if let Some(confirmation) = self.failing[at].confirmations.last_mut() {
                confirmation.end = Some(left.map_or(Ok(()), Err));
            }
        } else if let Some((at, check)) = self.suspecting.remove(&session) {
            if check != BaseCheck::Here && !left.is_empty() {
                let why = why.unwrap_or("its session ended early").to_owned();
                self.failing[at].suspicion.no_base = Some(why);
            }
        } else if self.seeded.remove(&session).is_some() && why == Some(WORLD_NOT_REACHED) {
            // No process could be seeded here. Every new one draws other seeds anyway.
            self.rungs.seeds.clear();
            for test in left {
                if let Some(at) = self.failing_at.get(test) {
                    self.failing[*at].other_seeds_requested -= 1;
                }
            }
        } else if self.together.contains(&session) {
            // What is left runs in processes of its own.
        } else if let Some(why) = why {
            for test in left {
                if let Some(at) = self.failing_at.get(test) {
                    self.failing[*at].left_out(session, why);
                }
            }
        }
    }

    fn observe_dependencies(&mut self, session: SessionId, test: &TestId, on: &Dependencies) {
        if self.suspecting.contains_key(&session) {
            return;
        }
        if let Some(at) = self.failing_at.get(test) {
            self.failing[*at].depends = Some(Box::new(on.clone()));
        }
    }

    /// The pending change impact checks of every failure that never passed.
    fn sessions_to_intersect(&mut self) -> Vec<Session> {
        let (Some(granularity), Some(Ok(compared))) = (self.rungs.intersect, &self.compared) else { return Vec::new() };
        let mut checks = Vec::new();
        for (at, failing_test) in self.failing.iter().enumerate() {
            let has_cause = !failing_test.left_files.decisive().is_empty();
            if failing_test.pass().is_some() || failing_test.never_excuse.is_some() || has_cause {
                continue;
            }
            let suspicion = &failing_test.suspicion;
            let next = suspicion.next(&failing_test.test, compared, granularity, self.rungs.verify_base);
            let known = compared.passed.get(&failing_test.test).cloned().unwrap_or_default();
            checks.extend(
                next.map(|check| (at, check, if check == BaseCheck::AfterOthers { known } else { Vec::new() })),
            );
        }
        let place = Placement::Fresh(self.rungs.fresh_by);
        let mut sessions = Vec::new();
        for (at, check, mut tests) in checks {
            self.failing[at].suspicion.requested.insert(check);
            tests.push(self.failing[at].test.clone());
            let (purpose, times, depends) = match check {
                BaseCheck::Alone => (Purpose::Base, AT_BASE, Some(Granularity::File)),
                BaseCheck::AfterOthers => (Purpose::Base, 1, Some(Granularity::File)),
                BaseCheck::Here => (Purpose::Fresh, HERE, None),
            };
            for _ in 0..times {
                let session = Session { depends, ..self.session(purpose, place, tests.clone(), 0) };
                self.suspecting.insert(session.id, (at, check));
                sessions.push(session);
            }
        }
        sessions
    }

    fn undecided(&self) -> Vec<TestId> {
        self.failing
            .iter()
            .filter(|failing_test| failing_test.pass().is_none())
            .map(|failing_test| failing_test.test.clone())
            .collect()
    }

    fn are_too_many(&self) -> bool {
        let failing = self.failing.len();
        failing >= NEVER_TOO_MANY_BELOW && failing as f64 * 100.0 >= self.rungs.too_many * self.suite.len() as f64
    }

    fn session(&mut self, purpose: Purpose, place: Placement, tests: Vec<TestId>, again: u32) -> Session {
        let id = SessionId(self.requested);
        self.requested += 1;
        Session { place, again, ..Session::fresh(id, purpose, Isolation::Fork, tests) }
    }

    /// Repeats the process of every test that failed in a shared process and could not be rerun in
    /// it, up to its last failure.
    fn processes_again(&mut self) -> Vec<Session> {
        let mut processes = std::mem::take(&mut self.processes);
        processes.retain(|_, ran| ran.is_shared());
        self.shared = processes.keys().copied().collect();
        if self.rungs.immediate == 0 {
            return Vec::new();
        }
        let failed: BTreeSet<EnvironmentId> = self
            .failing
            .iter()
            .filter(|failing_test| failing_test.attempts.len() == 1)
            .map(|failing_test| failing_test.attempts[0].environment)
            .collect();
        let again: Vec<Vec<TestId>> = failed
            .into_iter()
            .filter_map(|environment| processes.remove(&environment))
            .map(|ran| if self.rungs.whole_processes { ran.all() } else { ran.until_failure() })
            .collect();
        let place = Placement::Fresh(Isolation::Process);
        again.into_iter().map(|tests| self.session(Purpose::Again, place, tests, 0)).collect()
    }

    /// Whether the process of its first failure ran nothing else.
    fn was_alone(&self, failing_test: &FailedTest) -> bool {
        self.isolated && !self.shared.contains(&failing_test.attempts[0].environment)
    }

    /// Reruns after the suite: in the same process, or in its own where that has ended.
    fn sessions_at_end(&mut self) -> Vec<Session> {
        if self.rungs.at_end == 0 || self.too_many {
            return Vec::new();
        }
        let again = self.rungs.at_end - 1;
        if self.isolated {
            // In parallel with others, or after them, the state differs.
            let alone = |failing_test: &&FailedTest| failing_test.pass().is_none() && self.was_alone(failing_test);
            let tests: Vec<TestId> =
                self.failing.iter().filter(alone).map(|failing_test| failing_test.test.clone()).collect();
            let place = Placement::Fresh(Isolation::Process);
            return tests.into_iter().map(|test| self.session(Purpose::AtEnd, place, vec![test], again)).collect();
        }
        match self.undecided() {
            tests if tests.is_empty() => Vec::new(),
            tests => vec![self.session(Purpose::AtEnd, Placement::Live, tests, again)],
        }
    }

    /// Single-test sessions: those that may give a first pass, and those that confirm one.
    fn fresh_sessions(&mut self, round: u32) -> Vec<Session> {
        let place = Placement::Fresh(self.rungs.fresh_by);
        let mut sessions = Vec::new();
        if round <= self.rungs.fresh && !self.too_many {
            // A test with its own process was in a fresh environment from the start.
            let needs_rerun =
                |failing_test: &&FailedTest| failing_test.pass().is_none() && !self.was_alone(failing_test);
            let tests: Vec<TestId> =
                self.failing.iter().filter(needs_rerun).map(|failing_test| failing_test.test.clone()).collect();
            for test in tests {
                let depends = self.rungs.intersect.or(self.rungs.hides.map(|_| Granularity::File));
                let depends = depends.filter(|_| round == 1);
                sessions.push(Session { depends, ..self.session(Purpose::Fresh, place, vec![test], 0) });
            }
        }
        sessions.extend(self.confirming_sessions());
        // Different tests that run at the same time must not meet in a file.
        let private = sessions.len() > 1;
        sessions.iter_mut().for_each(|session| session.private = private);
        sessions
    }

    /// Sessions that confirm passes in the process of a failure.
    fn confirming_sessions(&mut self) -> Vec<Session> {
        let place = Placement::Fresh(self.rungs.fresh_by);
        let mut sessions = Vec::new();
        if self.rungs.fresh == 0 {
            return sessions;
        }
        for at in 0..self.failing.len() {
            let Some(again) = self.failing[at].to_confirm() else { continue };
            let session = self.session(Purpose::Fresh, place, vec![self.failing[at].test.clone()], again);
            self.confirming.insert(session.id, at);
            self.failing[at].confirmations.push(Confirmation { session: session.id, end: None });
            sessions.push(session);
        }
        sessions
    }

    fn circumstances(&self) -> Circumstances {
        let Rungs { new_processes, .. } = self.rungs;
        Circumstances { isolated: self.isolated, too_many: self.too_many, new_processes }
    }

    /// Sessions in which all tests that never passed share a new process each.
    fn sessions_together(&mut self) -> Vec<Session> {
        if self.rungs.fresh == 0 || !self.rungs.together {
            return Vec::new();
        }
        let orders = tests_together(&self.failing, self.circumstances());
        let place = Placement::Fresh(Isolation::InProcess);
        let sessions: Vec<Session> =
            orders.into_iter().map(|tests| self.session(Purpose::Together, place, tests, 0)).collect();
        self.together.extend(sessions.iter().map(|session| session.id));
        sessions
    }

    /// Single-test sessions in new processes with other seeds: two processes in each round, which
    /// all tests share by forks where that is possible.
    fn sessions_with_other_seeds(&mut self, round: usize) -> Vec<Session> {
        if self.rungs.fresh == 0 {
            return Vec::new();
        }
        let circumstances = self.circumstances();
        let needed: Vec<usize> = self.failing.iter().map(|one| one.other_seeds_needed(circumstances)).collect();
        let retries = if self.isolated || self.too_many { 0 } else { RETRIES };
        let mut sessions = self.confirming_sessions();
        for process in 0..SEEDS_PER_ROUND {
            let number = (round - 1) * SEEDS_PER_ROUND + process;
            let world = self.rungs.seeds.get(number % self.rungs.seeds.len().max(1)).cloned();
            let under = world.filter(|_| !self.isolated);
            // A world is a new process, which its tests share by forks.
            let place = Placement::Fresh(if under.is_some() { Isolation::Fork } else { Isolation::Process });
            for at in (0..needed.len()).filter(|at| needed[*at] > process) {
                self.failing[at].other_seeds_requested += 1;
                let test = self.failing[at].test.clone();
                let session = self.session(Purpose::OtherSeeds, place, vec![test], retries);
                self.seeded.extend(under.as_ref().and_then(|world| Some((session.id, world.seed?))));
                sessions.push(Session { under: under.clone(), ..session });
            }
        }
        sessions
    }

    /// Single-test sessions for failures that would be real, without files that the test left.
    fn sessions_without_files(&mut self) -> Vec<Session> {
        let Some(hides) = self.rungs.hides.filter(|_| !self.too_many) else { return Vec::new() };
        let mut sessions = Vec::new();
        for at in 0..self.failing.len() {
            let failing_test = &self.failing[at];
            let is_open = failing_test.pass().is_none() && failing_test.never_excuse.is_none();
            let sets = if is_open { failing_test.left_files.next() } else { Vec::new() };
            for files in sets {
                let test = self.failing[at].test.clone();
                // What it writes in one process stays there, so each trial has a new one.
                let place = Placement::Fresh(Isolation::Process);
                let session = self.session(Purpose::WithoutFiles, place, vec![test], 0);
                let world = self.failing[at].left_files.requested(session.id, files, hides);
                sessions.push(Session { under: Some(world), ..session });
            }
        }
        sessions
    }
}

impl Technique for Ladder {
    fn observe(&mut self, event: &Event, _: Recordings<'_>) {
        match event {
            Event::TestsListed { tests, isolated, .. } => {
                let tests: Vec<&Test> = tests.iter().filter(|test| !self.left_out.contains(&test.id)).collect();
                self.suite = tests.iter().map(|test| test.id.clone()).collect();
                self.first_pass.listed(&tests);
                self.isolated = *isolated;
            }
            Event::FirstPassSpread { processes } => self.first_pass.processes = *processes,
            Event::ChangesCompared(compared) => self.compared = Some((**compared).clone()),
            Event::DependenciesRecorded { session, test, on } => self.observe_dependencies(*session, test, on),
            Event::FilesLeft { test, files } => {
                if let Some(at) = self.failing_at.get(test) {
                    self.failing[*at].left_files.files.clone_from(files);
                }
            }
            Event::EarlierRuns { test, earlier } => {
                if let Some(at) = self.failing_at.get(test) {
                    self.failing[*at].earlier.clone_from(earlier);
                }
            }
            Event::AttemptEnded(attempt) => self.observe_attempt(attempt),
            Event::SessionEnded { session, left, why } => {
                self.observe_end(*session, left, why.as_deref());
            }
            _ => {}
        }
    }

    fn next_sessions(&mut self, _: Recordings<'_>) -> Vec<Session> {
        if self.requested == 0 {
            let again = self.rungs.immediate;
            let shares = std::mem::take(&mut self.first_pass.shares);
            if !shares.is_empty() {
                let place = Placement::Fresh(Isolation::Fork);
                return shares.into_iter().map(|tests| self.session(Purpose::Suite, place, tests, again)).collect();
            }
            let suite = self.suite.clone();
            return vec![self.session(Purpose::Suite, Placement::Live, suite, again)];
        }
        loop {
            if self.stage == LadderStage::Suite {
                self.too_many = self.are_too_many();
            }
            self.stage = self.stage.next(&self.rungs);
            let sessions = match self.stage {
                LadderStage::Again => self.processes_again(),
                LadderStage::AtEnd => self.sessions_at_end(),
                LadderStage::Fresh(round) => self.fresh_sessions(round),
                LadderStage::Together => self.sessions_together(),
                LadderStage::OtherSeeds(round) => self.sessions_with_other_seeds(round as usize),
                LadderStage::WithoutFiles(_) => self.sessions_without_files(),
                LadderStage::Intersect(_) => self.sessions_to_intersect(),
                LadderStage::Suite => Vec::new(),
                LadderStage::Over => return Vec::new(),
            };
            if !sessions.is_empty() {
                return sessions;
            }
            self.stage = self.stage.skip();
        }
    }

    fn findings(&self, _: Recordings<'_>) -> Vec<Finding> {
        let is_over = self.stage == LadderStage::Over;
        let missing = MissingAttempts {
            rerun: match is_over {
                _ if self.too_many => Some(format!(
                    "{} of {} tests failed, so {}",
                    self.failing.len(),
                    self.suite.len(),
                    match self.together.is_empty() {
                        true => "each ran in one new process only",
                        false => "they ran together in new processes only",
                    }
                )),
                true if self.rungs.fresh == 0 => Some("fresh environments are off (--fresh 0)".to_owned()),
                true => None,
                false => Some("the run ended before its retries".to_owned()),
            },
            confirmation: match is_over {
                _ if self.rungs.fresh == 0 => Some("fresh environments are off (--fresh 0)"),
                true => None,
                false => Some("the run ended before it ran in a fresh environment"),
            },
        };
        let in_company = |environment: EnvironmentId| {
            let again = self.processes.get(&environment).is_some_and(ProcessRun::is_shared);
            again || self.shared.contains(&environment)
        };
        let compared = self.compared.as_ref().zip(self.rungs.intersect);
        let mut findings = Vec::new();
        for failing_test in &self.failing {
            findings.push(failing_test.finding(&missing, self.isolated, &in_company, compared));
            if let Some((compared, granularity)) = compared.filter(|_| failing_test.is_suspected()) {
                findings.extend(failing_test.suspicion.finding(&failing_test.test, compared, granularity));
            }
        }
        findings
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod isolated_tests;

#[cfg(test)]
mod ending_tests;

#[cfg(test)]
mod together_tests;
