//! A simulated suite whose tests read and write shared state, with an engine that runs sessions of
//! it.
//!
//! It behaves as the real engine does: it shares prefixes of sessions, keeps a few states, forks,
//! and counts what that costs. Outcomes follow from state unless a test fails at random.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use unflake_model::{
    Attempt, Cell, Death, EnvironmentId, Event, Failure, Finding, Isolation, Outcome, Placement, Session, Test, TestId,
    Timestamp, WriteSite,
};

use crate::search::rng::SeededRng;
use crate::search::scheduler::{Scheduler, SearchTask};
use crate::simulation::{attempt, failure};
use crate::{Recordings, Technique};

/// State cells by path.
pub(crate) type SharedState = BTreeMap<String, i32>;
type FailsIf = Box<dyn Fn(&SharedState) -> bool>;
pub(crate) type Writes = Box<dyn Fn(&mut SharedState)>;

/// A test of the suite. By default it passes and touches nothing.
#[derive(Default)]
pub(crate) struct SimulatedTest {
    pub(crate) fails_if: Option<FailsIf>,
    pub(crate) writes: Option<Writes>,
    pub(crate) crashes: bool,
    pub(crate) skips: bool,
    /// Percentage of failures by `fails_if` that happen. `None`: all.
    pub(crate) failure_percent: Option<usize>,
    /// Percentage of passes that fail at random.
    pub(crate) random_percent: usize,
    /// The same, but only while other sessions run in parallel.
    pub(crate) parallel_percent: usize,
    /// Outcome in an in-process environment, if different.
    pub(crate) in_process_outcome: Option<Outcome>,
}

pub(crate) struct SimulatedSuite {
    pub(crate) order: Vec<TestId>,
    pub(crate) files: usize,
    tests: HashMap<TestId, SimulatedTest>,
    start: SharedState,
    /// Cells that the shared set-up of a test makes.
    pub(crate) made_by_set_up: BTreeSet<String>,
    /// Cells that the instrument restores before the tests, unless a probe is bare.
    pub(crate) presets: BTreeSet<String>,
    /// Cells that cannot be restored, and whether that is known before it is tried.
    pub(crate) unrestorable: BTreeMap<String, bool>,
    /// Effects of loading a file, by its index. New processes load only the files of their session.
    pub(crate) import_effects: BTreeMap<usize, Writes>,
    /// Whether every test has its own process.
    pub(crate) isolated: bool,
    /// Number of states kept between batches, and the kept states, most recently used last.
    pub(crate) kept_states: usize,
    reached: Vec<(Vec<TestId>, Option<SharedState>)>,
    pub(crate) rng: SeededRng,
    clock: i64,
    /// No session starts from then on, as in an engine with a limit.
    until: i64,
    environments: u32,
    parallel: bool,
    /// Costs so far.
    pub(crate) executions: u32,
    pub(crate) forks: u32,
    pub(crate) processes: u32,
    pub(crate) batches: u32,
}

/// A technique that consists of one search.
struct SearchOnly(SearchTask);

impl Technique for SearchOnly {
    fn observe(&mut self, event: &Event, _: Recordings<'_>) {
        self.0.observe(event);
    }

    fn next_sessions(&mut self, _: Recordings<'_>) -> Vec<Session> {
        self.0.next_sessions()
    }

    fn findings(&self, _: Recordings<'_>) -> Vec<Finding> {
        Vec::new()
    }
}

pub(crate) fn named(at: usize) -> TestId {
    TestId::new(format!("t{at}"))
}

pub(crate) fn polluter(cell: &str) -> SimulatedTest {
    let cell = cell.to_owned();
    SimulatedTest { writes: Some(Box::new(move |state| _ = state.insert(cell.clone(), 1))), ..SimulatedTest::default() }
}

pub(crate) fn cleaner(cell: &str) -> SimulatedTest {
    let cell = cell.to_owned();
    SimulatedTest { writes: Some(Box::new(move |state| _ = state.remove(&cell))), ..SimulatedTest::default() }
}

