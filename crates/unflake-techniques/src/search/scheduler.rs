//! Questions and answers: how a search that is written down as one goes about it becomes a conversation.
//!
//! A search is an async function that puts questions to a desk and waits for the answers. Nobody runs it but the inquiry that
//! owns it, and no waiting happens here: what it waits for is what the inquiry hears. Searches that go on side by side
//! put their questions into one batch, so that exec can run them together and share their beginnings.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use unflake_model::{
    Attempt, Cell, EnvironmentId, Event, Factor, Failure, Isolation, Outcome, Placement, Probe, Purpose, Session,
    SessionId, TestId,
};

/// Tests to be run in this order, in a fresh environment.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) purpose: Purpose,
    pub(crate) tests: Vec<TestId>,
    pub(crate) prefix: usize,
    pub(crate) probe: Option<Probe>,
    /// Whether it must be a process that has loaded nothing but the files of these tests.
    pub(crate) anew: bool,
    /// Whether in-process environments are fresh enough.
    pub(crate) in_process: bool,
    /// The world it is put in. None: as it is.
    pub(crate) under: Option<Vec<Factor>>,
}

/// What came of a question.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
    /// In the order in which they were made. Where a beginning was shared, the attempts at it may be another answer's.
    pub(crate) attempts: Vec<Heard>,
    /// What the beginning left behind, and what of it could not be looked at. None: nobody looked.
    pub(crate) state: Option<(Vec<Cell>, Vec<String>)>,
    pub(crate) not_restored: Vec<(String, String)>,
    pub(crate) left: Vec<TestId>,
    /// Why they are.
    pub(crate) why: Option<String>,
    /// Whether the process in which the last test was to run did not come through the tests before it.
    broken: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Heard {
    pub(crate) test: TestId,
    pub(crate) environment: EnvironmentId,
    pub(crate) origin: Isolation,
    pub(crate) outcome: Outcome,
    pub(crate) failure: Option<Failure>,
    pub(crate) seconds: f64,
    /// How many attempts had been told before it.
    pub(crate) number: usize,
}

impl Question {
    pub(crate) fn new(purpose: Purpose, tests: Vec<TestId>) -> Self {
        Self { purpose, tests, prefix: 0, probe: None, anew: false, in_process: false, under: None }
    }

    /// What the first `prefix` tests come to may be shared with other questions.
    pub(crate) fn sharing(self, prefix: usize) -> Self {
        Self { prefix, ..self }
    }
}

impl Answer {
    /// How the last test ended, after all the others in one process. None: nobody knows.
    pub(crate) fn last(&self) -> Option<&Heard> {
        self.attempts.last().filter(|_| self.left.is_empty() && !self.broken)
    }
}

/// Where searches put their questions. Cheap to clone: all clones lead to the same desk.
#[derive(Clone)]
pub(crate) struct Desk {
    inner: Rc<RefCell<Inner>>,
    /// Whether every question is a batch of its own, so that nobody is beside it.
    one_at_a_time: bool,
}

struct Inner {
    fresh_by: Isolation,
    /// Whether every session has processes of its own: then nothing is shared, and all that counts happens in one of them.
    isolated: bool,
    /// No question should be put after so many seconds.
    seconds: f64,
    asked: u32,
    wanted: Vec<Session>,
    open: HashMap<SessionId, Open>,
    answered: HashMap<SessionId, Answer>,
    deadly: BTreeSet<TestId>,
    tally: HashMap<TestId, (u32, u32)>,
    attempts: u64,
    told: usize,
    busy: f64,
    /// Microseconds: when the first attempt began, and when the latest one known to us ended.
    first: Option<i64>,
    latest: i64,
}

struct Open {
    session: Session,
    answer: Answer,
    ended: bool,
}

impl Desk {
    pub(crate) fn new(fresh_by: Isolation, seconds: f64) -> Self {
        let inner = Inner {
            fresh_by,
            isolated: false,
            seconds,
            asked: 0,
            wanted: Vec::new(),
            open: HashMap::new(),
            answered: HashMap::new(),
            deadly: BTreeSet::new(),
            tally: HashMap::new(),
            attempts: 0,
            told: 0,
            busy: 0.0,
            first: None,
            latest: 0,
        };
        Self { inner: Rc::new(RefCell::new(inner)), one_at_a_time: false }
    }

