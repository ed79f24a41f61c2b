//! Stress: runs every test repeatedly, in parallel with copies of itself, until it fails or the
//! budget is exhausted.
//!
//! Copies contend for the CPU and the clock: more of them run than there are cores. Each copy has a
//! fresh environment in a private world, so that it meets no other copy in files and ports. Where
//! worlds cannot be private, a failure beside copies is confirmed alone: what passes alone and fails
//! beside copies again fails when two run at once. A test that fails in every private world and
//! passes alone outside needs what a private world lacks; that is no finding. A test that has failed
//! is not run again once it has also passed or failed often enough; the others continue.
//!
//! Each attempt draws from a seed of its own, so that a seed that fails can be tried again.
//!
//! Every test runs once before any runs at the same time as copies of itself. Then those come first
//! of which a second of the budget promises the most failures: tests that failed in earlier runs, that have run
//! seldom, and that are short. So a short budget reaches all tests, wherever they are in the suite.
//!
//! Where a process of the runner runs several tests at the same time, different tests run beside
//! each other, too (`company`).

pub(crate) mod company;

use std::collections::HashMap;

use unflake_model::{
    Attempt, BUDGET_EXHAUSTED, Coverage, Event, Finding, Granularity, Isolation, Outcome, PrivatePart, ProblemKind,
    Purpose, Replay, Session, SessionId, TestId, VerdictKind, World, WorldId,
};

use crate::finding::{counted_verdict, load_remark};
use crate::search::budget::Budget;
use crate::search::rng::SeededRng;
use crate::stats::failure_rate::FailureCount;
use crate::stress::company::Company;
use crate::{Recordings, Technique};

/// The tests of a batch are expected to take this share of the budget, within these bounds in
/// seconds: short enough to change the choice, long enough to keep all cores busy.
const BATCH_SHARE: f64 = 0.05;
const BATCH_SECONDS: (f64, f64) = (1.0, 10.0);
/// What starting a process takes, in seconds, whatever the test.
const START: f64 = 0.002;
/// What is assumed of a test that has never run: half a failure in one run.
const PRIOR_FAILURES: f64 = 0.5;
/// Runs alone that show that a test passes alone.
const ALONE: u32 = 3;
/// Copies in the command that shows how they disturb each other.
const COPIES: u32 = 4;
/// Further runs in parallel with copies, in rounds, to see a failure again.
const ROUNDS_AGAIN: u32 = 3;

/// Files that a finding names.
const MOST_FILES: usize = 3;
/// What systems and runtimes say of a port that is taken.
const PORT_TAKEN: [&str; 3] = ["ddress already in use", "EADDRINUSE", "AddrInUse"];

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
    /// How many tests run at the same time in one process of the runner. 1: one after the other.
    pub threads: u32,
    /// Failures and runs of tests in earlier runs.
    pub earlier: HashMap<TestId, (u32, u32)>,
    /// Decides which tests run at the same time.
    pub seed: u64,
}

pub struct Stress {
    config: StressConfig,
    budget: Budget,
    tests: Vec<StressedTest>,
    /// Indexes into `tests`.
    at: HashMap<TestId, usize>,
    company: Company,
    /// Number of batches of copies or groups so far.
    batches: u32,
    /// Number of attempts, in company or not.
    observed: u32,
    requested: u32,
    /// The worlds of the attempts.
    worlds: HashMap<WorldId, World>,
    /// Sessions that run alone, outside of private worlds.
    alone: HashMap<SessionId, usize>,
    /// Sessions that only record the files that a test writes.
    recording: HashMap<SessionId, usize>,
    /// Results were lost: tests may never get one, however often they run.
    has_lost_results: bool,
}

