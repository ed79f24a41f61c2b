//! The user's own runner process: its listing, its output and how it exited.

use std::path::Path;
use std::rc::Rc;

use unflake_model::{Death, Event, Problem};

use crate::environment::listing::Listing;
use crate::runner_process::output::RunnerOutput;

#[derive(Default)]
pub(crate) struct Suite {
    /// The tests of the project. Empty until the runner has listed them.
    listing: Rc<Listing>,
    /// The environment in which `Placement::Live` sessions run.
    live: Option<u32>,
    /// The user's own process, where the first pass runs in forks of it.
    forked: Option<u32>,
    pub(crate) output: RunnerOutput,
    /// How the process exited after it was ordered to.
    pub(crate) exit: Option<Death>,
    /// Number of reported problems.
    problems: usize,
}

impl Suite {
    /// `seconds`: since the start of the run.
    pub(crate) fn listed(&mut self, listing: Rc<Listing>, seconds: f64) -> Event {
        self.listing = listing;
        let Listing { tests, deselected, isolated, .. } = &*self.listing;
        Event::TestsListed { tests: tests.clone(), deselected: *deselected, isolated: *isolated, seconds }
    }

    pub(crate) fn listing(&self) -> &Listing {
        &self.listing
    }

    /// The directory that test files are relative to.
    pub(crate) fn root(&self) -> Option<&Path> {
        Some(Path::new(&self.listing.root)).filter(|root| !root.as_os_str().is_empty())
    }

    pub(crate) fn live(&self) -> Option<u32> {
        self.live
    }

    pub(crate) fn set_live(&mut self, id: Option<u32>) {
        self.live = id;
    }

    /// The first pass runs in forks of the user's own process, which runs no test itself.
    pub(crate) fn run_in_forks(&mut self) {
        self.forked = self.live.take();
    }

    pub(crate) fn forked(&self) -> Option<u32> {
        self.forked
    }

    /// An environment has exited.
    pub(crate) fn forget(&mut self, id: u32) {
        self.forked = self.forked.filter(|forked| *forked != id);
        self.live = self.live.filter(|live| *live != id);
    }

    /// Whether an exit before the listing has been explained.
    pub(crate) fn has_problem(&self) -> bool {
        self.problems > 0
    }

    pub(crate) fn problem(&mut self, problem: Problem) -> Event {
        self.problems += 1;
        Event::Problem(problem)
    }
}