    /// The same desk, at which questions are put one after the other. Nothing else may be asked meanwhile.
    pub(crate) fn one_at_a_time(&self) -> Self {
        Self { one_at_a_time: true, ..self.clone() }
    }

    /// The answers, in the order of the questions.
    pub(crate) async fn ask(&self, questions: Vec<Question>) -> Vec<Answer> {
        if !self.one_at_a_time {
            return self.ask_together(questions).await;
        }
        let mut answers = Vec::new();
        for question in questions {
            answers.extend(self.ask_together(vec![question]).await);
        }
        answers
    }

    async fn ask_together(&self, questions: Vec<Question>) -> Vec<Answer> {
        let ids: Vec<SessionId> = questions.into_iter().map(|question| self.put(question)).collect();
        poll_fn(|_| {
            let mut inner = self.inner.borrow_mut();
            if ids.iter().any(|id| !inner.answered.contains_key(id)) {
                return Poll::Pending;
            }
            Poll::Ready(ids.iter().filter_map(|id| inner.answered.remove(id)).collect())
        })
        .await
    }

    fn put(&self, question: Question) -> SessionId {
        let mut inner = self.inner.borrow_mut();
        // Number 0 is the suite's, and there is none here.
        inner.asked += 1;
        let id = SessionId(inner.asked);
        let Question { purpose, tests, prefix, probe, anew, in_process, under } = question;
        let place = Placement::Fresh(match (anew, in_process) {
            (true, _) => Isolation::Process,
            (false, true) => Isolation::InProcess,
            (false, false) => inner.fresh_by,
        });
        let session = Session {
            place,
            prefix: prefix as u32,
            probe,
            under,
            ..Session::fresh(id, purpose, Isolation::Fork, tests)
        };
        inner.wanted.push(session);
        id
    }

    /// Whether the time is over.
    pub(crate) fn is_late(&self) -> bool {
        self.seconds_left() <= 0.0
    }

    pub(crate) fn seconds_left(&self) -> f64 {
        let inner = self.inner.borrow();
        inner.seconds - inner.first.map_or(0.0, |first| (inner.latest - first) as f64 / 1e6)
    }

    /// What one attempt takes, on the whole.
    pub(crate) fn seconds_each(&self) -> f64 {
        let inner = self.inner.borrow();
        inner.busy / inner.attempts.max(1) as f64
    }

    /// Whether a test is known to end its process when it runs.
    pub(crate) fn is_deadly(&self, test: &TestId) -> bool {
        self.inner.borrow().deadly.contains(test)
    }

    /// How often a test was tried, and how often it failed.
    pub(crate) fn tally(&self, test: &TestId) -> (u32, u32) {
        self.inner.borrow().tally.get(test).copied().unwrap_or_default()
    }

    /// Says whether this was the end of a batch.
    fn hear(&self, event: &Event) -> bool {
        let mut inner = self.inner.borrow_mut();
        match event {
            Event::TestsListed { isolated, .. } => inner.isolated = *isolated,
            Event::AttemptEnded(attempt) => inner.hear_attempt(attempt),
            Event::StateLeaked { session, cells, unknown } => {
                if let Some(open) = inner.open.get_mut(session) {
                    open.answer.state = Some((cells.clone(), unknown.clone()));
                }
            }
            Event::RestoreFailed { session, cells } => {
                if let Some(open) = inner.open.get_mut(session) {
                    open.answer.not_restored.extend(cells.iter().cloned());
                }
            }
            Event::SessionEnded { session, left, why } => {
                if let Some(open) = inner.open.get_mut(session) {
                    open.answer.left.clone_from(left);
                    open.answer.why.clone_from(why);
                    open.ended = true;
                    return inner.open.values().all(|open| open.ended);
                }
            }
            _ => {}
        }
        false
    }
}

