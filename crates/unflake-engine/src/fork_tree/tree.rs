//! The fork tree: environments parked at the states where paths of sessions diverge, to be forked
//! there. Each state is reached once and used by all sessions that need it.

use tracing::debug;
use unflake_model::Event;

use crate::engine::Engine;
use crate::environment::{Environment, EnvironmentPhase};
use crate::fork_tree::path::{StateKey, StatePath};
use crate::fork_tree::route::Route;
use crate::session::active::ActiveSession;

/// So many environments are parked at most. Each is a process.
const MAX_PARKED: usize = 16;
/// So many stay parked although no session needs them now: a search often returns to a state.
const MAX_SPARE: usize = 4;

/// Which environments are parked, and which states cannot be shared or reached.
#[derive(Default)]
pub(crate) struct ForkTree {
    /// Parked environments, the last used last.
    parked: Vec<u32>,
    /// Environments that are not parked any more. They end when no fork needs them to report how it
    /// exited.
    retiring: Vec<u32>,
    /// States in which no fork can be made.
    unforkable: Vec<StateKey>,
    /// States that no session of this batch reaches, and why.
    unreachable: Vec<(StateKey, String)>,
}

impl ForkTree {
    /// All states count as reachable again: what killed a process once may not do so again.
    pub(crate) fn clear_unreachable(&mut self) {
        self.unreachable.clear();
    }

    /// The environment has exited.
    pub(crate) fn forget(&mut self, id: u32) {
        self.parked.retain(|parked| *parked != id);
        self.retiring.retain(|retiring| *retiring != id);
    }

    pub(crate) fn park(&mut self, id: u32) {
        self.parked.push(id);
    }

    /// None of the reached states is used any more.
    pub(crate) fn retire_all(&mut self) {
        self.retiring.append(&mut self.parked);
    }

    pub(crate) fn mark_unreachable(&mut self, state: StateKey, why: &str) {
        debug!(steps = state.steps, why, "state is unreachable");
        self.unreachable.push((state, why.to_owned()));
    }

    /// Whether the environment was parked; now it is not.
    fn unpark(&mut self, id: u32) -> bool {
        let at = self.parked.iter().position(|parked| *parked == id);
        at.map(|at| self.parked.remove(at)).is_some()
    }

    /// No fork is made in this state any more. Whether that is new.
    pub(crate) fn mark_unforkable(&mut self, state: StateKey) -> bool {
        let is_new = !self.unforkable.contains(&state);
        if is_new {
            debug!(steps = state.steps, "state cannot be shared");
            self.unforkable.push(state);
        }
        is_new
    }

    fn has_unforkable_state(&self, path: &StatePath) -> bool {
        self.unforkable.iter().any(|state| path.passes(*state))
    }

    /// Why the end of this path cannot be reached.
    fn obstacle(&self, path: &StatePath) -> Option<String> {
        self.unreachable.iter().find(|(state, _)| path.passes(*state)).map(|(_, why)| why.clone())
    }
}

impl Engine {
    /// Gives a session a fork of the parked environment that is nearest to its state, unless
    /// another session is about to park a nearer one.
    pub(crate) fn start_route(&mut self, at: usize, fork_server: u32) {
        let work = &self.sessions[at].work;
        let Some(Route { path, .. }) = &work.route else { return };
        if let Some(why) = self.fork_tree.obstacle(path) {
            return self.give_up(at, why);
        }
        if self.awaits_other_session(work, Some(at)) {
            return;
        }
        let shares = work.shareable_path().is_some();
        let alone = !shares || self.fork_tree.has_unforkable_state(path);
        let nearest = self.nearest(path, fork_server).filter(|_| shares);
        let from = nearest.map_or(0, |one| one.state.steps);
        let is_there = from == path.len();
        let stop = path.next_stop(from, self.paths_of_others(Some(at)));
        // The leaked state is compared in the parked environment: all forks can use the answer.
        let is_uncompared = |one: &Environment| work.session.probe.is_some() && one.leaked.is_none();
        let itself = nearest.filter(|one| is_there && !alone && is_uncompared(one)).map(|one| one.id);
        let nearest = nearest.map(|one| one.id);
        let steps = path.len();
        debug!(parent: &work.span, nearest, from, steps, alone, "shares a prefix of {from} of {steps} steps");

        if let Some(route) = &mut self.sessions[at].work.route {
            (route.stop, route.is_exclusive) = (stop, is_there && itself.is_none());
            if alone {
                route.make_exclusive();
            }
        }
        if let Some(id) = itself {
            self.fork_tree.unpark(id);
            return self.use_environment(at, id);
        }
        if let Some(id) = nearest.filter(|id| self.fork_tree.unpark(*id)) {
            self.fork_tree.park(id);
        }
        self.fork_for(at, nearest.unwrap_or(fork_server));
    }

    /// Whether another session is on its way to a state on this session's path that is nearer than
    /// any parked one.
    pub(crate) fn awaits_other_session(&self, work: &ActiveSession, myself: Option<usize>) -> bool {
        let Some(path) = work.shareable_path().filter(|path| !self.fork_tree.has_unforkable_state(path)) else {
            return false;
        };
        let nearest = self.fork_server.id().and_then(|fork_server| self.nearest(path, fork_server));
        let from = nearest.map_or(0, |one| one.state.steps);
        let leads =
            |route: &Route| !route.is_exclusive && route.stop > from && path.passes(route.path.state_after(route.stop));
        self.sessions.running().enumerate().any(|(at, placed)| {
            Some(at) != myself && placed.environment.is_some() && placed.work.route.as_ref().is_some_and(leads)
        })
    }

