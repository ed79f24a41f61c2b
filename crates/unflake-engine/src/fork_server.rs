//! The fork server: a process that has collected tests, runs none, and is forked for each session.
//! It starts when a session first needs a fresh environment. Where there cannot be one, the reason
//! is kept and sessions run in new processes.

use std::collections::BTreeSet;

use tracing::debug;
use unflake_model::{Event, Purpose, TestId};

use crate::engine::Engine;
use crate::environment::{EnvironmentPhase, Role};

/// Collecting only the files of the needed tests pays off if these are few.
const NARROW_BELOW: f64 = 0.5;

#[derive(Default)]
pub(crate) struct ForkServer {
    id: Option<u32>,
    /// Why there cannot be one.
    unavailable: Option<String>,
    /// The tests for which it was started.
    started_for: BTreeSet<TestId>,
    /// A fork server that collected only some files was not sufficient; the next collects all.
    collects_everything: bool,
}

impl ForkServer {
    pub(crate) fn id(&self) -> Option<u32> {
        self.id
    }

    pub(crate) fn is_unavailable(&self) -> bool {
        self.unavailable.is_some()
    }

    /// The process that listed the tests becomes the fork server.
    pub(crate) fn adopt(&mut self, id: Option<u32>) {
        debug!(environment = id, "the listing process becomes the fork server");
        self.id = id;
    }

    /// The process was killed. The next session that needs a fork server starts another.
    pub(crate) fn forget(&mut self, id: u32) {
        self.id = self.id.filter(|server| *server != id);
    }

    /// From now on fresh environments are new processes.
    fn refuse(&mut self, why: String) {
        debug!(why, "no fork server");
        self.unavailable = Some(why);
    }

    /// The fork server has exited. One that listed no tests is not started again.
    pub(crate) fn exited(&mut self, id: u32, has_listed: bool, was_narrowed: bool) {
        if self.id != Some(id) {
            return;
        }
        self.id = None;
        match (has_listed, was_narrowed) {
            (false, true) => self.collects_everything = true,
            (false, false) => self.refuse("the runner did not start a second time".to_owned()),
            (true, _) => {}
        }
    }
}

impl Engine {
    /// The environment that can be forked for a session, if it is ready and suits the session.
    /// Otherwise this starts or replaces the fork server, or gives the session another environment.
    pub(crate) fn fork_server_for(&mut self, at: usize) -> Option<u32> {
        // An isolated agent has no state of tests: the live environment is as good as a new one.
        let isolated = self.suite.listing().isolated;
        // The first pass runs in the user's own process, or in forks of it.
        let is_suite = self.sessions[at].work.session.purpose == Purpose::Suite;
        let suite = self.suite.live().filter(|_| isolated).or(self.suite.forked().filter(|_| is_suite));
        let Some(id) = suite.or(self.fork_server.id) else {
            self.start_fork_server();
            return None;
        };
        let environment = self.environments.get(id)?;
        if environment.phase != EnvironmentPhase::Ready {
            return None;
        }
        let work = &self.sessions[at].work;
        let depends = work.session.depends;
        let runner = environment.runner.as_ref();
        if depends.is_some() && runner.is_some_and(|runner| runner.depends != depends) && !isolated {
            debug!(?depends, "the fork server does not record dependencies as needed");
            self.end_fork_server();
            return None;
        }
        if let Some(why) = environment.listing.unforkable.clone() {
            let note = format!("fresh environments are new processes, which takes longer: {why}");
            self.refuse_forks(why, note);
            self.end_fork_server();
            self.place_in_process(at);
            return None;
        }
        if environment.listing.has_all(work.remaining()) {
            return Some(id);
        }
        if runner.is_some_and(|runner| runner.only.is_some()) {
            // It was started for other sessions, or collecting only some files does not yield these
            // tests. Compared sessions come in many calls: one complete fork server is cheaper than
            // one per call.
            let was_started_for_it = work.remaining().all(|test| self.fork_server.started_for.contains(test));
            self.fork_server.collects_everything |= was_started_for_it || work.is_compared();
            debug!(parent: &work.span, "the fork server lacks tests of the session");
            self.end_fork_server();
            return None;
        }
        let why = work.missing_from(&environment.listing);
        self.give_up(at, why);
        None
    }

    fn start_fork_server(&mut self) {
        let needed: BTreeSet<TestId> = self.sessions.tests_for_fresh().cloned().collect();
        let listing = self.suite.listing();
        let few = (needed.len() as f64) < NARROW_BELOW * listing.tests.len() as f64;
        let running = self.sessions.running().map(|placed| &placed.work);
        let compares_states = running.chain(self.sessions.waiting()).any(|work| work.compares_states());
        let narrow = few && !self.fork_server.collects_everything && !compares_states;
        let only = if narrow { listing.files_of(&needed) } else { None };
        // A session that needs no dependencies can use a process that records them.
        let depends = self.sessions.unplaced().find_map(|work| work.session.depends);
        debug!(tests = needed.len(), files = only.as_ref().map(Vec::len), "starting the fork server");
        self.fork_server.started_for = needed;
        let world = self.fork_server_world();
        match self.start_runner(Role::ForkServer, only, depends, false, world) {
            Ok(id) => self.fork_server.id = Some(id),
            Err(error) => self.fork_server.refuse(error.to_string()),
        }
    }

    pub(crate) fn end_fork_server(&mut self) {
        if let Some(environment) = self.fork_server.id.take().and_then(|id| self.environments.get_mut(id)) {
            environment.end();
        }
    }

    /// From now on fresh environments are new processes, for a reason that the user should know.
    pub(crate) fn refuse_forks(&mut self, why: String, note: String) {
        self.events.push(Event::Note(note));
        self.fork_server.refuse(why);
    }
}
