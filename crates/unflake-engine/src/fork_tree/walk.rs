//! Takes a session to the state in which its tests run, one order at a time, and handles the exit
//! of its environment on the way.

use tracing::debug;
use unflake_model::Death;
use unflake_protocol::{Order, RunOrder};

use crate::engine::Engine;
use crate::environment::EnvironmentPhase;

impl Engine {
    /// Gives the next order to the ready environment of a session on its route. True when the
    /// session has arrived: it is in its state, and the environment is its own.
    pub(crate) fn advance(&mut self, at: usize) -> bool {
        let placed = &self.sessions[at];
        let (Some(id), Some(route)) = (placed.environment, &placed.work.route) else { return false };
        let Some(state) = self.environments.get(id).map(|environment| environment.state) else { return false };
        let (stop, is_exclusive, is_there) = (route.stop, route.is_exclusive, state.steps == route.path.len());
        if state.steps < stop {
            self.order_steps(at, id);
            return false;
        }
        if is_there && self.report_leaked_state(at, id) {
            return false;
        }
        // Files belong to the state, and a fork does not copy them.
        let has_written = !is_exclusive && self.has_written(at);
        if has_written && !self.is_overlapped(at) {
            self.fork_tree.mark_unforkable(state);
        }
        if !is_exclusive && !has_written && !self.may_be_used_up(at, id) {
            debug!(parent: &self.sessions[at].work.span, environment = id, steps = state.steps, "environment parked");
            self.fork_tree.park(id);
            self.sessions[at].environment = None;
            if is_there && !self.sessions[at].work.has_work_after_route() {
                self.finish(at);
            } else {
                self.place(at);
            }
            return false;
        }
        let Some(route) = &mut self.sessions[at].work.route else { return false };
        route.make_exclusive();
        if !is_there {
            self.order_steps(at, id);
            return false;
        }
        if self.restore_cells(at, id) {
            return false;
        }
        self.sessions[at].work.arrive();
        true
    }

    /// Orders the steps up to the next stop.
    fn order_steps(&mut self, at: usize, id: u32) {
        let work = &mut self.sessions[at].work;
        let (Some(route), Some(environment)) = (&work.route, self.environments.get_mut(id)) else { return };
        let stop = route.stop;
        if route.path.is_snapshot_at(environment.state.steps) {
            return environment.query(&Order::Remember);
        }
        let tests = environment.listing.numbers(&work.order_route_to(stop));
        let watch = work.session.probe.iter().map(|probe| &probe.watch).find(|cells| !cells.is_empty());
        environment.phase = EnvironmentPhase::Busy;
        let sent = match watch {
            Some(cells) => environment.order(&Order::Watch { cells: cells.clone() }),
            None => Ok(()),
        };
        match sent {
            Ok(()) => environment.order_or_kill(&Order::Run(RunOrder { hold: true, ..RunOrder::new(tests) })),
            Err(_) => environment.kill(),
        }
    }

    /// The ordered steps are done. A runner that stopped for a limit of its own has not started all
    /// of them; the rest is ordered again.
    pub(crate) fn steps_done(&mut self, at: usize, id: u32) {
        let Some(environment) = self.environments.get_mut(id) else { return };
        let work = &mut self.sessions[at].work;
        let Some(route) = &work.route else { return };
        let started = work.steps_started();
        if started <= environment.state.steps {
            return self.give_up(at, "the runner did not run the tests before it".to_owned());
        }
        environment.state = route.path.state_after(started);
        environment.leaked = None;
        work.continue_route_from(started);
    }

    /// The environment of a session with a route has exited, possibly in the middle of a test,
    /// which `last` names. A lost state is not established again: what killed the process would
    /// kill it again.
    pub(crate) fn environment_exited_on_route(
        &mut self,
        at: usize,
        was_starting: bool,
        last: Option<String>,
        death: Death,
    ) {
        let work = &mut self.sessions[at].work;
        if was_starting && last.is_none() {
            work.continue_route_from(0);
            if work.is_hopeless() {
                self.give_up(at, "its process exited repeatedly before it started".to_owned());
            }
            return;
        }
        if work.remaining().next().is_none() && !work.is_on_route() {
            return self.finish(at);
        }
        let what = last.clone().unwrap_or_else(|| format!("its process ended ({death})"));
        if !work.is_on_route() {
            return self.give_up(at, format!("{what}, so its state is lost"));
        }
        let why = format!("its state was not reached: {what}");
        if let (Some(route), Some(_)) = (&work.route, last) {
            self.fork_tree.mark_unreachable(route.path.state_after(work.steps_started()), &why);
        }
        self.give_up(at, why);
    }
}