/// Attempts at one test so far.
struct StressedTest {
    test: TestId,
    attempts: u32,
    passed: u32,
    failed: u32,
    /// Time that its attempts took.
    seconds: f64,
    /// Number of runs at the same time as other tests.
    in_company: u32,
    /// The load of the machine in each failing attempt, alone or not.
    loads: Vec<Option<f64>>,
    /// Number and outcome of the first failing attempt.
    first_failure: Option<(u32, Outcome)>,
    /// Why it cannot run at all.
    left: Option<String>,
    /// What its copies share, where worlds are not private.
    shared: Vec<PrivatePart>,
    /// A failure says that a port is taken.
    finds_port_taken: bool,
    /// The files that it writes, once it is known to fail beside copies only.
    writes: Option<Vec<String>>,
    /// The first seeds with which it failed and with which it passed.
    seeds: (Option<u64>, Option<u64>),
    /// Runs and failures alone, after it failed beside copies.
    alone: (u32, u32),
    /// It fails in every private world and passes alone outside.
    needs_outside: bool,
    /// Failures when it ran alone for the last time, and rounds beside copies since.
    again: Option<(u32, u32)>,
}

/// Sessions that are expected to take so many seconds.
type NextBatch = fn(&mut Stress, f64) -> Vec<Session>;

impl Stress {
    pub fn new(config: StressConfig) -> Self {
        let budget = Budget::new(config.seconds);
        let company = Company::new(config.threads, config.seed);
        Self {
            config,
            budget,
            tests: Vec::new(),
            at: HashMap::new(),
            company,
            batches: 0,
            observed: 0,
            requested: 0,
            worlds: HashMap::new(),
            alone: HashMap::new(),
            recording: HashMap::new(),
            has_lost_results: false,
        }
    }

    fn observe_attempt(&mut self, attempt: &Attempt) {
        self.budget.observe(attempt);
        self.observed += 1;
        if self.recording.contains_key(&attempt.session) {
            return;
        }
        if let Some(at) = self.alone.get(&attempt.session) {
            return self.tests[*at].observe_alone(attempt);
        }
        if self.company.observe(attempt) {
            return;
        }
        let Some(test) = self.at.get(&attempt.test).map(|at| &mut self.tests[*at]) else { return };
        if let Some(world) = attempt.world.and_then(|world| self.worlds.get(&world)) {
            test.shared = PrivatePart::ALL.into_iter().filter(|part| !world.private.has(*part)).collect();
            match attempt.outcome {
                outcome if outcome.is_failure() => test.seeds.0 = test.seeds.0.or(world.seed),
                outcome if outcome.is_pass() => test.seeds.1 = test.seeds.1.or(world.seed),
                _ => {}
            }
        }
        test.attempts += 1;
        test.passed += u32::from(attempt.outcome.is_pass());
        test.seconds += attempt.seconds;
        if attempt.outcome.is_failure() {
            let message = attempt.failure.as_ref().map_or("", |failure| &failure.message);
            test.finds_port_taken |= PORT_TAKEN.iter().any(|text| message.contains(text));
            test.failed += 1;
            test.loads.push(attempt.load);
            test.first_failure.get_or_insert((test.attempts, attempt.outcome));
        }
    }

    /// Tests that fail in every private world and pass outside.
    pub fn needing_outside(&self) -> impl Iterator<Item = &TestId> {
        self.tests.iter().filter(|test| test.needs_outside).map(|test| &test.test)
    }

    /// The failures that a second spent on a test promises.
    fn promise(&self, test: &StressedTest) -> f64 {
        let earlier = self.config.earlier.get(&test.test).copied().unwrap_or_default();
        let counted = FailureCount::new(earlier.0 + test.failed, earlier.1 + test.attempts);
        (f64::from(counted.failed) + PRIOR_FAILURES) / f64::from(counted.runs + 1) / test.cost()
    }

    /// Copies of the most promising tests, as many as take `seconds`. The first time, every test
    /// once.
    fn copies(&mut self, mut seconds: f64) -> Vec<Session> {
        let is_first = self.tests.iter().all(|test| test.attempts == 0);
        let most = self.most_sessions();
        let mut promising: Vec<(f64, usize)> =
            self.tests.iter().enumerate().map(|(at, test)| (self.promise(test), at)).collect();
        promising.sort_by(|one, other| other.0.total_cmp(&one.0));
        let mut sessions = Vec::new();
        for (_, at) in promising {
            let copies = self.copies_to_run(&self.tests[at]);
            if let (1.., Some((_, rounds))) = (copies, &mut self.tests[at].again) {
                *rounds += 1;
            }
            for _ in 0..copies {
                sessions.push(self.session(at, true));
            }
            seconds -= f64::from(copies) * self.tests[at].cost();
            if !is_first && (seconds <= 0.0 || sessions.len() >= most) {
                break;
            }
        }
        sessions
    }

