//! Runs searches that are written as sequential async code, batch by batch.
//!
//! A search is an async function that requests sessions from a [`Scheduler`] and awaits their
//! results. Nothing blocks and there is no runtime: the technique that owns the search resumes it
//! when all results of a batch have been observed. Searches that run concurrently put their
//! requests into one batch, so that the engine can run the sessions in parallel and share their
//! prefixes.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use unflake_model::{
    Attempt, Cell, EnvironmentId, Event, Failure, Isolation, Outcome, Probe, Purpose, Session, SessionId, TestId, World,
};

use crate::search::budget::Budget;

/// Tests to run in this order, in a fresh environment.
#[derive(Clone, Debug)]
pub(crate) struct SessionRequest {
    pub(crate) purpose: Purpose,
    pub(crate) tests: Vec<TestId>,
    /// Number of leading tests whose resulting state may be shared with other sessions.
    pub(crate) prefix: usize,
    pub(crate) probe: Option<Probe>,
    /// Whether it needs a process that has loaded nothing but the files of these tests.
    pub(crate) new_process: bool,
    /// Whether in-process environments are fresh enough.
    pub(crate) in_process: bool,
    /// The world it runs in. `None`: unchanged.
    pub(crate) under: Option<World>,
    /// What it draws at random follows from this number. `None`: unchanged.
    pub(crate) seed: Option<u64>,
    /// How many of the tests run at the same time in one process. 0: one after the other.
    pub(crate) at_once: u32,
}

impl SessionRequest {
    pub(crate) fn new(purpose: Purpose, tests: Vec<TestId>) -> Self {
        let (new_process, in_process) = (false, false);
        Self { purpose, tests, prefix: 0, probe: None, new_process, in_process, under: None, seed: None, at_once: 0 }
    }

    pub(crate) fn with_prefix(self, prefix: usize) -> Self {
        Self { prefix, ..self }
    }
}

/// What was observed of a requested session.
#[derive(Clone, Debug, Default)]
pub(crate) struct SessionResult {
    /// In execution order. Attempts of a shared prefix may belong to the result of another session.
    pub(crate) attempts: Vec<AttemptSummary>,
    /// State that the prefix left behind, and what could not be inspected. `None`: not probed.
    pub(crate) state: Option<(Vec<Cell>, Vec<String>)>,
    pub(crate) not_restored: Vec<(String, String)>,
    /// Where a schedule delayed threads and tasks.
    pub(crate) delays: Vec<String>,
    /// Tests that were not run, and the reason.
    pub(crate) not_run: Vec<TestId>,
    pub(crate) reason: Option<String>,
    /// Whether the process of the last test did not survive the tests before it.
    broken: bool,
}

impl SessionResult {
    /// The last test's attempt, after all others in one process. `None`: unknown.
    pub(crate) fn last(&self) -> Option<&AttemptSummary> {
        self.attempts.last().filter(|_| self.not_run.is_empty() && !self.broken)
    }
}

/// The part of an attempt that searches use.
#[derive(Clone, Debug)]
pub(crate) struct AttemptSummary {
    pub(crate) test: TestId,
    pub(crate) environment: EnvironmentId,
    pub(crate) origin: Isolation,
    pub(crate) outcome: Outcome,
    pub(crate) failure: Option<Failure>,
    pub(crate) seconds: f64,
    /// Number of attempts observed before it, in any session.
    pub(crate) index: usize,
}

/// Accepts session requests from searches. Clones share one queue.
#[derive(Clone)]
pub(crate) struct Scheduler {
    queue: Rc<RefCell<SessionQueue>>,
    /// Whether every request is a batch of its own, so that no other session runs in parallel.
    sequential: bool,
}

struct SessionQueue {
    fresh_by: Isolation,
    /// Whether every session has its own processes: then no prefix is shared.
    isolated: bool,
    budget: Budget,
    requested: u32,
    queued: Vec<Session>,
    open: HashMap<SessionId, OpenSession>,
    finished: HashMap<SessionId, SessionResult>,
    process_killers: BTreeSet<TestId>,
    /// Attempts and failures per test.
    tally: HashMap<TestId, (u32, u32)>,
    attempts: u64,
    busy_seconds: f64,
    /// Attempts observed in any session, including those that were not requested here.
    observed: usize,
}

struct OpenSession {
    session: Session,
    result: SessionResult,
    ended: bool,
}