impl Inner {
    fn hear_attempt(&mut self, attempt: &Attempt) {
        let number = self.told;
        self.told += 1;
        let Some(open) = self.open.get_mut(&attempt.session) else { return };
        open.answer.attempts.push(Heard {
            test: attempt.test.clone(),
            environment: attempt.environment,
            origin: attempt.origin,
            outcome: attempt.outcome,
            failure: attempt.failure.clone().filter(|_| attempt.outcome.is_failure()),
            seconds: attempt.seconds,
            number,
        });
        let tally = self.tally.entry(attempt.test.clone()).or_default();
        tally.0 += 1;
        tally.1 += u32::from(attempt.outcome.is_failure());
        self.attempts += 1;
        self.busy += attempt.seconds;
        let began = attempt.started.0;
        self.first = Some(self.first.unwrap_or(began).min(began));
        self.latest = self.latest.max(began + (attempt.seconds * 1e6) as i64);
    }

    /// Makes answers of everything that was heard.
    fn close(&mut self) {
        let open = std::mem::take(&mut self.open);
        // A shared beginning is told once, so its death counts for all that begin alike.
        let died: BTreeSet<TestId> = open.values().flat_map(|open| deaths(&open.answer)).collect();
        for (id, Open { session, mut answer, ended }) in open {
            let shared = &session.tests[..(session.prefix as usize).min(session.tests.len())];
            let apart = (session.prefix == 0 || self.isolated) && !in_one_process(&answer);
            answer.broken = !ended || apart || shared.iter().any(|test| died.contains(test));
            self.answered.insert(id, answer);
        }
        self.deadly.extend(died);
    }
}

fn ends_process(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Crashed(_) | Outcome::TimedOut)
}

/// Tests that ended their process and after which others were to run.
fn deaths(answer: &Answer) -> impl Iterator<Item = TestId> {
    let before_last = answer.attempts.len().saturating_sub(usize::from(answer.left.is_empty()));
    answer.attempts[..before_last].iter().filter(|heard| ends_process(heard.outcome)).map(|heard| heard.test.clone())
}

fn in_one_process(answer: &Answer) -> bool {
    answer.attempts.windows(2).all(|two| two[0].environment == two[1].environment && !ends_process(two[0].outcome))
}

/// A search with the desk it sits at.
pub(crate) struct Work {
    desk: Desk,
    search: Option<Pin<Box<dyn Future<Output = ()>>>>,
}

impl Work {
    pub(crate) fn new(desk: Desk, search: impl Future<Output = ()> + 'static) -> Self {
        Self { desk, search: Some(Box::pin(search)) }
    }

    pub(crate) fn hear(&mut self, event: &Event) {
        if self.desk.hear(event) {
            self.go_on();
        }
    }

    pub(crate) fn ask(&mut self) -> Vec<Session> {
        if self.desk.inner.borrow().wanted.is_empty() {
            self.go_on();
        }
        let mut inner = self.desk.inner.borrow_mut();
        let sessions = std::mem::take(&mut inner.wanted);
        for session in &sessions {
            let open = Open { session: session.clone(), answer: Answer::default(), ended: false };
            inner.open.insert(session.id, open);
        }
        sessions
    }

    /// With what has been heard the search goes on until it has another question or is over.
    fn go_on(&mut self) {
        self.desk.inner.borrow_mut().close();
        if let Some(search) = &mut self.search
            && search.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready()
        {
            self.search = None;
        }
    }
}

/// Lets searches go on side by side until all are over.
pub(crate) async fn together<T>(searches: Vec<impl Future<Output = T>>) -> Vec<T> {
    let mut searches: Vec<_> = searches.into_iter().map(|search| (Box::pin(search), None)).collect();
    poll_fn(|context| {
        let mut over = true;
        for (search, result) in searches.iter_mut().filter(|(_, result)| result.is_none()) {
            match search.as_mut().poll(context) {
                Poll::Ready(value) => *result = Some(value),
                Poll::Pending => over = false,
            }
        }
        if over { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    searches.into_iter().filter_map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests;
