//! A small world of tests that read and write cells, for the tests of inquiries: it answers sessions honestly, shares their
//! beginnings as exec does, and counts what that costs.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use unflake_model::{
    Attempt, Cell, Death, EnvironmentId, Event, Failure, Finding, Isolation, Outcome, Phase, Placement, Session, Test,
    TestId, Timestamp, WriteSite,
};

use crate::Technique;
use crate::order::order_cover::Chance;
use crate::search::scheduler::{Desk, Work};

pub(crate) type State = BTreeMap<String, i32>;
type Fails = Box<dyn Fn(&State) -> bool>;
pub(crate) type Writes = Box<dyn Fn(&mut State)>;

/// A test of the world. Without any of its parts it passes and touches nothing.
#[derive(Default)]
pub(crate) struct Sim {
    pub(crate) fails: Option<Fails>,
    pub(crate) writes: Option<Writes>,
    pub(crate) dies: bool,
    pub(crate) skips: bool,
    /// Of a hundred failures, how many happen; of a hundred passes, how many are failures all the same.
    pub(crate) fails_really: Option<usize>,
    pub(crate) fails_anyway: usize,
    /// The same, but only where other sessions run beside it.
    pub(crate) fails_beside_others: usize,
    /// How it ends in a in-process environment of its own, where not as anywhere else.
    pub(crate) in_process: Option<Outcome>,
}

pub(crate) struct World {
    pub(crate) order: Vec<TestId>,
    pub(crate) files: usize,
    tests: HashMap<TestId, Sim>,
    start: State,
    /// Cells that cannot be put back, and whether that is known before it is tried.
    pub(crate) fixed: BTreeMap<String, bool>,
    /// What loading a file does, where only that is loaded which a session needs: in new processes.
    pub(crate) loads: BTreeMap<usize, Writes>,
    pub(crate) processes: u32,
    /// Whether every test has a process of its own.
    pub(crate) isolated: bool,
    /// How many states are kept from one batch to the next, and those that are there, the last used one last.
    pub(crate) keeps: usize,
    reached: Vec<(Vec<TestId>, Option<State>)>,
    pub(crate) chance: Chance,
    clock: i64,
    environments: u32,
    crowded: bool,
    pub(crate) executions: u32,
    pub(crate) forks: u32,
    pub(crate) batches: u32,
}

/// An inquiry that is nothing but a search.
struct Only(Work);

impl Technique for Only {
    fn hear(&mut self, event: &Event) {
        self.0.hear(event);
    }

    fn ask(&mut self) -> Vec<Session> {
        self.0.ask()
    }

    fn findings(&self) -> Vec<Finding> {
        Vec::new()
    }
}

pub(crate) fn named(at: usize) -> TestId {
    TestId::new(format!("t{at}"))
}

pub(crate) fn polluter(cell: &str) -> Sim {
    let cell = cell.to_owned();
    Sim { writes: Some(Box::new(move |state| _ = state.insert(cell.clone(), 1))), ..Sim::default() }
}

pub(crate) fn cleaner(cell: &str) -> Sim {
    let cell = cell.to_owned();
    Sim { writes: Some(Box::new(move |state| _ = state.remove(&cell))), ..Sim::default() }
}

/// Fails if all of these cells have been written.
pub(crate) fn victim(cells: &[&str]) -> Sim {
    let cells: Vec<String> = cells.iter().map(|cell| (*cell).to_owned()).collect();
    let fails = move |state: &State| cells.iter().all(|cell| state.get(cell) == Some(&1));
    Sim { fails: Some(Box::new(fails)), ..Sim::default() }
}

/// Fails unless one of these cells has been written.
pub(crate) fn brittle(cells: &[&str]) -> Sim {
    let cells: Vec<String> = cells.iter().map(|cell| (*cell).to_owned()).collect();
    let fails = move |state: &State| !cells.iter().any(|cell| state.get(cell) == Some(&1));
    Sim { fails: Some(Box::new(fails)), ..Sim::default() }
}

impl World {
    /// `n` tests, of which these are special.
    pub(crate) fn new(n: usize, special: Vec<(usize, Sim)>) -> Self {
        Self {
            order: (0..n).map(named).collect(),
            files: 1,
            tests: special.into_iter().map(|(at, sim)| (named(at), sim)).collect(),
            start: State::new(),
            fixed: BTreeMap::new(),
            loads: BTreeMap::new(),
            processes: 0,
            isolated: false,
            keeps: 4,
            reached: Vec::new(),
            chance: Chance(1),
            clock: 0,
            environments: 0,
            crowded: false,
            executions: 0,
            forks: 0,
            batches: 0,
        }
    }

