//! Leaked state: compares an environment with its snapshot, reports the difference, and restores
//! cells.

use std::fs;
use std::io;
use std::path::Path;
use std::rc::Rc;

use serde::Deserialize;
use tracing::debug;
use unflake_model::{Cell, Event, Session, WriteSite};
use unflake_protocol::{NotRestored, Order, ProbeOrder};

use crate::engine::Engine;

/// The file format that this version reads.
const FORMAT: u32 = 1;

/// How the state of an environment differs from its snapshot.
#[derive(Deserialize)]
pub(crate) struct LeakedState {
    format: u32,
    cells: Vec<Cell>,
    /// Descriptions of what could not be compared.
    #[serde(default)]
    unknown: Vec<String>,
}

/// The probe of a session whose tests run in processes of the agent: one order has all of it.
pub(crate) fn probe_order(session: &Session) -> Option<ProbeOrder> {
    let probe = session.probe.as_ref()?;
    let unflake_model::Probe { restore, watch, bare } = probe.clone();
    Some(ProbeOrder { after: session.prefix, restore, watch, bare })
}

impl Engine {
    /// Reports what leaked into the state of a session, or orders a comparison. True when the
    /// answer is pending.
    pub(crate) fn report_leaked_state(&mut self, at: usize, id: u32) -> bool {
        let work = &mut self.sessions[at].work;
        let (Some(_), Some(route)) = (&work.session.probe, &mut work.route) else { return false };
        let Some(environment) = self.environments.get_mut(id) else { return false };
        let Some(leaked) = &environment.leaked else {
            environment.query(&Order::Compare);
            return true;
        };
        if !std::mem::replace(&mut route.is_leak_reported, true) {
            let cell = |cell: &Cell| {
                let with_site = |one: &Cell| {
                    let written = route.write_site(&one.path).or(one.written.clone());
                    Cell { written, ..one.clone() }
                };
                Cell { inside: cell.inside.iter().map(with_site).collect(), ..with_site(cell) }
            };
            let (cells, unknown) = (leaked.cells.iter().map(cell).collect(), leaked.unknown.clone());
            self.events.push(Event::StateLeaked { session: work.session.id, cells, unknown });
        }
        false
    }

    /// Orders the cells restored that a session wants restored. True when the answer is pending.
    pub(crate) fn restore_cells(&mut self, at: usize, id: u32) -> bool {
        let work = &self.sessions[at].work;
        let (Some(probe), Some(route)) = (&work.session.probe, &work.route) else { return false };
        if route.is_restored || probe.restore.is_empty() {
            return false;
        }
        if let Some(environment) = self.environments.get_mut(id) {
            environment.query(&Order::Restore { cells: probe.restore.clone() });
        }
        true
    }

    pub(crate) fn snapshot_taken(&mut self, id: u32) {
        let at = self.sessions.in_environment(id);
        let Some(environment) = self.environments.get_mut(id) else { return };
        environment.query_answered();
        if let Some(work) = at.map(|at| &mut self.sessions[at].work)
            && let Some(route) = &work.route
            && route.path.is_snapshot_at(environment.state.steps)
        {
            let steps = environment.state.steps + 1;
            environment.state = route.path.state_after(steps);
            work.continue_route_from(steps);
        }
    }

    pub(crate) fn state_compared(&mut self, id: u32, path: &Path) {
        let leaked = read(path);
        let _ = fs::remove_file(path);
        let Some(environment) = self.environments.get_mut(id) else { return };
        environment.query_answered();
        debug!(environment = id, cells = leaked.cells.len(), "state compared with its snapshot");
        if environment.listing.isolated {
            // It was a process of the agent and has exited: no other session can ask.
            if let Some(session) = self.sessions.in_environment(id).map(|at| self.sessions[at].work.session.id) {
                self.events.push(Event::StateLeaked { session, cells: leaked.cells, unknown: leaked.unknown });
            }
            return;
        }
        environment.leaked = Some(Rc::new(leaked));
    }

    pub(crate) fn cells_restored(&mut self, id: u32, failed: Vec<NotRestored>) {
        let at = self.sessions.in_environment(id);
        if let Some(environment) = self.environments.get_mut(id) {
            environment.query_answered();
        }
        let Some(work) = at.map(|at| &mut self.sessions[at].work) else { return };
        work.route.iter_mut().for_each(|route| route.is_restored = true);
        if !failed.is_empty() {
            let cells = failed.into_iter().map(|one| (one.cell, one.why)).collect();
            self.events.push(Event::RestoreFailed { session: work.session.id, cells });
        }
    }

    pub(crate) fn cell_written(&mut self, id: u32, cell: String, site: WriteSite) {
        if let Some(at) = self.sessions.in_environment(id)
            && let Some(route) = &mut self.sessions[at].work.route
        {
            route.record_write(cell, site);
        }
    }

    /// An agent that cannot execute a query reports a problem instead of an answer.
    pub(crate) fn query_failed(&mut self, id: u32, text: &str) {
        let was_due = self.environments.get_mut(id).is_some_and(|environment| environment.query_since.take().is_some());
        if let Some(at) = self.sessions.in_environment(id).filter(|_| was_due) {
            self.give_up(at, format!("the state that tests leave could not be compared: {text}"));
        }
    }
}

/// Reads the file of an agent. If it cannot be read, everything is unknown.
fn read(path: &Path) -> LeakedState {
    parse(fs::read(path)).unwrap_or_else(|why| {
        let unknown = vec![format!("the leaked state could not be read: {why}")];
        LeakedState { format: FORMAT, cells: Vec::new(), unknown }
    })
}

fn parse(bytes: io::Result<Vec<u8>>) -> Result<LeakedState, String> {
    let bytes = bytes.map_err(|error| error.to_string())?;
    let leaked: LeakedState = serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
    match leaked.format {
        FORMAT => Ok(leaked),
        other => Err(format!("it is of format {other}, this unflake reads {FORMAT}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_read_and_an_unreadable_file_is_unknown() {
        let text = r#"{"format":1,"cells":[{"path":"m.x","kind":"module global","before":"1","after":null,
            "fixed":"it is frozen"}],"unknown":["c"]}"#;
        let leaked = parse(Ok(text.into())).ok().unwrap();
        assert_eq!((leaked.cells[0].path.as_str(), leaked.cells[0].after.as_ref()), ("m.x", None));
        assert_eq!((leaked.cells[0].fixed.as_deref(), leaked.unknown.len()), (Some("it is frozen"), 1));
        assert!(parse(Ok(br#"{"format":2,"cells":[]}"#.to_vec())).is_err_and(|why| why.contains("format 2")));
        assert_eq!(read(Path::new("/nowhere/at/all")).unknown.len(), 1);
    }
}