    /// The parked environment that is nearest to the end of this path.
    fn nearest(&self, path: &StatePath, fork_server: u32) -> Option<&Environment> {
        let is_on_it = |one: &Environment| one.fork_server == Some(fork_server) && path.passes(one.state);
        let parked = self.fork_tree.parked.iter().filter_map(|id| self.environments.get(*id));
        parked.filter(|one| is_on_it(one)).max_by_key(|one| one.state.steps)
    }

    /// The paths of sessions that have no environment yet.
    fn paths_of_others(&self, myself: Option<usize>) -> impl Iterator<Item = &StatePath> {
        let running = self.sessions.running().enumerate();
        let unplaced = running.filter(move |(at, placed)| Some(*at) != myself && placed.environment.is_none());
        unplaced
            .map(|(_, placed)| &placed.work)
            .chain(self.sessions.waiting())
            .filter_map(ActiveSession::shareable_path)
    }

    /// Gives a session an environment as it is.
    fn use_environment(&mut self, at: usize, id: u32) {
        let steps = self.environments.get(id).map_or(0, |environment| environment.state.steps);
        self.sessions[at].environment = Some(id);
        self.sessions[at].work.continue_route_from(steps);
    }

    /// Whether the environment in which a session has reached its state need not be parked for
    /// others. Where so many paths remain that it would be retired before a session returns to it,
    /// a fork would be waste.
    pub(crate) fn may_be_used_up(&self, at: usize, id: u32) -> bool {
        let Some(environment) = self.environments.get(id) else { return false };
        let stays =
            |parent: u32| self.environments.get(parent).is_some_and(|one| one.phase != EnvironmentPhase::Ending);
        environment.fork_server != self.fork_server.id()
            || self.sessions.waiting().filter_map(ActiveSession::shareable_path).count() >= MAX_SPARE
                && !self.paths_of_others(Some(at)).any(|path| path.passes(environment.state))
                && !self.environments.has_forks(id)
                && environment.parent.is_some_and(stays)
    }

    /// No fork can be made in the state of this environment. The session that needed one continues
    /// in the environment itself if possible; others go their whole path alone.
    pub(crate) fn fork_refused(&mut self, id: u32, at: Option<usize>, why: &str) {
        if let Some(at) = at {
            self.sessions[at].environment = None;
        }
        let Some(state) = self.environments.get(id).map(|environment| environment.state) else { return };
        if self.fork_tree.mark_unforkable(state) {
            let note = format!("some states cannot be shared by sessions, which takes longer: {why}");
            self.events.push(Event::Note(note));
        }
        let was_parked = self.fork_tree.unpark(id);
        if let Some(at) = at.filter(|_| was_parked && !self.environments.has_forks(id)) {
            self.sessions[at].work.route.iter_mut().for_each(Route::make_exclusive);
            self.use_environment(at, id);
        } else if was_parked {
            self.fork_tree.retiring.push(id);
        }
    }

    /// Ends environments that no session needs, except the last few, and the longest unused of too
    /// many.
    pub(crate) fn prune_fork_tree(&mut self) {
        let server = self.fork_server.id();
        let state = |id: &u32| self.environments.get(*id).filter(|one| one.fork_server == server).map(|one| one.state);
        let is_needed =
            |id: &u32| state(id).is_some_and(|state| self.paths_of_others(None).any(|path| path.passes(state)));
        let (current, foreign): (Vec<u32>, Vec<u32>) = self.fork_tree.parked.iter().partition(|id| state(id).is_some());
        let (needed, spare): (Vec<u32>, Vec<u32>) = current.iter().partition(|id| is_needed(id));
        let superfluous = superfluous(&needed, &spare);
        self.fork_tree.parked.retain(|id| current.contains(id) && !superfluous.contains(id));
        self.fork_tree.retiring.extend(superfluous.into_iter().chain(foreign));

        let in_use = self.sessions.running().filter_map(|placed| placed.environment);
        let parents: Vec<u32> = in_use.filter_map(|id| self.environments.get(id)?.parent).collect();
        for id in std::mem::take(&mut self.fork_tree.retiring) {
            if parents.contains(&id) {
                self.fork_tree.retiring.push(id);
            } else if let Some(environment) = self.environments.get_mut(id) {
                debug!(environment = id, "retiring a parked environment");
                environment.end();
            }
        }
    }
}

/// Which of the parked environments have to go; both lists have the longest unused first.
fn superfluous(needed: &[u32], spare: &[u32]) -> Vec<u32> {
    let room = MAX_PARKED.saturating_sub(needed.len()).min(MAX_SPARE);
    let spare = &spare[..spare.len().saturating_sub(room)];
    let needed = &needed[..needed.len().saturating_sub(MAX_PARKED)];
    [spare, needed].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_few_stay_parked_although_not_needed() {
        assert!(superfluous(&[], &[1, 2, 3, 4]).is_empty());
        assert_eq!(superfluous(&[9], &[1, 2, 3, 4, 5, 6]), [1, 2]);
    }

    #[test]
    fn of_too_many_the_unneeded_go_first_and_then_the_longest_unused() {
        let many: Vec<u32> = (10..25).collect();
        assert_eq!(superfluous(&many, &[1, 2, 3]), [1, 2]);
        let more: Vec<u32> = (10..28).collect();
        assert_eq!(superfluous(&more, &[1, 2]), [1, 2, 10, 11]);
    }
}
