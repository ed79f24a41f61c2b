//! What tests leave behind: asking an environment that remembers how it was, and having it put back.

use std::fs;
use std::io;
use std::path::Path;
use std::rc::Rc;
use std::time::Instant;

use serde::Deserialize;
use unflake_model::{Cell, Observation, Session, WriteSite};
use unflake_protocol::{NotRestored, Order, ProbeOrder};

use crate::engine::Engine;
use crate::environment::{Environment, State};

/// The format that this unflake reads.
const FORMAT: u32 = 1;

/// What differs in an environment from how it was when it was fresh.
#[derive(Deserialize)]
pub(crate) struct Left {
    format: u32,
    cells: Vec<Cell>,
    /// What could not be looked at, in words.
    #[serde(default)]
    unknown: Vec<String>,
}

/// The same where tests run in processes of the agent's: all of it in one order.
pub(crate) fn probe_of(session: &Session) -> Option<ProbeOrder> {
    let probe = session.probe.as_ref()?;
    Some(ProbeOrder { after: session.prefix, restore: probe.restore.clone() })
}

impl Environment {
    /// Gives an order that has an answer of its own.
    pub(crate) fn ask(&mut self, order: &Order) {
        self.state = State::Busy;
        self.asked = Some(Instant::now());
        if self.order(order).is_err() {
            self.kill();
        }
    }

    fn has_answered(&mut self) {
        if self.asked.take().is_some() && self.state == State::Busy {
            self.state = State::Ready;
        }
    }
}

impl Engine {
    /// Asks what is left behind in the state that a session wants, or tells it. Whether an answer has to be waited for.
    pub(crate) fn ask_what_is_left(&mut self, at: usize, id: u32) -> bool {
        let work = &mut self.works[at].work;
        let (Some(_), Some(route)) = (&work.session.probe, &mut work.route) else { return false };
        let Some(environment) = self.environments.get_mut(&id) else { return false };
        let Some(left) = &environment.left else {
            environment.ask(&Order::Compare);
            return true;
        };
        if !std::mem::replace(&mut route.told, true) {
            let written_at = |path: &str| route.written.iter().find(|(cell, _)| cell == path).map(|(_, at)| at.clone());
            let cell = |cell: &Cell| Cell { written: written_at(&cell.path).or(cell.written.clone()), ..cell.clone() };
            let (cells, unknown) = (left.cells.iter().map(cell).collect(), left.unknown.clone());
            self.seen.push(Observation::Left { session: work.session.id, cells, unknown });
        }
        false
    }

    /// Asks for what a session wants to be put back. Whether an answer has to be waited for.
    pub(crate) fn ask_to_restore(&mut self, at: usize, id: u32) -> bool {
        let work = &self.works[at].work;
        let (Some(probe), Some(route)) = (&work.session.probe, &work.route) else { return false };
        if route.restored || probe.restore.is_empty() {
            return false;
        }
        if let Some(environment) = self.environments.get_mut(&id) {
            environment.ask(&Order::Restore { cells: probe.restore.clone() });
        }
        true
    }

    pub(crate) fn remembered(&mut self, id: u32) {
        let at = self.work_in(id);
        let Some(environment) = self.environments.get_mut(&id) else { return };
        environment.has_answered();
        if let Some(work) = at.map(|at| &mut self.works[at].work)
            && let Some(route) = &work.route
            && route.path.remembers_at(environment.past.steps)
        {
            let steps = environment.past.steps + 1;
            environment.past = route.path.past(steps);
            work.set_out_from(steps);
        }
    }

    pub(crate) fn changed(&mut self, id: u32, path: &Path) {
        let left = read(path);
        let _ = fs::remove_file(path);
        let Some(environment) = self.environments.get_mut(&id) else { return };
        environment.has_answered();
        if environment.listing.isolated {
            // It was a process of the agent's, and is over: nobody else can ask.
            if let Some(session) = self.work_in(id).map(|at| self.works[at].work.session.id) {
                self.seen.push(Observation::Left { session, cells: left.cells, unknown: left.unknown });
            }
            return;
        }
        environment.left = Some(Rc::new(left));
    }

    pub(crate) fn restored(&mut self, id: u32, failed: Vec<NotRestored>) {
        let at = self.work_in(id);
        if let Some(environment) = self.environments.get_mut(&id) {
            environment.has_answered();
        }
        let Some(work) = at.map(|at| &mut self.works[at].work) else { return };
        work.route.iter_mut().for_each(|route| route.restored = true);
        if !failed.is_empty() {
            let cells = failed.into_iter().map(|one| (one.cell, one.why)).collect();
            self.seen.push(Observation::NotRestored { session: work.session.id, cells });
        }
    }

    pub(crate) fn written(&mut self, id: u32, cell: String, at: WriteSite) {
        if let Some(place) = self.work_in(id)
            && let Some(route) = &mut self.works[place].work.route
        {
            route.wrote(cell, at);
        }
    }

    /// An agent that cannot do what it was asked says so instead of an answer.
    pub(crate) fn cannot_answer(&mut self, id: u32, text: &str) {
        let asked = self.environments.get_mut(&id).is_some_and(|environment| environment.asked.take().is_some());
        if let Some(at) = self.work_in(id).filter(|_| asked) {
            self.give_up(at, format!("what tests leave behind could not be looked at: {text}"));
        }
    }
}

/// Reads what an agent wrote down. What cannot be read is unknown, in words.
fn read(path: &Path) -> Left {
    parse(fs::read(path)).unwrap_or_else(|why| {
        let unknown = vec![format!("what was left behind could not be read: {why}")];
        Left { format: FORMAT, cells: Vec::new(), unknown }
    })
}

fn parse(bytes: io::Result<Vec<u8>>) -> Result<Left, String> {
    let bytes = bytes.map_err(|error| error.to_string())?;
    let left: Left = serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
    match left.format {
        FORMAT => Ok(left),
        other => Err(format!("it is of format {other}, and this unflake reads {FORMAT}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_read_and_what_cannot_be_read_is_unknown() {
        let text = r#"{"format":1,"cells":[{"path":"m.x","kind":"module global","before":"1","after":null,
            "fixed":"it is frozen"}],"unknown":["c"]}"#;
        let left = parse(Ok(text.into())).ok().unwrap();
        assert_eq!((left.cells[0].path.as_str(), left.cells[0].after.as_ref()), ("m.x", None));
        assert_eq!((left.cells[0].fixed.as_deref(), left.unknown.len()), (Some("it is frozen"), 1));
        assert!(parse(Ok(br#"{"format":2,"cells":[]}"#.to_vec())).is_err_and(|why| why.contains("format 2")));
        assert_eq!(read(Path::new("/nowhere/at/all")).unknown.len(), 1);
    }
}