    /// Different tests at the same time, as many as take `seconds`.
    fn groups(&mut self, seconds: f64) -> Vec<Session> {
        let most = self.most_sessions();
        let Self { company, tests, requested, config, .. } = self;
        let id = || {
            *requested += 1;
            SessionId(*requested)
        };
        let may_run = |at: usize, planned: u32| {
            let StressedTest { passed, attempts, in_company, .. } = tests[at];
            passed == attempts && config.times.is_none_or(|times| attempts + in_company + planned < times)
        };
        let mut sessions = company.groups(id, may_run, |at| tests[at].cost(), (seconds, most));
        for session in &mut sessions {
            (session.private, session.seed) = (true, Some(seed_of(config.seed, session.id)));
        }
        for test in sessions.iter().flat_map(|session| &session.tests) {
            self.tests[self.at[test]].in_company += 1;
        }
        sessions
    }

    /// The sessions of a batch, as fast as attempts have been so far. On a busy machine an attempt
    /// takes much longer than its test.
    fn most_sessions(&self) -> usize {
        let elapsed = self.config.seconds - self.budget.seconds_left();
        let rate = self.observed as f64 / elapsed.max(0.1);
        (self.batch_seconds() * rate).clamp(f64::from(self.config.copies.max(1)), 10_000.0) as usize
    }

    fn batch_seconds(&self) -> f64 {
        (self.config.seconds * BATCH_SHARE).clamp(BATCH_SECONDS.0, BATCH_SECONDS.1)
    }

    fn session(&mut self, at: usize, private: bool) -> Session {
        // Session 0 is the suite, which does not run here.
        self.requested += 1;
        let (id, test) = (SessionId(self.requested), self.tests[at].test.clone());
        let seed = Some(seed_of(self.config.seed, id));
        Session { private, seed, ..Session::fresh(id, Purpose::Stress, self.config.fresh_by, vec![test]) }
    }

    /// Number of further copies of a test to run now.
    fn copies_to_run(&self, test: &StressedTest) -> u32 {
        // A test that is skipped once is skipped always.
        let is_skipped = test.attempts > 0 && test.passed + test.failed == 0;
        let is_decided = test.is_suspect() && !test.runs_again();
        if is_decided || test.left.is_some() || is_skipped || test.needs_outside {
            return 0;
        }
        if test.runs_again() {
            return self.config.copies.max(2);
        }
        let left = self.config.times.map_or(u32::MAX, |times| times.saturating_sub(test.attempts + test.in_company));
        let copies = if test.attempts == 0 { 1 } else { self.config.copies.max(1) };
        copies.min(left)
    }
}

