//! Finding every session its environment: the live one, a fork, or a new process.

use std::collections::BTreeSet;
use std::path::Path;

use unflake_model::{Isolation, Observation, Placement, Purpose, TestId};
use unflake_protocol::{Order, RunOrder};

use crate::active_session::Work;
use crate::engine::{Engine, Placed};
use crate::environment::{Listing, Role, State};
use crate::fork_tree::route::Route;
use crate::state_probe::probe_of;

/// Narrowing collection to the files of the wanted tests pays only if they are few.
const NARROW_BELOW: f64 = 0.5;

impl Engine {
    /// Gives every session that can go on something to do.
    pub(crate) fn dispatch(&mut self) {
        if let Some(why) = self.stopped() {
            return self.abandon(why);
        }
        self.dispatch_worlds();
        while self.works.len() < self.launch.jobs.max(1)
            && let Some(work) = self.next_waiting()
        {
            self.works.push(Placed { work, environment: None, processes: 0, window: None });
        }
        let mut at = 0;
        while at < self.works.len() {
            let before = self.works.len();
            if self.works[at].environment.is_none() {
                self.place(at);
            }
            // A session that was given up has left the list.
            if self.works.len() == before {
                self.go_on(at);
            }
            if self.works.len() == before {
                at += 1;
            }
        }
        self.tidy_tree();
    }

    /// The first that need not wait for another: for its end, or for a state which that is about to reach.
    fn next_waiting(&mut self) -> Option<Work> {
        let is_free = |work: &Work| !self.is_being_led(work, None) && self.may_begin(work);
        let free = self.waiting.iter().position(is_free);
        self.waiting.remove(free?)
    }

    pub(crate) fn place(&mut self, at: usize) {
        match self.works[at].work.session.place {
            Placement::Live if self.live.is_some() => self.works[at].environment = self.live,
            Placement::Live | Placement::Fresh(Isolation::Fork) => self.place_in_fork(at),
            // Its tests have processes of their own anyway.
            Placement::Fresh(Isolation::Process | Isolation::InProcess) if self.suite.isolated => {
                self.place_in_fork(at)
            }
            Placement::Fresh(Isolation::Process | Isolation::InProcess) => self.place_in_process(at),
        }
    }

    fn place_in_fork(&mut self, at: usize) {
        if self.no_nursery.is_some() {
            return self.place_in_process(at);
        }
        let as_good_as_new = self.live.filter(|_| self.suite.isolated);
        let Some(nursery) = as_good_as_new.or(self.nursery) else { return self.start_nursery() };
        let Some(environment) = self.environments.get_mut(&nursery) else { return };
        if environment.state != State::Ready {
            return;
        }
        let depends = self.works[at].work.session.depends;
        if depends.is_some()
            && environment.root.as_ref().is_some_and(|root| root.depends != depends)
            && !self.suite.isolated
        {
            return self.end_nursery();
        }
        if let Some(why) = &environment.listing.unforkable {
            let why = why.clone();
            let note = format!("fresh environments are new processes, which takes longer: {why}");
            self.seen.push(Observation::Note(note));
            self.no_nursery = Some(why);
            self.end_nursery();
            return self.place_in_process(at);
        }
        let listing = environment.listing.clone();
        if !listing.has_all(self.works[at].work.needed()) {
            if environment.root.as_ref().is_some_and(|root| root.narrowed) {
                // It was made for other sessions, or collecting some files only does not give these tests. Sessions that are
                // compared come in many batches, and one nursery for each would cost more than a whole one.
                self.whole_nursery |= self.was_meant_for(at) || self.works[at].work.is_compared();
                return self.end_nursery();
            }
            return self.give_up(at, not_listed(&self.works[at].work, &listing));
        }
        if self.works[at].work.route.is_some() {
            return self.set_out(at, nursery);
        }
        self.copy(nursery, at);
    }