/// Fails if all of these cells are set.
pub(crate) fn victim(cells: &[&str]) -> SimulatedTest {
    let cells: Vec<String> = cells.iter().map(|cell| (*cell).to_owned()).collect();
    let fails = move |state: &SharedState| cells.iter().all(|cell| state.get(cell) == Some(&1));
    SimulatedTest { fails_if: Some(Box::new(fails)), ..SimulatedTest::default() }
}

/// Fails unless one of these cells is set.
pub(crate) fn brittle(cells: &[&str]) -> SimulatedTest {
    let cells: Vec<String> = cells.iter().map(|cell| (*cell).to_owned()).collect();
    let fails = move |state: &SharedState| !cells.iter().any(|cell| state.get(cell) == Some(&1));
    SimulatedTest { fails_if: Some(Box::new(fails)), ..SimulatedTest::default() }
}

impl SimulatedSuite {
    /// `n` tests `t0`, `t1`, …, of which these are special.
    pub(crate) fn new(n: usize, special: Vec<(usize, SimulatedTest)>) -> Self {
        Self {
            order: (0..n).map(named).collect(),
            made_by_set_up: BTreeSet::new(),
            presets: BTreeSet::new(),
            files: 1,
            tests: special.into_iter().map(|(at, sim)| (named(at), sim)).collect(),
            start: SharedState::new(),
            unrestorable: BTreeMap::new(),
            import_effects: BTreeMap::new(),
            processes: 0,
            isolated: false,
            kept_states: 4,
            reached: Vec::new(),
            rng: SeededRng(1),
            clock: 0,
            until: i64::MAX,
            environments: 0,
            parallel: false,
            executions: 0,
            forks: 0,
            batches: 0,
        }
    }

    /// Whether the last of these tests passes after the others. `None` if it is skipped or the
    /// process ends.
    pub(crate) fn passes(&self, tests: &[TestId]) -> Option<bool> {
        let (mut state, mut passes) = (self.start.clone(), None);
        for test in tests {
            let Some(sim) = self.tests.get(test) else {
                passes = Some(true);
                continue;
            };
            if sim.crashes {
                return None;
            }
            passes = (!sim.skips).then(|| !sim.fails_if.as_ref().is_some_and(|fails| fails(&state)));
            sim.writes.iter().for_each(|writes| writes(&mut state));
        }
        passes
    }

    pub(crate) fn list(&mut self, technique: &mut dyn Technique) {
        let size = self.order.len().div_ceil(self.files).max(1);
        let test = |(at, id): (usize, &TestId)| {
            let file = Some(format!("f{}", at / size).into());
            Test { id: id.clone(), file, line: None, command: Vec::new() }
        };
        let tests = self.order.iter().enumerate().map(test).collect();
        self.start = self.loaded(&self.order);
        observe(technique, &Event::TestsListed { tests, deselected: 0, isolated: self.isolated, seconds: 0.0 });
    }

    /// Runs a technique to its end.
    pub(crate) fn run(&mut self, technique: &mut dyn Technique) {
        self.list(technique);
        while self.batch(technique) {
            assert!(self.batches < 20_000, "the technique does not end");
        }
    }

    /// Runs a single search and returns its result.
    pub(crate) fn search<T: 'static, S: AsyncFnOnce(Scheduler) -> T + 'static>(&mut self, search: S) -> T {
        self.search_for(1e6, search)
    }

    /// … with a budget.
    pub(crate) fn search_for<T: 'static, S: AsyncFnOnce(Scheduler) -> T + 'static>(
        &mut self,
        seconds: f64,
        search: S,
    ) -> T {
        self.until = (seconds * 1e6) as i64;
        let scheduler = Scheduler::new(Isolation::Fork, seconds);
        let found = Rc::new(RefCell::new(None));
        let (at, result) = (scheduler.clone(), found.clone());
        let mut only = SearchOnly(SearchTask::default());
        only.0.start(scheduler, async move { *result.borrow_mut() = Some(search(at).await) });
        self.run(&mut only);
        found.take().expect("the search ends")
    }

