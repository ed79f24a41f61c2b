//! An environment: a process in which tests run, as the engine sees it.

pub(crate) mod listing;
pub(crate) mod set;
pub(crate) mod workers;

use std::collections::HashMap;
use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use tracing::{debug, trace};
use unflake_model::{Death, EnvironmentFacts, EnvironmentId, Isolation};
use unflake_protocol::{Hello, ListedTest, Order, to_line};

use crate::environment::listing::Listing;
use crate::environment::workers::{WorkerProcess, Workers};
use crate::fork_tree::path::StateKey;
use crate::input::EngineInput;
use crate::runner_process::starter::RunnerProcess;
use crate::session::active::TestProcess;
use crate::state_probe::LeakedState;

pub(crate) struct Environment {
    pub(crate) id: u32,
    pub(crate) role: Role,
    /// The runner process. None for a fork.
    pub(crate) runner: Option<RunnerProcess>,
    /// The environment it was forked from.
    pub(crate) parent: Option<u32>,
    /// The fork server that it descends from.
    pub(crate) fork_server: Option<u32>,
    /// The connection whose messages are handled now.
    pub(crate) connection: Option<(u64, UnixStream)>,
    pub(crate) pid: Option<u32>,
    pub(crate) stack_signal: Option<i32>,
    pub(crate) listing: Rc<Listing>,
    /// The tests listed so far, while it starts.
    pub(crate) listed: Vec<ListedTest>,
    pub(crate) phase: EnvironmentPhase,
    pub(crate) requested_at: Instant,
    /// How long it took to list its tests.
    pub(crate) listing_time: Duration,
    /// Number of attempts made, including those before it was forked.
    pub(crate) attempts: u32,
    /// Which route steps it has completed. [`StateKey::FRESH`] off any route.
    pub(crate) state: StateKey,
    /// The state that these steps leaked, once it has been compared.
    pub(crate) leaked: Option<Rc<LeakedState>>,
    /// Since when an answer about its state is due.
    pub(crate) query_since: Option<Instant>,
    /// The processes that it started for tests, by its own numbers. `position` counts the attempts
    /// started in each.
    pub(crate) processes: HashMap<u32, TestProcess>,
    /// Processes that the runner itself has started for tests, with an agent in each.
    pub(crate) workers: Workers,
    /// Number of its connections that have been handled or are being handled.
    pub(crate) connections: u32,
    /// Inputs from later connections than the current one, in order of arrival.
    pub(crate) deferred: Vec<EngineInput>,
    pub(crate) deferring_since: Option<Instant>,
    /// `EnvironmentUp` has been emitted.
    pub(crate) is_announced: bool,
    /// When its connection closed: it has died, or a test closed the descriptor and it reconnects.
    pub(crate) disconnected_at: Option<Instant>,
    /// When it was last checked whether its process is alive, although it is connected.
    pub(crate) alive_checked_at: Instant,
    /// Since when its process is dead, although its connection is open.
    pub(crate) dead_since: Option<Instant>,
    /// When its parent was asked how it died.
    pub(crate) reap_ordered_at: Option<Instant>,
    /// How and when its process exited. Its last messages may still be in transit.
    pub(crate) exited: Option<(Death, Instant)>,
}

/// What an environment is for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Role {
    /// The user's command, in which the suite runs first.
    Suite,
    /// Collects tests, runs none, and is forked.
    ForkServer,
    /// Runs one session, or replaces a suite environment that died.
    Worker,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum EnvironmentPhase {
    Starting,
    Ready,
    /// Executes an order.
    Busy,
    /// Ordered to exit, or about to exit by itself.
    Ending,
}

impl Environment {
    pub(crate) fn new(id: u32, role: Role, runner: Option<RunnerProcess>) -> Self {
        Self {
            id,
            role,
            runner,
            parent: None,
            fork_server: None,
            connection: None,
            pid: None,
            stack_signal: None,
            listing: Rc::default(),
            listed: Vec::new(),
            phase: EnvironmentPhase::Starting,
            requested_at: Instant::now(),
            listing_time: Duration::ZERO,
            attempts: 0,
            state: StateKey::FRESH,
            leaked: None,
            query_since: None,
            processes: HashMap::new(),
            workers: Workers::default(),
            connections: 0,
            deferred: Vec::new(),
            deferring_since: None,
            is_announced: false,
            disconnected_at: None,
            alive_checked_at: Instant::now(),
            dead_since: None,
            reap_ordered_at: None,
            exited: None,
        }
    }

    /// A fork of `parent`, in the same state.
    fn forked_from(parent: &Self, id: u32) -> Self {
        Self {
            parent: Some(parent.id),
            fork_server: parent.fork_server.or(Some(parent.id)),
            listing: parent.listing.clone(),
            attempts: parent.attempts,
            state: parent.state,
            leaked: parent.leaked.clone(),
            ..Self::new(id, Role::Worker, None)
        }
    }