    /// Has an environment copied for a session.
    pub(crate) fn copy(&mut self, id: u32, at: usize) {
        let child = self.new_id();
        let Some(parent) = self.environments.get_mut(&id) else { return };
        if parent.order(&Order::Fork { environment: child }).is_err() {
            return parent.kill();
        }
        let (listing, past, left, attempts) =
            (parent.listing.clone(), parent.past, parent.left.clone(), parent.attempts);
        let nursery = parent.nursery.or(Some(id));
        self.add(child, Role::Seat, None, Some(id), listing);
        if let Some(copy) = self.environments.get_mut(&child) {
            (copy.past, copy.left, copy.attempts, copy.nursery) = (past, left, attempts, nursery);
        }
        self.works[at].work.set_out_from(past.steps);
        self.works[at].environment = Some(child);
    }

    /// Whether the nursery's files were chosen with this session in mind.
    fn was_meant_for(&self, at: usize) -> bool {
        self.works[at].work.needed().all(|test| self.nursery_tests.contains(test))
    }

    fn start_nursery(&mut self) {
        let unplaced = self.works.iter().filter(|placed| placed.environment.is_none());
        let here = unplaced.flat_map(|placed| placed.work.needed());
        let fresh = self.waiting.iter().filter(|work| work.session.place != Placement::Live);
        let later = fresh.flat_map(|work| &work.session.tests);
        let needed: BTreeSet<TestId> = here.chain(later).cloned().collect();
        let few = (needed.len() as f64) < NARROW_BELOW * self.suite.tests.len() as f64;
        let only = if self.whole_nursery || !few || self.compares_states() { None } else { self.files_of(&needed) };
        self.nursery_tests = needed;
        // Those that want to be told less can do with one that tells more.
        let unplaced = self.works.iter().filter(|placed| placed.environment.is_none());
        let works = unplaced.map(|placed| &placed.work).chain(&self.waiting);
        let depends = works.map(|work| &work.session).find_map(|one| one.depends);
        match self.start_root(Role::Nursery, only, depends) {
            Ok(id) => self.nursery = Some(id),
            Err(error) => self.no_nursery = Some(error.to_string()),
        }
    }

    /// Sessions that are compared with each other, over several batches, have to begin with the same files loaded.
    fn compares_states(&self) -> bool {
        let works = self.works.iter().map(|placed| &placed.work).chain(&self.waiting);
        let compares = |work: &Work| {
            work.route.is_some() || matches!(work.session.purpose, Purpose::Order | Purpose::Search | Purpose::State)
        };
        works.into_iter().any(compares)
    }

    fn end_nursery(&mut self) {
        if let Some(environment) = self.nursery.take().and_then(|id| self.environments.get_mut(&id)) {
            environment.end();
        }
    }

    fn place_in_process(&mut self, at: usize) {
        let needed = self.works[at].work.needed().cloned().collect();
        let only = match self.works[at].processes {
            0 => self.files_of(&needed),
            1 => None,
            _ => return self.give_up(at, "the runner could not be started again for it".to_owned()),
        };
        self.works[at].processes += if only.is_some() { 1 } else { 2 };
        match self.start_root(Role::Seat, only, self.works[at].work.session.depends) {
            Ok(id) => {
                let placed = &mut self.works[at];
                placed.environment = Some(id);
                placed.work.set_out_from(0);
                placed.work.route.iter_mut().for_each(Route::alone);
            }
            Err(error) => self.give_up(at, format!("the runner could not be started again: {error}")),
        }
    }

    /// The absolute paths of the files that these tests are in. None unless all are known.
    pub(crate) fn files_of(&self, tests: &BTreeSet<TestId>) -> Option<Vec<String>> {
        let root = Path::new(&self.suite.root);
        let file = |test: &TestId| {
            let number = *self.suite.number_of.get(test)?;
            let path = root.join(self.suite.tests[number as usize].file.as_deref()?);
            path.is_file().then(|| path.to_string_lossy().into_owned())
        };
        let files: Option<BTreeSet<String>> = tests.iter().map(file).collect();
        files.filter(|files| !files.is_empty()).map(|files| files.into_iter().collect())
    }

