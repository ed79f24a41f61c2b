//! Gives every session an environment (the live one, a fork, or a new process) and orders its
//! tests.

use tracing::debug;
use unflake_model::{Event, Isolation, Placement, Problem, ProblemKind, Purpose};
use unflake_protocol::{Order, RunOrder};
use unflake_worlds::{OpenWorld, fork_settings};

use crate::engine::Engine;
use crate::environment::listing::Listing;
use crate::environment::{EnvironmentPhase, Role};
use crate::fork_tree::route::Route;
use crate::session::active::ActiveSession;
use crate::session::queue::PlacedSession;
use crate::state_probe::probe_order;
use crate::worlds::{fork_factors, unrun};

impl Engine {
    /// Starts waiting sessions and lets every running session that can continue do so.
    pub(crate) fn dispatch(&mut self) {
        if let Some(why) = self.stop.reason() {
            return self.abandon(why);
        }
        self.dispatch_worlds();
        while self.sessions.len() < self.starter.launch().jobs.max(1)
            && let Some(next) = self.next_waiting()
        {
            self.sessions.start(next);
        }
        let mut at = 0;
        while at < self.sessions.len() {
            let before = self.sessions.len();
            if self.sessions[at].environment.is_none() {
                self.place(at);
            }
            // A session that was given up is not in the list any more.
            if self.sessions.len() == before {
                self.continue_session(at);
            }
            if self.sessions.len() == before {
                at += 1;
            }
        }
        self.prune_fork_tree();
    }

    /// Position of the first waiting session that need not wait for another: for its end, or for a
    /// state that it is about to reach.
    fn next_waiting(&self) -> Option<usize> {
        let is_free = |work: &ActiveSession| {
            !self.awaits_other_session(work, None) && self.may_start(work) && self.may_run_beside(work)
        };
        self.sessions.waiting().position(is_free)
    }

    pub(crate) fn place(&mut self, at: usize) {
        match self.sessions[at].work.session.place {
            Placement::Live if self.suite.live().is_some() => {
                debug!(parent: &self.sessions[at].work.span, environment = self.suite.live(), "runs in the live environment");
                self.sessions[at].environment = self.suite.live();
            }
            Placement::Live | Placement::Fresh(Isolation::Fork) => self.place_in_fork(at),
            // Its tests have processes of their own anyway.
            Placement::Fresh(Isolation::Process | Isolation::InProcess) if self.suite.listing().isolated => {
                self.place_in_fork(at)
            }
            Placement::Fresh(Isolation::Process | Isolation::InProcess) => self.place_in_process(at),
        }
    }

    fn place_in_fork(&mut self, at: usize) {
        if self.fork_server.is_unavailable() {
            return self.place_in_process(at);
        }
        let Some(fork_server) = self.fork_server_for(at) else { return };
        if self.sessions[at].work.route.is_some() {
            return self.start_route(at, fork_server);
        }
        self.fork_for(at, fork_server);
    }

    /// Forks an environment for a session.
    pub(crate) fn fork_for(&mut self, at: usize, parent: u32) {
        let session = &self.sessions[at].work.session;
        let private = self.is_private(session);
        // An isolated agent starts the processes that draw.
        let seed = self.seed_of(session).filter(|_| !self.suite.listing().isolated);
        let settings = fork_settings(fork_factors(session));
        let Some(child) = self.environments.fork(parent, private, seed, settings) else { return };
        let placed = &mut self.sessions[at];
        debug!(parent: &placed.work.span, environment = child.id, forked_from = parent, "runs in a fork");
        placed.work.continue_route_from(child.state.steps);
        placed.environment = Some(child.id);
    }

    pub(crate) fn place_in_process(&mut self, at: usize) {
        let work = &self.sessions[at].work;
        let only = match self.sessions[at].processes {
            0 => self.suite.listing().files_of(&work.remaining().cloned().collect()),
            1 => None,
            _ => return self.give_up(at, "the runner could not be started again for it".to_owned()),
        };
        let depends = work.session.depends;
        let private = self.is_private(&work.session);
        self.sessions[at].processes += if only.is_some() { 1 } else { 2 };
        self.open_seeded(at);
        let world = self.sessions[at].seeded.as_ref().map(OpenWorld::spawn_spec);
        match self.start_runner(Role::Worker, only, depends, private, world) {
            Ok(id) => {
                let placed = &mut self.sessions[at];
                debug!(parent: &placed.work.span, environment = id, "runs in a new process");
                placed.environment = Some(id);
                placed.work.continue_route_from(0);
                placed.work.route.iter_mut().for_each(Route::make_exclusive);
            }
            Err(error) => self.give_up(at, format!("the runner could not be started again: {error}")),
        }
    }

