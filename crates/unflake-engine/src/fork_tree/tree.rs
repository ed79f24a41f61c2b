//! States that are reached once and used often: environments that wait where the ways of several sessions part, to be
//! copied there. Why it is so: docs/design/fork-tree.md.

use unflake_model::Observation;

use crate::active_session::Work;
use crate::engine::Engine;
use crate::environment::{Environment, State};
use crate::fork_tree::prefix::{Past, Path};
use crate::fork_tree::route::Route;

/// So many environments wait at most. Each is a process.
const MOST: usize = 16;
/// So many wait although nobody wants them now: a search often comes back to where it was.
const KEPT: usize = 4;

#[derive(Default)]
pub(crate) struct Tree {
    /// Environments that wait to be copied, the last used last.
    parked: Vec<u32>,
    /// Environments that wait no more, and end when nobody needs them to tell how a copy ended.
    leaving: Vec<u32>,
    /// States in which no copy can be made.
    sealed: Vec<Past>,
    /// States that nobody reaches in this batch, and why.
    dead_ends: Vec<(Past, String)>,
}

impl Tree {
    /// What ended a process once may not do so the next time.
    pub(crate) fn open_dead_ends(&mut self) {
        self.dead_ends.clear();
    }

    pub(crate) fn forget(&mut self, id: u32) {
        self.parked.retain(|parked| *parked != id);
        self.leaving.retain(|leaving| *leaving != id);
    }

    pub(crate) fn park(&mut self, id: u32) {
        self.parked.push(id);
    }

    /// None of the states that were reached is to be used any more.
    pub(crate) fn leave_all(&mut self) {
        self.leaving.append(&mut self.parked);
    }

    pub(crate) fn block(&mut self, past: Past, why: &str) {
        self.dead_ends.push((past, why.to_owned()));
    }

    /// Whether it waited; now it does not.
    fn take(&mut self, id: u32) -> bool {
        let at = self.parked.iter().position(|parked| *parked == id);
        at.map(|at| self.parked.remove(at)).is_some()
    }

    /// Nobody is to be copied in this state. Whether that is new.
    pub(crate) fn seal(&mut self, past: Past) -> bool {
        let is_new = !self.sealed.contains(&past);
        if is_new {
            self.sealed.push(past);
        }
        is_new
    }

    fn is_sealed(&self, path: &Path) -> bool {
        self.sealed.iter().any(|past| path.passes(*past))
    }

    fn dead_end(&self, path: &Path) -> Option<String> {
        self.dead_ends.iter().find(|(past, _)| path.passes(*past)).map(|(_, why)| why.clone())
    }
}

impl Engine {
    /// Puts a session into a copy of whatever is nearest to the state that it wants, unless somebody is about to come
    /// nearer.
    pub(crate) fn set_out(&mut self, at: usize, nursery: u32) {
        let work = &self.works[at].work;
        let Some(Route { path, .. }) = &work.route else { return };
        if let Some(why) = self.tree.dead_end(path) {
            return self.give_up(at, why);
        }
        if self.is_being_led(work, Some(at)) {
            return;
        }
        let shares = work.shared_path().is_some();
        let alone = !shares || self.tree.is_sealed(path);
        let nearest = self.nearest(path, nursery).filter(|_| shares);
        let from = nearest.map_or(0, |id| self.environments[&id].past.steps);
        let there = from == path.len();
        let stop = path.next_stop(from, self.wanted_by_others(Some(at)));
        // What is left behind there is asked where all can use the answer.
        let unasked = |id: &u32| work.session.probe.is_some() && self.environments[id].left.is_none();
        let itself = nearest.filter(|id| there && !alone && unasked(id));

        if let Some(route) = &mut self.works[at].work.route {
            (route.stop, route.own) = (stop, there && itself.is_none());
            if alone {
                route.alone();
            }
        }
        if let Some(id) = itself {
            self.tree.take(id);
            return self.settle(at, id);
        }
        if let Some(id) = nearest.filter(|id| self.tree.take(*id)) {
            self.tree.park(id);
        }
        self.copy(nearest.unwrap_or(nursery), at);
    }

    /// Whether another session is on its way to a state that this one comes by, further on than anything that waits.
    pub(crate) fn is_being_led(&self, work: &Work, myself: Option<usize>) -> bool {
        let Some(path) = work.shared_path().filter(|path| !self.tree.is_sealed(path)) else { return false };
        let nearest = self.nursery.and_then(|nursery| self.nearest(path, nursery));
        let from = nearest.map_or(0, |id| self.environments[&id].past.steps);
        let leads = |route: &Route| !route.own && route.stop > from && path.passes(route.path.past(route.stop));
        self.works.iter().enumerate().any(|(at, placed)| {
            Some(at) != myself && placed.environment.is_some() && placed.work.route.as_ref().is_some_and(leads)
        })
    }

    /// The environment that waits nearest to the end of this way.
    fn nearest(&self, path: &Path, nursery: u32) -> Option<u32> {
        let on_it = |one: &Environment| one.nursery == Some(nursery) && path.passes(one.past);
        let parked = self.tree.parked.iter().filter_map(|id| self.environments.get(id));
        parked.filter(|one| on_it(one)).max_by_key(|one| one.past.steps).map(|one| one.id)
    }

