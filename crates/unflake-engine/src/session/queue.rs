//! The sessions that wait and those that run. A running session is addressed by its position; a
//! position is valid until a session is removed.

use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

use unflake_model::{Placement, Session, TestId};
use unflake_worlds::OpenWorld;

use crate::project_files::isolation::FileWindow;
use crate::session::active::ActiveSession;

#[derive(Default)]
pub(crate) struct Sessions {
    waiting: VecDeque<ActiveSession>,
    running: Vec<PlacedSession>,
    /// Tests leave state in their environment, so that the prefix of a session matters.
    stateful: bool,
}

/// A running session and its environment.
pub(crate) struct PlacedSession {
    pub(crate) work: ActiveSession,
    /// None while it waits for one.
    pub(crate) environment: Option<u32>,
    /// Number of processes started for it alone.
    pub(crate) processes: u32,
    /// Set by its first order, where its effects on project files are observed.
    pub(crate) window: Option<FileWindow>,
    /// The world of its seed, while its processes run.
    pub(crate) seeded: Option<OpenWorld>,
}

impl Sessions {
    /// Replaces the waiting sessions.
    pub(crate) fn enqueue(&mut self, sessions: Vec<Session>, stateful: bool) {
        self.stateful = stateful;
        let activate = |session: Session| {
            let is_live = session.place == Placement::Live;
            ActiveSession::new(session, stateful && !is_live)
        };
        self.waiting = sessions.into_iter().map(activate).collect();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.running.is_empty()
    }

    /// Number of running sessions.
    pub(crate) fn len(&self) -> usize {
        self.running.len()
    }

    /// Moves the waiting session at this position to the running ones.
    pub(crate) fn start(&mut self, at: usize) {
        if let Some(work) = self.waiting.remove(at) {
            self.running.push(PlacedSession { work, environment: None, processes: 0, window: None, seeded: None });
        }
    }

    /// A session that ran starts over, before all that wait.
    pub(crate) fn requeue(&mut self, session: Session) {
        self.waiting.push_front(ActiveSession::new(session, self.stateful));
    }

    pub(crate) fn remove(&mut self, at: usize) -> PlacedSession {
        self.running.remove(at)
    }

    /// Takes out all that wait.
    pub(crate) fn drain_waiting(&mut self) -> impl Iterator<Item = Session> {
        std::mem::take(&mut self.waiting).into_iter().map(|work| work.session)
    }

    pub(crate) fn waiting(&self) -> impl Iterator<Item = &ActiveSession> {
        self.waiting.iter()
    }

    pub(crate) fn running(&self) -> impl Iterator<Item = &PlacedSession> {
        self.running.iter()
    }

    pub(crate) fn running_mut(&mut self) -> impl Iterator<Item = &mut PlacedSession> {
        self.running.iter_mut()
    }

    /// Position of the first running session that satisfies a condition.
    pub(crate) fn position(&self, condition: impl Fn(&PlacedSession) -> bool) -> Option<usize> {
        self.running.iter().position(condition)
    }

    /// Position of the session that runs in this environment.
    pub(crate) fn in_environment(&self, environment: u32) -> Option<usize> {
        self.position(|placed| placed.environment == Some(environment))
    }

    /// The sessions without an environment: running ones, then waiting ones.
    pub(crate) fn unplaced(&self) -> impl Iterator<Item = &ActiveSession> {
        let unplaced = self.running.iter().filter(|placed| placed.environment.is_none());
        unplaced.map(|placed| &placed.work).chain(&self.waiting)
    }

    /// The tests that fresh environments have to provide.
    pub(crate) fn tests_for_fresh(&self) -> impl Iterator<Item = &TestId> {
        let unplaced = self.running.iter().filter(|placed| placed.environment.is_none());
        let waiting = self.waiting.iter().filter(|work| work.session.place != Placement::Live);
        unplaced.flat_map(|placed| placed.work.remaining()).chain(waiting.flat_map(|work| &work.session.tests))
    }

    /// Whether a running session has effects on files that are observed.
    pub(crate) fn has_window(&self) -> bool {
        self.running.iter().any(|placed| placed.window.is_some())
    }
}

impl Index<usize> for Sessions {
    type Output = PlacedSession;

    fn index(&self, at: usize) -> &PlacedSession {
        &self.running[at]
    }
}

impl IndexMut<usize> for Sessions {
    fn index_mut(&mut self, at: usize) -> &mut PlacedSession {
        &mut self.running[at]
    }
}