    /// Whether the last of these tests passes after the others. None: nobody can know, because a process ends or it is skipped.
    pub(crate) fn passes(&self, tests: &[TestId]) -> Option<bool> {
        let (mut state, mut passes) = (self.start.clone(), None);
        for test in tests {
            let Some(sim) = self.tests.get(test) else {
                passes = Some(true);
                continue;
            };
            if sim.dies {
                return None;
            }
            passes = (!sim.skips).then(|| !sim.fails.as_ref().is_some_and(|fails| fails(&state)));
            sim.writes.iter().for_each(|writes| writes(&mut state));
        }
        passes
    }

    pub(crate) fn list(&mut self, inquiry: &mut dyn Technique) {
        let size = self.order.len().div_ceil(self.files).max(1);
        let test = |(at, id): (usize, &TestId)| {
            let file = Some(format!("f{}", at / size).into());
            Test { id: id.clone(), file, line: None, command: Vec::new() }
        };
        let tests = self.order.iter().enumerate().map(test).collect();
        self.start = self.loaded(&self.order);
        inquiry.hear(&Event::TestsListed { tests, deselected: 0, isolated: self.isolated });
    }

    /// The whole conversation.
    pub(crate) fn play(&mut self, inquiry: &mut dyn Technique) {
        self.list(inquiry);
        while self.batch(inquiry) {
            assert!(self.batches < 20_000, "it never ends");
        }
    }

    /// A search by itself.
    pub(crate) fn search<T: 'static, S: AsyncFnOnce(Desk) -> T + 'static>(&mut self, search: S) -> T {
        let desk = Desk::new(Isolation::Fork, 1e6);
        let found = Rc::new(RefCell::new(None));
        let (at, result) = (desk.clone(), found.clone());
        let mut only = Only(Work::new(desk, async move { *result.borrow_mut() = Some(search(at).await) }));
        self.play(&mut only);
        found.take().expect("it comes to an end")
    }

    /// One batch of it. False: there was nothing more to ask.
    pub(crate) fn batch(&mut self, inquiry: &mut dyn Technique) -> bool {
        let mut sessions = inquiry.ask();
        if sessions.is_empty() {
            return false;
        }
        self.batches += 1;
        self.crowded = sessions.len() > 1;
        sessions.sort_by_key(|session| session.prefix);
        for session in &sessions {
            let prefix = session.prefix as usize;
            let left = match self.reach(session, inquiry) {
                Some(state) => {
                    self.run(session, state, inquiry);
                    Vec::new()
                }
                None => session.tests[prefix..].to_vec(),
            };
            inquiry.hear(&Event::SessionEnded { session: session.id, left, why: None });
        }
        let spare = self.reached.len().saturating_sub(self.keeps);
        self.reached.drain(..spare);
        true
    }