impl Scheduler {
    /// `seconds`: the budget, measured over the observed attempts.
    pub(crate) fn new(fresh_by: Isolation, seconds: f64) -> Self {
        let queue = SessionQueue {
            fresh_by,
            isolated: false,
            budget: Budget::new(seconds),
            requested: 0,
            queued: Vec::new(),
            open: HashMap::new(),
            finished: HashMap::new(),
            process_killers: BTreeSet::new(),
            tally: HashMap::new(),
            attempts: 0,
            busy_seconds: 0.0,
            observed: 0,
        };
        Self { queue: Rc::new(RefCell::new(queue)), sequential: false }
    }

    /// The same scheduler, running one session at a time. No other search may run meanwhile.
    pub(crate) fn sequential(&self) -> Self {
        Self { sequential: true, ..self.clone() }
    }

    /// Runs sessions; their results in the order of the requests.
    pub(crate) async fn run(&self, requests: Vec<SessionRequest>) -> Vec<SessionResult> {
        if !self.sequential {
            return self.run_batch(requests).await;
        }
        let mut results = Vec::new();
        for request in requests {
            results.extend(self.run_batch(vec![request]).await);
        }
        results
    }

    /// Runs a single session.
    pub(crate) async fn run_one(&self, request: SessionRequest) -> SessionResult {
        self.run_batch(vec![request]).await.remove(0)
    }

    async fn run_batch(&self, requests: Vec<SessionRequest>) -> Vec<SessionResult> {
        let ids: Vec<SessionId> = requests.into_iter().map(|request| self.enqueue(request)).collect();
        poll_fn(|_| {
            let mut queue = self.queue.borrow_mut();
            if ids.iter().any(|id| !queue.finished.contains_key(id)) {
                return Poll::Pending;
            }
            Poll::Ready(ids.iter().filter_map(|id| queue.finished.remove(id)).collect())
        })
        .await
    }

    fn enqueue(&self, request: SessionRequest) -> SessionId {
        let mut queue = self.queue.borrow_mut();
        // Session 0 is the suite, which does not run here.
        queue.requested += 1;
        let id = SessionId(queue.requested);
        let SessionRequest { purpose, tests, prefix, probe, new_process, in_process, under, seed, at_once } = request;
        let isolation = match (new_process, in_process) {
            (true, _) => Isolation::Process,
            (false, true) => Isolation::InProcess,
            (false, false) => queue.fresh_by,
        };
        let fresh = Session::fresh(id, purpose, isolation, tests);
        queue.queued.push(Session { prefix: prefix as u32, probe, under, seed, at_once, ..fresh });
        id
    }

    /// Whether the budget is exhausted.
    pub(crate) fn out_of_time(&self) -> bool {
        self.seconds_left() <= 0.0
    }

    pub(crate) fn seconds_left(&self) -> f64 {
        self.queue.borrow().budget.seconds_left()
    }

    /// Mean duration of an attempt.
    pub(crate) fn mean_seconds(&self) -> f64 {
        let queue = self.queue.borrow();
        queue.busy_seconds / queue.attempts.max(1) as f64
    }

    /// Whether a test is known to end its process.
    pub(crate) fn kills_process(&self, test: &TestId) -> bool {
        self.queue.borrow().process_killers.contains(test)
    }

    /// Number of attempts at a test, and of failures among them.
    pub(crate) fn tally(&self, test: &TestId) -> (u32, u32) {
        self.queue.borrow().tally.get(test).copied().unwrap_or_default()
    }

    /// Returns whether this completed a batch.
    fn observe(&self, event: &Event) -> bool {
        let mut queue = self.queue.borrow_mut();
        match event {
            Event::TestsListed { isolated, .. } => queue.isolated = *isolated,
            Event::AttemptEnded(attempt) => queue.observe_attempt(attempt),
            Event::StateLeaked { session, cells, unknown } => {
                if let Some(open) = queue.open.get_mut(session) {
                    open.result.state = Some((cells.clone(), unknown.clone()));
                }
            }
            Event::ThreadsDelayed { session, points } => {
                if let Some(open) = queue.open.get_mut(session) {
                    open.result.delays.clone_from(points);
                }
            }
            Event::RestoreFailed { session, cells } => {
                if let Some(open) = queue.open.get_mut(session) {
                    open.result.not_restored.extend(cells.iter().cloned());
                }
            }
            Event::SessionEnded { session, left, why } => {
                if let Some(open) = queue.open.get_mut(session) {
                    open.result.not_run.clone_from(left);
                    open.result.reason.clone_from(why);
                    open.ended = true;
                    return queue.open.values().all(|open| open.ended);
                }
            }
            _ => {}
        }
        false
    }
}