    /// Orders the next batch of a session whose environment is ready.
    fn continue_session(&mut self, at: usize) {
        let placed = &mut self.sessions[at];
        let Some(environment) = placed.environment.and_then(|id| self.environments.get_mut(id)) else { return };
        if environment.phase != EnvironmentPhase::Ready {
            return;
        }
        if !environment.listing.has_all(placed.work.remaining()) {
            placed.environment = None;
            if environment.role == Role::Worker && environment.runner.is_some() {
                debug!(parent: &placed.work.span, environment = environment.id, "the new process lacks tests of the session");
                environment.phase = EnvironmentPhase::Ending;
                environment.kill();
                return;
            }
            let why = placed.work.missing_from(&environment.listing);
            return self.give_up(at, why);
        }
        self.open_window(at);
        if self.sessions[at].work.is_on_route() && !self.advance(at) {
            return;
        }
        self.order_next_batch(at);
    }

    fn order_next_batch(&mut self, at: usize) {
        let spawn = if self.suite.listing().isolated { self.spawn_for(at) } else { None };
        let launch = self.starter.launch();
        let placed = &mut self.sessions[at];
        let Some(environment) = placed.environment.and_then(|id| self.environments.get_mut(id)) else { return };
        let Some(batch) = placed.work.next_batch() else {
            return self.finish(at);
        };
        let session = &placed.work.session;
        let is_live = session.place == Placement::Live;
        // The rest of a compared session may have to be ordered again, if the runner stops for a
        // limit of its own.
        let is_last = !is_live && !placed.work.has_more() && !placed.work.is_compared();
        let reported = self.suite.forked().is_some() && session.purpose == Purpose::Suite;
        let run = RunOrder { again: batch.again, reported, ..RunOrder::new(environment.listing.numbers(&batch.tests)) };
        let run = match environment.listing.isolated {
            true => {
                let is_like_suite = matches!(session.purpose, Purpose::Suite | Purpose::Again);
                let depends = session.depends.is_some();
                RunOrder {
                    jobs: if is_like_suite { launch.jobs as u32 } else { session.at_once.max(1) },
                    limit: launch.timeout.map(|limit| limit.as_millis() as u64),
                    probe: probe_order(session),
                    depends,
                    apart: depends && session.purpose == Purpose::Suite,
                    in_process: session.place == Placement::Fresh(Isolation::InProcess),
                    in_order: session.purpose.keeps_order(),
                    spawn,
                    ..run
                }
            }
            // Other agents learn this when they start.
            false => run,
        };
        debug!(parent: &placed.work.span, environment = environment.id, tests = run.tests.len(), "tests ordered");
        environment.phase = EnvironmentPhase::Busy;
        let mut sent = environment.order(&Order::Run(run));
        if is_last && sent.is_ok() {
            sent = environment.order(&Order::End { failed: None });
        }
        if sent.is_err() {
            environment.kill();
        }
        if is_live {
            self.suite.set_live(placed.environment);
        }
    }

    pub(crate) fn give_up(&mut self, at: usize, why: String) {
        self.sessions[at].work.stop(why);
        self.finish(at);
    }

    /// The session has ended, with all its tests run or not.
    pub(crate) fn finish(&mut self, at: usize) {
        let PlacedSession { mut work, environment, window, .. } = self.sessions.remove(at);
        if let [first, more @ ..] = &work.take_lost()[..] {
            let more = if more.is_empty() { String::new() } else { format!(" and {} more tests", more.len()) };
            let text = format!("no result arrived for `{first}`{more}");
            self.report_problem(Problem { kind: ProblemKind::Protocol, place: None, text });
        }
        let window = window.map(|window| (work.session.clone(), window));
        let session = work.session.id;
        let is_fresh = work.session.place != Placement::Live;
        let (left, why) = work.into_unrun();
        self.events.push(Event::SessionEnded { session, left, why });
        if let Some(environment) = environment.and_then(|id| self.environments.get_mut(id))
            && is_fresh
        {
            environment.end();
        }
        if let Some((session, window)) = window {
            self.close_window(session, window);
        }
    }

    fn first_without_running_tests(&self) -> Option<usize> {
        let is_ready = |id| self.environments.get(id).is_some_and(|one| one.phase == EnvironmentPhase::Ready);
        self.sessions.position(|placed| placed.environment.is_none_or(is_ready))
    }

    /// Starts nothing more. Sessions whose tests run end when their environments do; those that
    /// only have an environment end now.
    fn abandon(&mut self, why: &str) {
        self.events.extend(self.away.recall().map(|session| unrun(session, why)));
        self.events.extend(self.worlds.drain_waiting().map(|session| unrun(session, why)));
        while let Some(at) = self.first_without_running_tests() {
            self.give_up(at, why.to_owned());
        }
        self.events.extend(self.sessions.drain_waiting().map(|session| unrun(session, why)));
    }
}

impl ActiveSession {
    /// Which test of the session a runner does not list, for the user. Some tests have another name
    /// in each process, with the time or an address in it.
    pub(crate) fn missing_from(&self, listing: &Listing) -> String {
        match self.remaining().find(|test| !listing.has_all([*test])) {
            Some(missing) if self.session.tests.len() > 1 => {
                format!("the runner did not list {missing} again; deselect it if its name changes in every run")
            }
            _ => "the runner did not list it again".to_owned(),
        }
    }
}
