//! Which sessions may run at the same time: runners declare what tests need for themselves.

use std::collections::BTreeMap;

use unflake_model::{Concurrency, Session, TestId};
use unflake_protocol::TestNeeds;

use crate::engine::Engine;
use crate::environment::listing::Listing;
use crate::session::active::ActiveSession;

impl Engine {
    /// Whether a session may start beside those that run. Only where sessions of its kind run side
    /// by side: the others keep to the order and the jobs of the user's command.
    pub(crate) fn may_run_beside(&self, work: &ActiveSession) -> bool {
        let mut running = self.sessions.running().map(|placed| &placed.work.session);
        let is_something_running = self.sessions.running().next().is_some() || self.worlds.is_busy();
        let is_occupied = self.worlds.is_occupied() || running.any(|one| self.must_run_alone(one));
        if is_occupied || is_something_running && self.must_run_alone(&work.session) {
            return false;
        }
        let listing = self.suite.listing();
        if !work.session.private || !listing.has_needs() {
            return true;
        }
        let running: Vec<TestNeeds> =
            self.sessions.running().map(|placed| needs_of(listing, &placed.work.session.tests)).collect();
        fits(&needs_of(listing, &work.session.tests), &running, self.starter.launch().jobs.max(1) as u32)
    }

    /// Whether what runs at the same time could change the outcome of the session.
    pub(crate) fn must_run_alone(&self, session: &Session) -> bool {
        match session.purpose.concurrency() {
            Concurrency::Alone => true,
            Concurrency::Private => !(self.is_private(session) && self.starter.is_all_private()),
            Concurrency::Any => false,
        }
    }
}

/// What a session needs: all that one of its tests needs.
fn needs_of(listing: &Listing, tests: &[TestId]) -> TestNeeds {
    let mut all = TestNeeds::default();
    tests.iter().filter_map(|test| listing.needs(test)).for_each(|needs| all.add(needs));
    all
}

fn fits(wanted: &TestNeeds, running: &[TestNeeds], jobs: u32) -> bool {
    if running.is_empty() {
        return true;
    }
    let weight = |needs: &TestNeeds| needs.jobs.max(1);
    // By name: how many use it, and how many may.
    let mut used: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
    for (name, most) in running.iter().flat_map(|one| &one.resources) {
        let (users, limit) = used.entry(name).or_insert((0, *most));
        (*users, *limit) = (*users + 1, (*limit).min(*most));
    }
    let is_free = |(name, most): (&String, &u32)| {
        used.get(name.as_str()).is_none_or(|(users, limit)| *users < (*limit.min(most)).max(1))
    };
    !wanted.alone
        && running.iter().all(|one| !one.alone)
        && running.iter().map(weight).sum::<u32>() + weight(wanted) <= jobs
        && wanted.resources.iter().all(is_free)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_test_needs_limits_what_runs_beside_it() {
        let needs = |alone: bool, jobs: u32, resources: &[(&str, u32)]| TestNeeds {
            alone,
            jobs,
            resources: resources.iter().map(|(name, most)| ((*name).to_owned(), *most)).collect(),
        };
        let plain = TestNeeds::default();
        let check = |wanted: &TestNeeds, running: &[&TestNeeds], expected: bool| {
            let running: Vec<TestNeeds> = running.iter().map(|one| (*one).clone()).collect();
            assert_eq!(fits(wanted, &running, 4), expected, "{wanted:?} beside {running:?}");
        };
        let (alone, wide) = (needs(true, 0, &[]), needs(false, 3, &[]));
        let (file, other) = (needs(false, 0, &[("file", 1)]), needs(false, 0, &[("port", 1)]));
        let two = needs(false, 0, &[("group", 2)]);
        check(&plain, &[&plain, &plain, &plain], true);
        check(&plain, &[&plain, &plain, &plain, &plain], false);
        check(&alone, &[&plain], false);
        check(&plain, &[&alone], false);
        check(&alone, &[], true);
        check(&wide, &[&plain], true);
        check(&wide, &[&plain, &plain], false);
        check(&plain, &[&wide, &plain], false);
        check(&file, &[&file], false);
        check(&file, &[&other, &plain], true);
        check(&two, &[&two], true);
        check(&two, &[&two, &two], false);
        let reader = needs(false, 0, &[("file", u32::MAX)]);
        check(&reader, &[&reader, &reader], true);
        check(&reader, &[&file], false);
        check(&file, &[&reader], false);
    }
}