    /// Runs one batch. False if the technique requests none.
    pub(crate) fn batch(&mut self, technique: &mut dyn Technique) -> bool {
        let mut sessions = technique.next_sessions(Recordings::EMPTY);
        if sessions.is_empty() {
            return false;
        }
        self.batches += 1;
        self.parallel = sessions.len() > 1;
        sessions.sort_by_key(|session| session.prefix);
        for session in &sessions {
            let prefix = session.prefix as usize;
            let reached = if self.clock < self.until { self.reach(session, technique) } else { None };
            let left = match reached {
                Some(state) => {
                    self.run_session(session, state, technique);
                    Vec::new()
                }
                None => session.tests[prefix..].to_vec(),
            };
            observe(technique, &Event::SessionEnded { session: session.id, left, why: None });
        }
        let spare = self.reached.len().saturating_sub(self.kept_states);
        self.reached.drain(..spare);
        true
    }

    /// The state after the prefix of a session, shared with others. `None` if the process ends in
    /// it.
    fn reach(&mut self, session: &Session, technique: &mut dyn Technique) -> Option<SharedState> {
        let prefix = if self.isolated { &[] } else { &session.tests[..session.prefix as usize] };
        let watched = session.probe.as_ref().is_some_and(|probe| !probe.watch.is_empty());
        let begins =
            |(_, (tests, _)): &(usize, &(Vec<TestId>, Option<SharedState>))| !watched && prefix.starts_with(tests);
        let best = self.reached.iter().enumerate().filter(begins).max_by_key(|(_, (tests, _))| tests.len());
        let best = best.map(|(at, _)| at);
        let (known, mut state) = match best.map(|at| self.reached.remove(at)) {
            Some(used) => {
                self.reached.push(used.clone());
                (used.0.len(), used.1)
            }
            None => (0, Some(self.start.clone())),
        };
        if known < prefix.len() {
            self.fork();
            for test in &prefix[known..] {
                let Some(living) = &mut state else { break };
                if !self.attempt(test, session, living, technique) {
                    state = None;
                }
            }
            self.reached.push((prefix.to_vec(), state.clone()));
        }
        state
    }

    /// The next test sees only the process-wide state (`process.…`) of the previous ones.
    fn run_in_process(&mut self, session: &Session, technique: &mut dyn Technique) {
        self.fork();
        let mut state = self.start.clone();
        for (at, test) in session.tests.iter().enumerate() {
            if at > 0 && session.tests[at - 1] != *test {
                state.retain(|cell, _| cell.starts_with("process."));
                state.extend(self.start.clone());
            }
            self.attempt(test, session, &mut state, technique);
        }
    }

    fn run_session(&mut self, session: &Session, mut state: SharedState, technique: &mut dyn Technique) {
        if session.place == Placement::Fresh(Isolation::InProcess) {
            return self.run_in_process(session, technique);
        }
        self.fork();
        if session.place == Placement::Fresh(Isolation::Process) {
            self.processes += 1;
            state = self.loaded(&session.tests);
        }
        if let Some(probe) = &session.probe {
            let (cells, unknown) = (self.differences(&state, &probe.watch), Vec::new());
            observe(technique, &Event::StateLeaked { session: session.id, cells, unknown });
            state.retain(|path, _| probe.bare || !self.presets.contains(path));
            let mut not = Vec::new();
            for path in &probe.restore {
                match self.start.get(path) {
                    _ if self.unrestorable.contains_key(path) => {
                        not.push((path.clone(), "it is bolted down".to_owned()))
                    }
                    Some(value) => _ = state.insert(path.clone(), *value),
                    None => _ = state.remove(path),
                }
            }
            if !not.is_empty() {
                observe(technique, &Event::RestoreFailed { session: session.id, cells: not });
            }
        }
        let prefix = if self.isolated { 0 } else { session.prefix as usize };
        for test in &session.tests[prefix..] {
            if self.isolated {
                state = self.start.clone();
                self.environments += 1;
            }
            self.attempt(test, session, &mut state, technique);
        }
    }

