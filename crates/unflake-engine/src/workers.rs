//! Messages of the processes in which a runner runs its tests side by side, and their deaths.

use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use tracing::debug;
use unflake_model::{Death, Event};
use unflake_protocol::{AgentMessage, Hello};

use crate::engine::Engine;
use crate::environment::EnvironmentPhase;
use crate::input::EngineInput;
use crate::timeouts::LAST_MESSAGES;

/// A runner may lose track when several of its processes die, and wait for ever. So long it may do
/// nothing, and as long again as it took to list its tests: a new process lists them, too.
const STALLED: Duration = Duration::from_secs(20);

impl Engine {
    pub(crate) fn on_worker_connected(&mut self, hello: &Hello, number: u32, connection: u64, stream: UnixStream) {
        let Some(environment) = self.environments.get_mut(hello.environment) else { return };
        debug!(environment = environment.id, process = number, pid = hello.pid, "process of the runner started");
        environment.workers.add(connection, number, hello, stream);
        if environment.phase == EnvironmentPhase::Starting {
            environment.workers.ask_for_tests();
        }
    }

    /// An input from the connection of one of these processes.
    pub(crate) fn handle_worker(&mut self, id: u32, connection: u64, input: EngineInput) {
        match input {
            EngineInput::Message { message, .. } => self.on_worker_message(id, connection, message),
            EngineInput::Disconnected { .. } => {
                let Some(environment) = self.environments.get_mut(id) else { return };
                environment.workers.remove(connection);
                if environment.phase == EnvironmentPhase::Starting {
                    environment.workers.ask_for_tests();
                }
                self.check_workers(id, Instant::now());
            }
            other => self.handle_current(other),
        }
    }

    fn on_worker_message(&mut self, id: u32, connection: u64, message: AgentMessage) {
        let Some(environment) = self.environments.get_mut(id) else { return };
        let Some(worker) = environment.workers.get_mut(connection) else { return };
        if matches!(message, AgentMessage::Start { .. } | AgentMessage::Done(_)) {
            environment.workers.heard();
            return self.on_message(id, message);
        }
        match message {
            AgentMessage::Listed { tests } => worker.listed.extend(tests),
            AgentMessage::Ready { .. } => {
                environment.listed = std::mem::take(&mut worker.listed);
                self.on_message(id, message);
            }
            AgentMessage::Idle | AgentMessage::Bye => {
                worker.is_idle = true;
                self.check_workers(id, Instant::now());
            }
            AgentMessage::Stopped { why, .. } => {
                let process = environment.processes.get(&worker.number()).map(|process| process.id);
                if let Some(at) = self.sessions.in_environment(id) {
                    let work = &mut self.sessions[at].work;
                    for attempt in work.take_running_in(process) {
                        work.discard(attempt);
                    }
                    work.stop(why);
                }
            }
            other => self.on_message(id, other),
        }
    }

    pub(crate) fn on_worker_died(&mut self, id: u32, number: u32, death: Death) {
        debug!(environment = id, process = number, %death, "process of the runner died");
        if let Some(environment) = self.environments.get_mut(id) {
            environment.workers.died(number, death);
        }
        self.check_workers(id, Instant::now());
    }

    /// Kills a runner that gives no more tests to its processes after one of them has died. The rest
    /// of the session continues elsewhere.
    pub(crate) fn check_stalled(&mut self, now: Instant) {
        for id in self.environments.ids_where(|one| one.workers.are_silent(now, STALLED + 2 * one.listing_time)) {
            let is_waiting =
                self.sessions.in_environment(id).is_some_and(|at| self.sessions[at].work.running.is_empty());
            let Some(environment) = self.environments.get_mut(id).filter(|_| is_waiting) else { continue };
            environment.kill();
            environment.workers.stop_waiting();
            let note = "the runner gave its processes no more tests after one of them died; the rest ran elsewhere";
            self.events.push(Event::Note(note.to_owned()));
        }
    }

    /// Ends the attempts of processes that have died, and the order if nothing more can arrive.
    pub(crate) fn check_workers(&mut self, id: u32, now: Instant) {
        loop {
            let Some(environment) = self.environments.get_mut(id) else { return };
            let Some(dead) = environment.workers.take_dead(now, LAST_MESSAGES) else { break };
            let process = environment.processes.get(&dead.number).map(|process| process.id);
            if let Some(error) = self.agent_error(&format!("{id}-{}", dead.number)) {
                self.agent_failed(id, &error);
            }
            let Some(at) = self.sessions.in_environment(id) else { continue };
            for attempt in self.sessions[at].work.take_running_in(process) {
                match self.stop.reason() {
                    Some(_) => self.sessions[at].work.discard(attempt),
                    None => drop(self.attempt_died(at, id, attempt, dead.death)),
                }
            }
        }
        let Some(environment) = self.environments.get_mut(id) else { return };
        if environment.workers.are_done() {
            environment.workers.is_runner_idle = false;
            // What ran the tests has exited: nothing else can run there.
            self.suite.forget(id);
            self.on_idle(id);
        }
    }
}