impl Technique for Stress {
    fn observe(&mut self, event: &Event, _: Recordings<'_>) {
        match event {
            Event::TestsListed { tests, seconds, .. } => {
                self.budget = Budget::new(self.config.seconds - seconds);
                self.company.listed(tests);
                for test in tests {
                    self.at.insert(test.id.clone(), self.tests.len());
                    self.tests.push(StressedTest {
                        test: test.id.clone(),
                        attempts: 0,
                        passed: 0,
                        failed: 0,
                        loads: Vec::new(),
                        seconds: 0.0,
                        in_company: 0,
                        first_failure: None,
                        left: None,
                        shared: Vec::new(),
                        finds_port_taken: false,
                        writes: None,
                        seeds: (None, None),
                        alone: (0, 0),
                        needs_outside: false,
                        again: None,
                    });
                }
            }
            Event::WorldEntered(world) => drop(self.worlds.insert(world.id(), world.clone())),
            Event::DependenciesRecorded { session, on, .. } => {
                if let Some(at) = self.recording.get(session) {
                    self.tests[*at].writes = Some(on.written.iter().chain(&on.written_outside).cloned().collect());
                }
            }
            Event::AttemptEnded(attempt) => self.observe_attempt(attempt),
            Event::Problem(problem) => self.has_lost_results |= problem.kind == ProblemKind::Protocol,
            // A test for which no time was left may run the next time.
            Event::SessionEnded { left, why: Some(why), .. } if why != BUDGET_EXHAUSTED => {
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
        self.company.batch_ended();
        if self.budget.is_exhausted() || self.has_lost_results {
            return Vec::new();
        }
        // However long they take: until they run again and alone, it is not known what they show.
        let unclear = (0..self.tests.len()).filter(|at| self.tests[*at].has_failed_once());
        let copies: Vec<usize> =
            unclear.flat_map(|at| std::iter::repeat_n(at, self.copies_to_run(&self.tests[at]) as usize)).collect();
        if !copies.is_empty() {
            return copies.into_iter().map(|at| self.session(at, true)).collect();
        }
        // The only session of its batch runs while nothing else does.
        if let Some(at) = self.tests.iter().position(StressedTest::needs_confirmation) {
            let session = self.session(at, false);
            self.alone.insert(session.id, at);
            return vec![session];
        }
        if let Some(at) = self.tests.iter().position(StressedTest::needs_record) {
            self.tests[at].writes = Some(Vec::new());
            let session = Session { depends: Some(Granularity::File), ..self.session(at, false) };
            self.recording.insert(session.id, at);
            return vec![session];
        }
        let requested = &mut self.requested;
        let examinations = self.company.examinations(|| {
            *requested += 1;
            SessionId(*requested)
        });
        if !examinations.is_empty() {
            return examinations;
        }
        let seconds = self.batch_seconds() * f64::from(self.config.copies.max(1));
        self.batches += 1;
        // In turn, and if there are none, the others.
        let (first, second): (NextBatch, NextBatch) = match self.batches % 2 {
            0 => (Self::groups, Self::copies),
            _ => (Self::copies, Self::groups),
        };
        match first(self, seconds) {
            sessions if sessions.is_empty() => second(self, seconds),
            sessions => sessions,
        }
    }

    fn findings(&self, _: Recordings<'_>) -> Vec<Finding> {
        let alone = self.tests.iter().enumerate().filter(|(at, _)| !self.company.suspects(*at));
        alone.filter_map(|(_, test)| test.finding()).chain(self.company.findings()).collect()
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
    /// What one run takes, in seconds.
    fn cost(&self) -> f64 {
        START + self.seconds / f64::from(self.attempts.max(1))
    }

    fn has_crashed(&self) -> bool {
        matches!(self.first_failure, Some((_, Outcome::Crashed(_))))
    }

    /// Whether it failed, and not in its only run.
    fn is_suspect(&self) -> bool {
        self.failed > 0 && (self.passed > 0 || self.attempts > 1)
    }

    /// Whether it failed in its only run.
    fn has_failed_once(&self) -> bool {
        (self.failed, self.attempts) == (1, 1) && self.left.is_none()
    }

    /// Whether it has to run alone before anything is concluded: what its copies share, or what a
    /// private world lacks, may be the reason.
    fn needs_confirmation(&self) -> bool {
        let may_be_surroundings = !self.shared.is_empty() || self.passed == 0;
        let wanted = if self.shared.is_empty() { 1 } else { ALONE };
        self.is_suspect() && may_be_surroundings && self.left.is_none() && self.alone.1 == 0 && self.alone.0 < wanted
    }

    fn observe_alone(&mut self, attempt: &Attempt) {
        self.alone.0 += 1;
        if attempt.outcome.is_failure() {
            self.alone.1 += 1;
            self.loads.push(attempt.load);
        }
        if self.alone.1 > 0 || self.needs_confirmation() {
            return;
        }
        match self.shared.is_empty() {
            // Nothing that copies share can be the reason.
            true => self.needs_outside = true,
            false => self.again = Some((self.failed, 0)),
        }
    }

    /// Whether it passed alone and has not failed beside copies again, yet.
    fn runs_again(&self) -> bool {
        self.again.is_some_and(|(failed, rounds)| self.failed == failed && rounds < ROUNDS_AGAIN)
    }

    /// It passed alone, and failed beside copies before and after that.
    fn fails_beside_copies(&self) -> bool {
        self.again.is_some_and(|(failed, _)| self.failed > failed)
    }

    /// Whether the files that copies may meet in are to be recorded.
    fn needs_record(&self) -> bool {
        self.fails_beside_copies() && self.writes.is_none() && self.left.is_none()
    }

    /// Where copies can have met, as far as that is known.
    fn meeting_points(&self) -> String {
        let mut points = String::new();
        if self.finds_port_taken {
            points.push_str("; a port was taken");
        }
        match self.writes.as_deref().unwrap_or_default() {
            [] => {}
            files if files.len() <= MOST_FILES => points.push_str(&format!("; each writes {}", files.join(", "))),
            files => {
                let more = files.len() - MOST_FILES;
                points.push_str(&format!("; each writes {} and {more} more", files[..MOST_FILES].join(", ")));
            }
        }
        points
    }

    fn finding(&self) -> Option<Finding> {
        let (which, outcome) = self.first_failure.filter(|_| !self.needs_outside)?;
        if self.fails_beside_copies() {
            let shared: Vec<&str> = self.shared.iter().map(|part| part.shared_text()).collect();
            let sentence = format!(
                "fails when two run at once: failed in {} of {} runs in parallel with copies and in 0 of {} alone; copies share {}{}",
                self.failed,
                self.attempts,
                self.alone.0,
                shared.join(", "),
                self.meeting_points()
            );
            let counts = (self.attempts, self.failed);
            let kind = VerdictKind::FlakyStateDependent;
            let mut finding = counted_verdict(&self.test, kind, counts, Isolation::Process, sentence);
            let alone = Replay::sometimes_fails(vec![self.test.clone()]);
            finding.replays = vec![Replay { copies: COPIES, ..alone }];
            return Some(finding);
        }
        let busy = load_remark(self.loads.iter().copied()).filter(|_| !self.has_crashed());
        let kind = match (self.passed, self.attempts) {
            _ if self.needs_confirmation() => VerdictKind::NotDecided,
            _ if self.has_crashed() => VerdictKind::Real,
            (0, 1) => VerdictKind::NotDecided,
            // Stress has no run without load to compare with.
            (0, _) if busy.is_some() => VerdictKind::NotDecided,
            (0, _) => VerdictKind::Real,
            _ => VerdictKind::FlakyIndependent,
        };
        let how = match outcome {
            Outcome::Crashed(death) => format!("crashed ({death})"),
            Outcome::TimedOut => "timed out".to_owned(),
            Outcome::Error => "had an error in set-up or tear-down".to_owned(),
            _ => "failed".to_owned(),
        };
        let mut sentence = match (self.passed, self.attempts) {
            (0, 1) => format!("{how} in its only run"),
            (0, attempts) => format!("{how} in {attempts} of {attempts} runs under stress"),
            (_, attempts) => {
                format!("random: {how} in {} of {attempts} runs under stress, first in run {which}", self.failed)
            }
        };
        sentence.push_str(&busy.unwrap_or_default());
        let counts = (self.attempts, self.failed);
        let mut finding = counted_verdict(&self.test, kind, counts, Isolation::Process, sentence);
        if kind == VerdictKind::FlakyIndependent {
            let seeded = |seed: u64| Replay {
                under: World { seed: Some(seed), ..World::default() },
                ..Replay::sometimes_fails(vec![self.test.clone()])
            };
            finding.replays.extend([self.seeds.0, self.seeds.1].into_iter().flatten().map(seeded));
        }
        Some(finding)
    }
}

/// The seed of a session: short enough to be typed.
fn seed_of(run: u64, session: SessionId) -> u64 {
    SeededRng(run.wrapping_add(u64::from(session.0))).next() >> 32
}

#[cfg(test)]
mod tests;
