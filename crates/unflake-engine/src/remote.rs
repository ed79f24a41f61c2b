//! The seam to other machines: fresh sessions may run elsewhere, and come back as the same events.
//!
//! [`RemoteMachines`] is the interface; `unflake-cluster` implements it. The engine hands over
//! sessions and counts the first complete result of each: a session that is not awaited any more
//! changes nothing.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::mpsc::Sender;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tracing::debug;
use unflake_model::{EnvironmentId, Event, Granularity, Layer, Placement, Privacy, Purpose, Session, SessionId};
use unflake_worlds::PrivateRequest;

use crate::engine::Engine;
use crate::fork_tree::path;
use crate::input::EngineInput;
use crate::launch::{Launch, Tracing};
use crate::shared_builds::SharedBuilds;
use crate::worlds::unrun;

/// Machines on which sessions can run, other than this one.
pub trait RemoteMachines: Debug + Send + Sync {
    /// Prepares to run sessions of one engine. Reports arrive until the value is dropped.
    fn connect(&self, launch: RemoteLaunch, reports: RemoteReporter) -> Box<dyn RemoteSessions>;
}

/// The sessions of one engine that run on other machines. Dropped: they end.
pub trait RemoteSessions {
    /// Takes sessions and returns at once.
    fn send(&mut self, sessions: Vec<Session>);

    /// Ends everything that was sent. Reports of it may still arrive.
    fn stop(&mut self);
}

/// What other machines report.
#[derive(Debug)]
pub enum RemoteReport {
    /// All events of one session, the end last. `process` numbers the processes in which sessions
    /// run; environments are numbered within each.
    Session { process: u64, events: Vec<Event> },
    /// These sessions cannot run there; they run here.
    Refused { sessions: Vec<SessionId>, why: String },
    /// Information for the user.
    Note(String),
}

/// Passes reports to the engine. Usable from any thread.
#[derive(Clone)]
pub struct RemoteReporter(Sender<EngineInput>);

impl RemoteReporter {
    pub fn report(&self, report: RemoteReport) {
        let _ = self.0.send(EngineInput::Remote(report));
    }
}

/// How sessions are launched on another machine: what is not the same for all machines, such as the
/// agent and the number of jobs, is added there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RemoteLaunch {
    pub command: Vec<String>,
    directory: Option<PathBuf>,
    traced: Option<Tracing>,
    layers: Vec<Layer>,
    depends: Option<Granularity>,
    private: Option<(Privacy, PathBuf, Vec<PathBuf>)>,
    session_seeds: Option<u64>,
    timeout: Option<Duration>,
    output_limit: usize,
    /// Whether several launches of the command share builds.
    builds: bool,
}

impl RemoteLaunch {
    pub(crate) fn of(launch: &Launch) -> Self {
        let private = launch.private.clone();
        Self {
            command: launch.command.clone(),
            directory: launch.directory.clone(),
            traced: launch.traced,
            layers: launch.layers.clone(),
            depends: launch.depends,
            private: private.map(|PrivateRequest { parts, project, keep }| (parts, project, keep)),
            session_seeds: launch.session_seeds,
            timeout: launch.timeout,
            output_limit: launch.output_limit,
            builds: launch.builds.is_some(),
        }
    }

    /// The same on this machine, given what is its own. `builds` are shared by all launches here.
    pub fn on(&self, base: Launch, builds: Option<SharedBuilds>) -> Launch {
        let private = self.private.clone();
        Launch {
            suite: false,
            spread: false,
            directory: self.directory.clone(),
            traced: self.traced,
            layers: self.layers.clone(),
            depends: self.depends,
            private: private.map(|(parts, project, keep)| PrivateRequest { parts, project, keep }),
            session_seeds: self.session_seeds,
            timeout: self.timeout,
            output_limit: self.output_limit,
            builds: builds.filter(|_| self.builds),
            time: None,
            remote: None,
            ..base
        }
    }
}

/// The sessions of an engine that are elsewhere.
#[derive(Default)]
pub(crate) struct AwaySessions {
    connection: Option<Box<dyn RemoteSessions>>,
    awaited: BTreeMap<SessionId, Session>,
    /// The environments of other processes, by process and number there.
    environments: HashMap<(u64, EnvironmentId), EnvironmentId>,
}

impl AwaySessions {
    pub(crate) fn is_empty(&self) -> bool {
        self.awaited.is_empty()
    }

    /// Ends everything, and takes out the sessions that have not come back.
    pub(crate) fn recall(&mut self) -> impl Iterator<Item = Session> + use<> {
        if let Some(connection) = self.connection.as_mut().filter(|_| !self.awaited.is_empty()) {
            connection.stop();
        }
        std::mem::take(&mut self.awaited).into_values()
    }