impl SessionQueue {
    fn observe_attempt(&mut self, attempt: &Attempt) {
        let index = self.observed;
        self.observed += 1;
        let Some(open) = self.open.get_mut(&attempt.session) else { return };
        open.result.attempts.push(AttemptSummary {
            test: attempt.test.clone(),
            environment: attempt.environment,
            origin: attempt.origin,
            outcome: attempt.outcome,
            failure: attempt.failure.clone().filter(|_| attempt.outcome.is_failure()),
            seconds: attempt.seconds,
            index,
        });
        let tally = self.tally.entry(attempt.test.clone()).or_default();
        tally.0 += 1;
        tally.1 += u32::from(attempt.outcome.is_failure());
        self.attempts += 1;
        self.busy_seconds += attempt.seconds;
        self.budget.observe(attempt);
    }

    /// Turns the observations of the batch into results.
    fn finish_batch(&mut self) {
        let open = std::mem::take(&mut self.open);
        // The attempts of a shared prefix are observed once, so a crash in it affects all sessions.
        let killers: BTreeSet<TestId> = open.values().flat_map(|open| process_killers(&open.result)).collect();
        for (id, OpenSession { session, mut result, ended }) in open {
            let shared = &session.tests[..(session.prefix as usize).min(session.tests.len())];
            let separated = (session.prefix == 0 || self.isolated) && !in_one_process(&result);
            result.broken = !ended || separated || shared.iter().any(|test| killers.contains(test));
            self.finished.insert(id, result);
        }
        self.process_killers.extend(killers);
    }
}

fn ends_process(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Crashed(_) | Outcome::TimedOut)
}

/// Tests that ended their process although others were to run in it.
fn process_killers(result: &SessionResult) -> impl Iterator<Item = TestId> {
    let before_last = result.attempts.len().saturating_sub(usize::from(result.not_run.is_empty()));
    let attempts = result.attempts[..before_last].iter();
    attempts.filter(|attempt| ends_process(attempt.outcome)).map(|attempt| attempt.test.clone())
}

fn in_one_process(result: &SessionResult) -> bool {
    result.attempts.windows(2).all(|two| two[0].environment == two[1].environment && !ends_process(two[0].outcome))
}

/// The search of a technique, which drives it. It has none until one is started.
#[derive(Default)]
pub(crate) struct SearchTask {
    started: Option<StartedSearch>,
}

struct StartedSearch {
    scheduler: Scheduler,
    /// None: it has ended.
    search: Option<Pin<Box<dyn Future<Output = ()>>>>,
}

impl SearchTask {
    /// Starts a search that requests its sessions from this scheduler.
    pub(crate) fn start(&mut self, scheduler: Scheduler, search: impl Future<Output = ()> + 'static) {
        self.started = Some(StartedSearch { scheduler, search: Some(Box::pin(search)) });
    }

    pub(crate) fn observe(&mut self, event: &Event) {
        if let Some(started) = &mut self.started
            && started.scheduler.observe(event)
        {
            started.resume();
        }
    }

    pub(crate) fn next_sessions(&mut self) -> Vec<Session> {
        let Some(started) = &mut self.started else { return Vec::new() };
        if started.scheduler.queue.borrow().queued.is_empty() {
            started.resume();
        }
        let mut queue = started.scheduler.queue.borrow_mut();
        let sessions = std::mem::take(&mut queue.queued);
        for session in &sessions {
            let open = OpenSession { session: session.clone(), result: SessionResult::default(), ended: false };
            queue.open.insert(session.id, open);
        }
        sessions
    }
}

impl StartedSearch {
    /// Hands over the results; the search continues until it requests more sessions or ends.
    fn resume(&mut self) {
        self.scheduler.queue.borrow_mut().finish_batch();
        if let Some(search) = &mut self.search
            && search.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready()
        {
            self.search = None;
        }
    }
}

/// Runs searches concurrently until all have ended.
pub(crate) async fn join_all<T>(searches: Vec<impl Future<Output = T>>) -> Vec<T> {
    let mut searches: Vec<_> = searches.into_iter().map(|search| (Box::pin(search), None)).collect();
    poll_fn(|context| {
        let mut done = true;
        for (search, result) in searches.iter_mut().filter(|(_, result)| result.is_none()) {
            match search.as_mut().poll(context) {
                Poll::Ready(value) => *result = Some(value),
                Poll::Pending => done = false,
            }
        }
        if done { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    searches.into_iter().filter_map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests;