    fn file_of(&self, test: &TestId) -> usize {
        let at = self.order.iter().position(|one| one == test).expect("the test is listed");
        at / self.order.len().div_ceil(self.files).max(1)
    }

    /// The state after loading the files of these tests.
    fn loaded(&self, tests: &[TestId]) -> SharedState {
        let files: BTreeSet<usize> = tests.iter().map(|test| self.file_of(test)).collect();
        let mut state = SharedState::new();
        self.import_effects.iter().filter(|(file, _)| files.contains(file)).for_each(|(_, load)| load(&mut state));
        state
    }

    fn differences(&self, state: &SharedState, watch: &[String]) -> Vec<Cell> {
        let paths: BTreeSet<&String> = state.keys().chain(self.start.keys()).collect();
        let differing = paths.into_iter().filter(|path| state.get(*path) != self.start.get(*path));
        let cell = |path: &String| Cell {
            path: path.clone(),
            kind: "module global".to_owned(),
            before: self.start.get(path).map(i32::to_string),
            after: state.get(path).map(i32::to_string),
            fixed: (self.unrestorable.get(path) == Some(&true)).then(|| "it is bolted down".to_owned()),
            written: watch.contains(path).then(|| WriteSite {
                file: format!("{path}.py"),
                line: 7,
                function: "write".to_owned(),
            }),
            set_up: self.made_by_set_up.contains(path),
            preset: self.presets.contains(path),
            ..Cell::default()
        };
        differing.map(cell).collect()
    }

    fn fork(&mut self) {
        self.forks += 1;
        self.environments += 1;
        self.clock += 10_000;
    }

    /// Returns whether the process survives.
    fn attempt(
        &mut self,
        test: &TestId,
        session: &Session,
        state: &mut SharedState,
        technique: &mut dyn Technique,
    ) -> bool {
        let started = Timestamp(self.clock);
        self.clock += 1_000;
        self.executions += 1;
        let environment = self.environments;
        let default = SimulatedTest::default();
        let sim = self.tests.get(test).unwrap_or(&default);
        let would_fail = sim.fails_if.as_ref().is_some_and(|fails| fails(state));
        let fails = match would_fail {
            true => sim.failure_percent.is_none_or(|percent| self.rng.below(100) < percent),
            false => {
                let parallel = if self.parallel { sim.parallel_percent } else { 0 };
                let percent = sim.random_percent.max(parallel);
                percent > 0 && self.rng.below(100) < percent
            }
        };
        let in_process = session.place == Placement::Fresh(Isolation::InProcess);
        let outcome = match sim.in_process_outcome {
            Some(outcome) if in_process => outcome,
            _ if sim.skips => Outcome::Skipped,
            _ if sim.crashes => CRASH,
            _ if fails => Outcome::Failed,
            _ => Outcome::Passed,
        };
        if let Some(writes) = &sim.writes {
            writes(state);
        }
        if sim.crashes {
            *state = self.start.clone();
            self.environments += 1;
        }
        let message = "no".to_owned();
        let failure = outcome.is_failure().then(|| Failure { message, ..failure("AssertionError") });
        let environment = EnvironmentId(environment);
        let observed = Attempt { environment, started, seconds: 0.001, failure, ..attempt(session, test, outcome) };
        observe(technique, &Event::AttemptEnded(observed));
        outcome != CRASH
    }
}

const CRASH: Outcome = Outcome::Crashed(Death::Signal(11));

fn observe(technique: &mut dyn Technique, event: &Event) {
    technique.observe(event, Recordings::EMPTY);
}