    pub(crate) fn disconnect(&mut self) {
        self.connection = None;
    }
}

impl Engine {
    /// Sends away what other machines can run, and returns the rest.
    pub(crate) fn send_away(&mut self, sessions: Vec<Session>) -> Vec<Session> {
        let launch = self.starter.launch();
        let Some(machines) = launch.remote.clone().filter(|_| !launch.filter) else { return sessions };
        let (away, here): (Vec<_>, Vec<_>) = sessions.into_iter().partition(can_leave);
        if away.is_empty() || self.stop.reason().is_some() {
            return [here, away].concat();
        }
        // Those that share a prefix shall run on one machine.
        let away = if self.is_isolated() { away } else { path::depth_first(away) };
        let launch = self.starter.launch();
        debug!(sessions = away.len(), "sessions sent to other machines");
        let (launch, reporter) = (RemoteLaunch::of(launch), RemoteReporter(self.starter.inputs()));
        let connection = self.away.connection.get_or_insert_with(|| machines.connect(launch, reporter));
        self.away.awaited.extend(away.iter().map(|session| (session.id, session.clone())));
        connection.send(away);
        here
    }

    pub(crate) fn on_remote_report(&mut self, report: RemoteReport) {
        match report {
            RemoteReport::Session { process, events } => self.session_came_back(process, events),
            RemoteReport::Refused { sessions, why } => {
                let back: Vec<Session> = sessions.iter().filter_map(|id| self.away.awaited.remove(id)).collect();
                if self.stop.reason().is_some() {
                    return self.events.extend(back.into_iter().map(|session| unrun(session, &why)));
                }
                self.events.push(Event::Note(format!("sessions ran on this machine: {why}")));
                for session in back.into_iter().rev() {
                    match self.process_world(&session) {
                        Some(world) => {
                            let is_alone = self.must_run_alone(&session);
                            self.worlds.add(session, world, is_alone);
                        }
                        None => self.sessions.requeue(session),
                    }
                }
            }
            RemoteReport::Note(note) => self.events.push(Event::Note(note)),
        }
    }

    /// Counts a session once: what is not awaited has come back before, or was given up.
    fn session_came_back(&mut self, process: u64, events: Vec<Event>) {
        let Some(Event::SessionEnded { session, .. }) = events.last() else { return };
        if self.away.awaited.remove(session).is_none() {
            debug!(session = session.0, "a second result of the session does not count");
            return;
        }
        let new_id = || EnvironmentId(self.environments.new_id());
        let known = &mut self.away.environments;
        self.events.extend(renumbered(process, events, known, new_id));
    }
}

/// Environments of another process get numbers of this engine.
fn renumbered(
    process: u64,
    mut events: Vec<Event>,
    known: &mut HashMap<(u64, EnvironmentId), EnvironmentId>,
    mut new_id: impl FnMut() -> EnvironmentId,
) -> Vec<Event> {
    for event in &mut events {
        let id = match event {
            Event::AttemptStarted { environment, .. }
            | Event::TraceRecorded { environment, .. }
            | Event::LayersRecorded { environment, .. } => environment,
            Event::AttemptEnded(attempt) => &mut attempt.environment,
            _ => continue,
        };
        *id = *known.entry((process, *id)).or_insert_with(&mut new_id);
    }
    events
}

/// Whether a session can run on another machine: not one that needs the processes or files of this.
fn can_leave(session: &Session) -> bool {
    session.place != Placement::Live && !matches!(session.purpose, Purpose::WithoutFiles | Purpose::Base)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn environments_of_two_processes_stay_apart() {
        let started = |environment| Event::AttemptStarted {
            session: SessionId(1),
            purpose: Purpose::Twice,
            environment: EnvironmentId(environment),
            test: "a".into(),
            run: 0,
        };
        let (mut known, mut next) = (HashMap::new(), 40);
        let mut ids = |process, numbers: &[u32]| {
            let events = numbers.iter().map(|number| started(*number)).collect();
            let new_id = || {
                next += 1;
                EnvironmentId(next)
            };
            let renumbered = renumbered(process, events, &mut known, new_id);
            let number = |event: &Event| match event {
                Event::AttemptStarted { environment, .. } => environment.0,
                _ => unreachable!("only starts were given"),
            };
            renumbered.iter().map(number).collect::<Vec<_>>()
        };
        assert_eq!(ids(1, &[7, 7, 8]), [41, 41, 42]);
        assert_eq!(ids(2, &[7, 8]), [43, 44]);
        assert_eq!(ids(1, &[8]), [42]);
    }
}