    pub(crate) fn origin(&self) -> Isolation {
        if self.parent.is_some() { Isolation::Fork } else { Isolation::Process }
    }

    /// What the rest of unflake knows about it.
    pub(crate) fn facts(&self, hello: Hello) -> EnvironmentFacts {
        let (id, parent) = (EnvironmentId(self.id), self.parent.map(EnvironmentId));
        let Hello { runner, language, installed, .. } = hello;
        EnvironmentFacts { id, origin: self.origin(), parent, runner, language, installed }
    }

    /// Whether messages of this connection are handled now, not after those of another.
    pub(crate) fn is_current(&self, connection: u64) -> bool {
        self.connection.as_ref().is_some_and(|(current, _)| *current == connection)
    }

    /// Whether messages of this connection are handled later.
    pub(crate) fn is_deferred(&self, connection: u64) -> bool {
        let is_it = |input: &EngineInput| matches!(input, EngineInput::Connected { connection: deferred, .. } if *deferred == connection);
        self.deferred.iter().any(is_it)
    }

    pub(crate) fn defer(&mut self, input: EngineInput) {
        self.deferring_since.get_or_insert_with(Instant::now);
        self.deferred.push(input);
    }

    /// Whether its death would not show in its connection.
    pub(crate) fn is_silent(&self) -> bool {
        self.disconnected_at.is_some() || self.phase == EnvironmentPhase::Starting && self.connection.is_none()
    }

    /// Whether an exit or a late connection has to be noticed soon.
    pub(crate) fn needs_polling(&self) -> bool {
        self.disconnected_at.is_some()
            || self.exited.is_some()
            || self.deferring_since.is_some()
            || self.workers.has_dead()
    }

    pub(crate) fn order(&mut self, order: &Order) -> io::Result<()> {
        trace!(environment = self.id, ?order, "order");
        if self.workers.are_used() && matches!(order, Order::Run(_) | Order::End { .. }) {
            self.workers.order(order);
        }
        match &mut self.connection {
            Some((_, stream)) => stream.write_all(&to_line(order)),
            None => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    /// Orders something of an environment that is useless if it does not receive the order.
    pub(crate) fn order_or_kill(&mut self, order: &Order) {
        if let Err(error) = self.order(order) {
            debug!(environment = self.id, %error, "the environment takes no orders");
            self.kill();
        }
    }

    /// Orders something that has an answer of its own, which becomes due.
    pub(crate) fn query(&mut self, order: &Order) {
        self.phase = EnvironmentPhase::Busy;
        self.query_since = Some(Instant::now());
        self.order_or_kill(order);
    }

    /// The answer to a query has arrived.
    pub(crate) fn query_answered(&mut self) {
        if self.query_since.take().is_some() && self.phase == EnvironmentPhase::Busy {
            self.phase = EnvironmentPhase::Ready;
        }
    }

    /// The process of the runner that is this environment for attempts, if it still runs.
    pub(crate) fn worker(&self, process: TestProcess) -> Option<&WorkerProcess> {
        self.workers.numbered(self.worker_number(process)?)
    }

    fn worker_number(&self, process: TestProcess) -> Option<u32> {
        self.processes.iter().find(|(_, one)| one.id == process.id).map(|(number, _)| *number)
    }

    /// The name of the file with the stacks of the process that makes an attempt.
    pub(crate) fn stack_file(&self, process: Option<TestProcess>) -> String {
        match process.and_then(|process| self.worker_number(process)) {
            Some(number) => format!("stack-{}-{number}", self.id),
            None => format!("stack-{}", self.id),
        }
    }

    /// Orders it to exit, once.
    pub(crate) fn end(&mut self) {
        if self.phase != EnvironmentPhase::Ending {
            self.phase = EnvironmentPhase::Ending;
            self.order_or_kill(&Order::End { failed: None });
        }
    }

    /// Requests the stacks of all threads, where the agent offers that.
    pub(crate) fn request_stacks(&self) {
        if let (Some(pid), Some(signal)) = (self.pid, self.stack_signal) {
            send_signal(pid, signal);
        }
    }

    /// Kills it with everything it has started.
    pub(crate) fn kill(&mut self) {
        debug!(environment = self.id, pid = self.pid, "killing the environment");
        if let Some(runner) = &mut self.runner {
            runner.supervisor.kill();
        } else if let Some(pid) = self.pid {
            let pid = Pid::from_raw(pid as i32);
            // A child that has not created its process group yet has none.
            if killpg(pid, Signal::SIGKILL).is_err() {
                let _ = kill(pid, Signal::SIGKILL);
            }
        }
    }
}

/// nix knows only named signals; agents choose real-time signals, which have no name.
#[allow(unsafe_code)]
pub(crate) fn send_signal(pid: u32, signal: i32) {
    // SAFETY: kill(2) takes two numbers and touches no memory of this process.
    unsafe { nix::libc::kill(pid as i32, signal) };
}