    /// The ways of sessions that have not set out.
    fn wanted_by_others(&self, myself: Option<usize>) -> impl Iterator<Item = &Path> {
        let works = self.works.iter().enumerate();
        let unplaced = works.filter(move |(at, placed)| Some(*at) != myself && placed.environment.is_none());
        unplaced.map(|(_, placed)| &placed.work).chain(&self.waiting).filter_map(Work::shared_path)
    }

    /// Gives a session an environment as it is.
    fn settle(&mut self, at: usize, id: u32) {
        let steps = self.environments.get(&id).map_or(0, |environment| environment.past.steps);
        self.works[at].environment = Some(id);
        self.works[at].work.set_out_from(steps);
    }

    /// Whether the environment in which a session has come to its state need not be left as it is for others. Where so many
    /// ways are still to be gone that nobody would come back to it before it has to go, a copy would be waste.
    pub(crate) fn may_be_used_up(&self, at: usize, id: u32) -> bool {
        let Some(environment) = self.environments.get(&id) else { return false };
        let is_there = |parent: u32| self.environments.get(&parent).is_some_and(|one| one.state != State::Ending);
        environment.nursery != self.nursery
            || self.waiting.iter().filter_map(Work::shared_path).count() >= KEPT
                && !self.wanted_by_others(Some(at)).any(|path| path.passes(environment.past))
                && !self.has_copies(id)
                && environment.parent.is_some_and(is_there)
    }

    /// A test in an environment that has copies would find them among its children.
    fn has_copies(&self, id: u32) -> bool {
        self.environments.values().any(|one| one.parent == Some(id))
    }

    /// No copy can be made in the state of this environment. Whoever wanted one goes on in it, if it can; others go all the
    /// way by themselves.
    pub(crate) fn seal(&mut self, id: u32, at: Option<usize>, why: &str) {
        if let Some(at) = at {
            self.works[at].environment = None;
        }
        let Some(past) = self.environments.get(&id).map(|environment| environment.past) else { return };
        if self.tree.seal(past) {
            let note = format!("some states cannot be shared by sessions, which takes longer: {why}");
            self.seen.push(Observation::Note(note));
        }
        let was_parked = self.tree.take(id);
        if let Some(at) = at.filter(|_| was_parked && !self.has_copies(id)) {
            self.works[at].work.route.iter_mut().for_each(Route::alone);
            self.settle(at, id);
        } else if was_parked {
            self.tree.leaving.push(id);
        }
    }

    /// Ends environments that nobody wants any more, but for the last few, and the longest unused of too many.
    pub(crate) fn tidy_tree(&mut self) {
        let past = |id: &u32| self.environments.get(id).filter(|one| one.nursery == self.nursery).map(|one| one.past);
        let is_wanted =
            |id: &u32| past(id).is_some_and(|past| self.wanted_by_others(None).any(|path| path.passes(past)));
        let (here, foreign): (Vec<u32>, Vec<u32>) = self.tree.parked.iter().partition(|id| past(id).is_some());
        let (wanted, spare): (Vec<u32>, Vec<u32>) = here.iter().partition(|id| is_wanted(id));
        let gone = superfluous(&wanted, &spare);
        self.tree.parked.retain(|id| here.contains(id) && !gone.contains(id));
        self.tree.leaving.extend(gone.into_iter().chain(foreign));

        let needed: Vec<u32> = self.works.iter().filter_map(|placed| placed.environment).collect();
        let parents: Vec<u32> =
            needed.iter().filter_map(|id| self.environments.get(id)).filter_map(|one| one.parent).collect();
        for id in std::mem::take(&mut self.tree.leaving) {
            if parents.contains(&id) {
                self.tree.leaving.push(id);
            } else if let Some(environment) = self.environments.get_mut(&id) {
                environment.end();
            }
        }
    }
}

/// Which of the environments that wait have to go; both lists with the longest unused first.
fn superfluous(wanted: &[u32], spare: &[u32]) -> Vec<u32> {
    let room = MOST.saturating_sub(wanted.len()).min(KEPT);
    let spare = &spare[..spare.len().saturating_sub(room)];
    let wanted = &wanted[..wanted.len().saturating_sub(MOST)];
    [spare, wanted].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_few_wait_although_nobody_wants_them() {
        assert!(superfluous(&[], &[1, 2, 3, 4]).is_empty());
        assert_eq!(superfluous(&[9], &[1, 2, 3, 4, 5, 6]), [1, 2]);
    }

    #[test]
    fn of_too_many_the_unwanted_go_first_and_then_the_longest_unused() {
        let many: Vec<u32> = (10..25).collect();
        assert_eq!(superfluous(&many, &[1, 2, 3]), [1, 2]);
        let more: Vec<u32> = (10..28).collect();
        assert_eq!(superfluous(&more, &[1, 2]), [1, 2, 10, 11]);
    }
}
