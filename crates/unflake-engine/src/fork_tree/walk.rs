//! Leading a session to the state in which its tests are to run: one order after the other, and what becomes of it when
//! its environment dies on the way.

use unflake_model::Death;
use unflake_protocol::{Order, RunOrder};

use crate::engine::Engine;
use crate::environment::State;

impl Engine {
    /// Gives the next order to the environment of a session that is on its way, and ready. True when there is none: it is in the
    /// state that it wants, and the environment is its own.
    pub(crate) fn lead(&mut self, at: usize) -> bool {
        let placed = &self.works[at];
        let (Some(id), Some(route)) = (placed.environment, &placed.work.route) else { return false };
        let Some(past) = self.environments.get(&id).map(|environment| environment.past) else { return false };
        let (stop, own, there) = (route.stop, route.own, past.steps == route.path.len());
        if past.steps < stop {
            self.step(at, id);
            return false;
        }
        if there && self.ask_what_is_left(at, id) {
            return false;
        }
        // Files belong to the state and are not copied with it.
        let written = !own && self.has_written(at);
        if written && !self.is_crowded(at) {
            self.tree.seal(past);
        }
        if !own && !written && !self.may_be_used_up(at, id) {
            self.tree.park(id);
            self.works[at].environment = None;
            if there && !self.works[at].work.has_rest() {
                self.finish(at);
            } else {
                self.place(at);
            }
            return false;
        }
        let Some(route) = &mut self.works[at].work.route else { return false };
        route.alone();
        if !there {
            self.step(at, id);
            return false;
        }
        if self.ask_to_restore(at, id) {
            return false;
        }
        self.works[at].work.arrive();
        true
    }

    /// Orders what leads to the next stop.
    fn step(&mut self, at: usize, id: u32) {
        let work = &mut self.works[at].work;
        let (Some(route), Some(environment)) = (&work.route, self.environments.get_mut(&id)) else { return };
        let stop = route.stop;
        if route.path.remembers_at(environment.past.steps) {
            return environment.ask(&Order::Remember);
        }
        let tests = work.go_to(stop).iter().map(|test| environment.listing.number_of[test]).collect();
        let watch = work.session.probe.iter().map(|probe| &probe.watch).find(|cells| !cells.is_empty());
        environment.state = State::Busy;
        let sent = match watch {
            Some(cells) => environment.order(&Order::Watch { cells: cells.clone() }),
            None => Ok(()),
        };
        let run = Order::Run(RunOrder { hold: true, ..RunOrder::new(tests) });
        if sent.and_then(|()| environment.order(&run)).is_err() {
            environment.kill();
        }
    }

    /// What was ordered on the way has been done. A runner that wanted to stop for one of its own limits has left some of
    /// it, which is ordered once more.
    pub(crate) fn stepped(&mut self, at: usize, id: u32) {
        let Some(environment) = self.environments.get_mut(&id) else { return };
        let work = &mut self.works[at].work;
        let Some(route) = &work.route else { return };
        let begun = work.steps_begun();
        if begun <= environment.past.steps {
            return self.give_up(at, "the runner did not run what was to come before it".to_owned());
        }
        environment.past = route.path.past(begun);
        environment.left = None;
        work.set_out_from(begun);
    }

    /// The environment of a session with a way of its own has died, in the middle of a test perhaps, of which `last` tells.
    /// A state that is lost is not made once more: whatever ended the process would do so again.
    pub(crate) fn stranded(&mut self, at: usize, unborn: bool, last: Option<String>, death: Death) {
        let work = &mut self.works[at].work;
        if unborn && last.is_none() {
            work.set_out_from(0);
            if work.is_hopeless() {
                self.give_up(at, "its environment kept ending before it began".to_owned());
            }
            return;
        }
        if work.needed().next().is_none() && !work.is_on_the_way() {
            return self.finish(at);
        }
        let what = last.clone().unwrap_or_else(|| format!("its process ended ({death})"));
        if !work.is_on_the_way() {
            return self.give_up(at, format!("{what}, and the state in which it was to run is lost"));
        }
        let why = format!("the state in which it was to run was not reached: {what}");
        if let (Some(route), Some(_)) = (&work.route, last) {
            self.tree.block(route.path.past(work.steps_begun()), &why);
        }
        self.give_up(at, why);
    }
}