    /// Orders the next part of a session whose environment is ready.
    fn go_on(&mut self, at: usize) {
        let placed = &mut self.works[at];
        let Some(environment) = placed.environment.and_then(|id| self.environments.get_mut(&id)) else { return };
        if environment.state != State::Ready {
            return;
        }
        if !environment.listing.has_all(placed.work.needed()) {
            placed.environment = None;
            if environment.role == Role::Seat && environment.root.is_some() {
                environment.state = State::Ending;
                environment.kill();
                return;
            }
            let why = not_listed(&placed.work, &environment.listing);
            return self.give_up(at, why);
        }
        self.open_window(at);
        if self.works[at].work.is_on_the_way() && !self.lead(at) {
            return;
        }
        let placed = &mut self.works[at];
        let Some(environment) = placed.environment.and_then(|id| self.environments.get_mut(&id)) else { return };
        let Some(part) = placed.work.next_part() else {
            return self.finish(at);
        };
        let numbers = part.tests.iter().map(|test| environment.listing.number_of[test]).collect();
        // One that is compared may have to be ordered the rest, where the runner stops for a limit of its own.
        let leave =
            placed.work.session.place != Placement::Live && !placed.work.has_more() && !placed.work.is_compared();
        environment.state = State::Busy;
        let as_in_the_suite = matches!(placed.work.session.purpose, Purpose::Suite | Purpose::Again);
        let jobs = if as_in_the_suite { self.launch.jobs as u32 } else { 1 };
        let limit = self.launch.timeout.map(|limit| limit.as_millis() as u64);
        let session = &placed.work.session;
        let run = RunOrder { again: part.again, ..RunOrder::new(numbers) };
        let mut sent = environment.order(&Order::Run(match environment.listing.isolated {
            true => {
                let depends = session.depends.is_some();
                let apart = depends && session.purpose == Purpose::Suite;
                let in_process = session.place == Placement::Fresh(Isolation::InProcess);
                RunOrder { jobs, limit, probe: probe_of(session), depends, apart, in_process, ..run }
            }
            // It was told when it was started.
            false => run,
        }));
        if leave && sent.is_ok() {
            sent = environment.order(&Order::End { failed: None });
        }
        if placed.work.session.place == Placement::Live {
            self.live = placed.environment;
        }
        if sent.is_err() {
            environment.kill();
        }
    }

    pub(crate) fn give_up(&mut self, at: usize, why: String) {
        self.works[at].work.stop(why);
        self.finish(at);
    }

    /// The session is over, whatever is left of it.
    pub(crate) fn finish(&mut self, at: usize) {
        let Placed { work, environment, window, .. } = self.works.remove(at);
        let window = window.map(|window| (work.session.clone(), window));
        let session = work.session.id;
        let fresh = work.session.place != Placement::Live;
        let (left, why) = work.left();
        self.seen.push(Observation::SessionEnded { session, left, why });
        if let Some(environment) = environment.and_then(|id| self.environments.get_mut(&id))
            && fresh
        {
            environment.end();
        }
        if let Some((session, window)) = window {
            self.close_window(session, window);
        }
    }

    /// Nothing is begun any more. What runs is ended by others.
    fn abandon(&mut self, why: &str) {
        self.abandon_worlds(why);
        while let Some(at) = self.works.iter().position(|placed| placed.environment.is_none()) {
            self.give_up(at, why.to_owned());
        }
        while let Some(Work { session, .. }) = self.waiting.pop_front() {
            let why = Some(why.to_owned());
            self.seen.push(Observation::SessionEnded { session: session.id, left: session.tests, why });
        }
    }
}

/// Which test of a session is not there, in words. Some have another name in each process: the time is in it, or an address.
fn not_listed(work: &Work, listing: &Listing) -> String {
    match work.needed().find(|test| !listing.has_all([*test])) {
        Some(missing) if work.session.tests.len() > 1 => {
            format!("the runner did not list {missing} again: leave it out, if its name is another each time")
        }
        _ => "the runner did not list it again".to_owned(),
    }
}