    /// The state after the beginning of a session, reached once. None: a process does not come through it.
    fn reach(&mut self, session: &Session, inquiry: &mut dyn Technique) -> Option<State> {
        let prefix = if self.isolated { &[] } else { &session.tests[..session.prefix as usize] };
        let watched = session.probe.as_ref().is_some_and(|probe| !probe.watch.is_empty());
        let begins = |(_, (tests, _)): &(usize, &(Vec<TestId>, Option<State>))| !watched && prefix.starts_with(tests);
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
                if !self.attempt(test, session, living, inquiry) {
                    state = None;
                }
            }
            self.reached.push((prefix.to_vec(), state.clone()));
        }
        state
    }

    /// Of what a test leaves behind, the next one finds only what is in no class.
    fn run_in_process(&mut self, session: &Session, inquiry: &mut dyn Technique) {
        self.fork();
        let mut state = self.start.clone();
        for (at, test) in session.tests.iter().enumerate() {
            if at > 0 && session.tests[at - 1] != *test {
                state.retain(|cell, _| cell.starts_with("jvm."));
                state.extend(self.start.clone());
            }
            self.attempt(test, session, &mut state, inquiry);
        }
    }

    fn run(&mut self, session: &Session, mut state: State, inquiry: &mut dyn Technique) {
        if session.place == Placement::Fresh(Isolation::InProcess) {
            return self.run_in_process(session, inquiry);
        }
        self.fork();
        if session.place == Placement::Fresh(Isolation::Process) {
            self.processes += 1;
            state = self.loaded(&session.tests);
        }
        if let Some(probe) = &session.probe {
            let (cells, unknown) = (self.differences(&state, &probe.watch), Vec::new());
            inquiry.hear(&Event::StateLeaked { session: session.id, cells, unknown });
            let mut not = Vec::new();
            for path in &probe.restore {
                match self.start.get(path) {
                    _ if self.fixed.contains_key(path) => not.push((path.clone(), "it is bolted down".to_owned())),
                    Some(value) => _ = state.insert(path.clone(), *value),
                    None => _ = state.remove(path),
                }
            }
            if !not.is_empty() {
                inquiry.hear(&Event::RestoreFailed { session: session.id, cells: not });
            }
        }
        let prefix = if self.isolated { 0 } else { session.prefix as usize };
        for test in &session.tests[prefix..] {
            if self.isolated {
                state = self.start.clone();
                self.environments += 1;
            }
            self.attempt(test, session, &mut state, inquiry);
        }
    }

    fn file_of(&self, test: &TestId) -> usize {
        let at = self.order.iter().position(|one| one == test).expect("it is listed");
        at / self.order.len().div_ceil(self.files).max(1)
    }

    /// The state when the files of these tests are loaded.
    fn loaded(&self, tests: &[TestId]) -> State {
        let files: BTreeSet<usize> = tests.iter().map(|test| self.file_of(test)).collect();
        let mut state = State::new();
        self.loads.iter().filter(|(file, _)| files.contains(file)).for_each(|(_, load)| load(&mut state));
        state
    }

    fn differences(&self, state: &State, watch: &[String]) -> Vec<Cell> {
        let paths: BTreeSet<&String> = state.keys().chain(self.start.keys()).collect();
        let differing = paths.into_iter().filter(|path| state.get(*path) != self.start.get(*path));
        let cell = |path: &String| Cell {
            path: path.clone(),
            kind: "module global".to_owned(),
            before: self.start.get(path).map(i32::to_string),
            after: state.get(path).map(i32::to_string),
            fixed: (self.fixed.get(path) == Some(&true)).then(|| "it is bolted down".to_owned()),
            written: watch.contains(path).then(|| WriteSite {
                file: format!("{path}.py"),
                line: 7,
                function: "write".to_owned(),
            }),
        };
        differing.map(cell).collect()
    }

    fn fork(&mut self) {
        self.forks += 1;
        self.environments += 1;
        self.clock += 10_000;
    }

    /// Says whether the process lives on.
    fn attempt(&mut self, test: &TestId, session: &Session, state: &mut State, inquiry: &mut dyn Technique) -> bool {
        let started = Timestamp(self.clock);
        self.clock += 1_000;
        self.executions += 1;
        let environment = EnvironmentId(self.environments);
        let plain = Sim::default();
        let sim = self.tests.get(test).unwrap_or(&plain);
        let would_fail = sim.fails.as_ref().is_some_and(|fails| fails(state));
        let fails = match would_fail {
            true => sim.fails_really.is_none_or(|percent| self.chance.below(100) < percent),
            false => {
                let beside = if self.crowded { sim.fails_beside_others } else { 0 };
                let percent = sim.fails_anyway.max(beside);
                percent > 0 && self.chance.below(100) < percent
            }
        };
        let origin = match session.place {
            Placement::Fresh(origin) => origin,
            Placement::Live => Isolation::Fork,
        };
        let outcome = match sim.in_process {
            Some(outcome) if origin == Isolation::InProcess => outcome,
            _ if sim.skips => Outcome::Skipped,
            _ if sim.dies => Outcome::Crashed(Death::Signal(11)),
            _ if fails => Outcome::Failed,
            _ => Outcome::Passed,
        };
        if let Some(writes) = &sim.writes {
            writes(state);
        }
        if sim.dies {
            *state = self.start.clone();
            self.environments += 1;
        }
        let failure = Failure {
            phase: Phase::Call,
            kind: "AssertionError".to_owned(),
            message: "no".to_owned(),
            trace: String::new(),
            file: None,
            line: None,
        };
        inquiry.hear(&Event::AttemptEnded(Attempt {
            test: test.clone(),
            session: session.id,
            purpose: session.purpose,
            environment,
            origin,
            position: 0,
            run: 0,
            outcome,
            started,
            seconds: 0.001,
            failure: outcome.is_failure().then_some(failure),
            stdout: String::new(),
            stderr: String::new(),
        }));
        !outcome.eq(&Outcome::Crashed(Death::Signal(11)))
    }
}
