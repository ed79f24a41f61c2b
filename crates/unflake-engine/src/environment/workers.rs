//! The processes of a runner that runs its tests in several at once.
//!
//! All of them are one environment. Each has an agent with a connection of its own, which reports
//! the tests that the runner gives to that process.

use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use unflake_model::Death;
use unflake_protocol::{Hello, ListedTest, Order, to_line};

use crate::environment::send_signal;

#[derive(Default)]
pub(crate) struct Workers {
    by_connection: BTreeMap<u64, WorkerProcess>,
    /// The connection that was asked for the tests.
    lister: Option<u64>,
    /// What all of them were ordered last, for those that connect later.
    order: Option<Vec<u8>>,
    /// The runner says that all tests have run.
    pub(crate) is_runner_idle: bool,
    /// Since when nothing has been heard of any, once one of them has died.
    silent_since: Option<Instant>,
    /// Processes that have died. Their last messages may still be in transit.
    dead: Vec<DeadWorker>,
}

pub(crate) struct WorkerProcess {
    number: u32,
    pid: u32,
    stack_signal: Option<i32>,
    stream: UnixStream,
    /// The tests listed so far.
    pub(crate) listed: Vec<ListedTest>,
    /// It has reported its last test.
    pub(crate) is_idle: bool,
}

#[derive(Clone, Copy)]
pub(crate) struct DeadWorker {
    pub(crate) number: u32,
    pub(crate) death: Death,
    since: Instant,
}

impl Workers {
    pub(crate) fn add(&mut self, connection: u64, number: u32, hello: &Hello, mut stream: UnixStream) {
        if let Some(order) = &self.order {
            let _ = stream.write_all(order);
        }
        let worker = WorkerProcess {
            number,
            pid: hello.pid,
            stack_signal: hello.stack_signal,
            stream,
            listed: Vec::new(),
            is_idle: false,
        };
        self.by_connection.insert(connection, worker);
    }

    pub(crate) fn get_mut(&mut self, connection: u64) -> Option<&mut WorkerProcess> {
        self.by_connection.get_mut(&connection)
    }

    pub(crate) fn has(&self, connection: u64) -> bool {
        self.by_connection.contains_key(&connection)
    }

    /// The open connection of a process.
    pub(crate) fn numbered(&self, number: u32) -> Option<&WorkerProcess> {
        self.by_connection.values().find(|worker| worker.number == number)
    }

    /// A connection has closed.
    pub(crate) fn remove(&mut self, connection: u64) {
        self.by_connection.remove(&connection);
        self.lister = self.lister.filter(|lister| *lister != connection);
    }

    /// Asks one of them for the tests, if none has been asked.
    pub(crate) fn ask_for_tests(&mut self) {
        if self.lister.is_none()
            && let Some((connection, worker)) = self.by_connection.iter_mut().next()
        {
            self.lister = Some(*connection);
            let _ = worker.stream.write_all(&to_line(&Order::List));
        }
    }

    /// Orders the same of all, including those that connect later.
    pub(crate) fn order(&mut self, order: &Order) {
        let line = to_line(order);
        for worker in self.by_connection.values_mut() {
            // One that has died is noticed by its connection.
            let _ = worker.stream.write_all(&line);
        }
        self.order = Some(line);
    }

    /// Whether the runner has, or had, such processes.
    pub(crate) fn are_used(&self) -> bool {
        self.order.is_some() || !self.by_connection.is_empty()
    }

    /// Whether no result can arrive any more.
    pub(crate) fn are_done(&self) -> bool {
        self.is_runner_idle && self.dead.is_empty() && self.by_connection.values().all(|worker| worker.is_idle)
    }

    pub(crate) fn died(&mut self, number: u32, death: Death) {
        let now = Instant::now();
        self.dead.push(DeadWorker { number, death, since: now });
        self.silent_since = Some(now);
    }

    /// Something was heard of one of them.
    pub(crate) fn heard(&mut self) {
        self.silent_since = self.silent_since.map(|_| Instant::now());
    }

    pub(crate) fn stop_waiting(&mut self) {
        self.silent_since = None;
    }

    /// Whether one has died, and the runner has given no test to the others for so long.
    pub(crate) fn are_silent(&self, now: Instant, patience: Duration) -> bool {
        !self.is_runner_idle && self.silent_since.is_some_and(|since| now - since > patience)
    }

    pub(crate) fn has_dead(&self) -> bool {
        !self.dead.is_empty()
    }

    /// Takes out a process that has died, once its connection is closed or `patience` is over.
    pub(crate) fn take_dead(&mut self, now: Instant, patience: Duration) -> Option<DeadWorker> {
        let is_over = |dead: &DeadWorker| self.numbered(dead.number).is_none() || now - dead.since > patience;
        let at = self.dead.iter().position(is_over)?;
        let dead = self.dead.remove(at);
        self.by_connection.retain(|_, worker| worker.number != dead.number);
        Some(dead)
    }
}

impl WorkerProcess {
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// Requests the stacks of all threads, where the agent offers that.
    pub(crate) fn request_stacks(&self) {
        if let Some(signal) = self.stack_signal {
            send_signal(self.pid, signal);
        }
    }

    /// Kills it. The runner notices, and starts another.
    pub(crate) fn kill(&self) {
        send_signal(self.pid, nix::libc::SIGKILL);
    }
}
