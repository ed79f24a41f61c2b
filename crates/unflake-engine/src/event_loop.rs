//! The event loop: one turn handles the inputs that have arrived, checks timeouts and emits the
//! resulting events.

use std::os::unix::net::UnixStream;
use std::path::Path;
use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tracing::{debug, trace};
use unflake_model::{
    Attempt, Death, EnvironmentId, Event, Isolation, Outcome, Placement, Problem, ProblemKind, Timestamp,
};
use unflake_protocol::{AgentMessage, AttemptResult, Hello, Order, StopCause, VERSION, to_line};

use crate::dependencies;
use crate::engine::{Engine, EventSink};
use crate::environment::listing::Listing;
use crate::environment::{Environment, EnvironmentPhase, Role};
use crate::fork_tree::path::StateKey;
use crate::input::{BATCH_DELAY, EngineInput};
use crate::process_exit::{read_stacks, timeout_failure};
use crate::runner_process::supervisor::RunnerEnd;
use crate::session::active::{ActiveSession, RunningAttempt, TestProcess};

/// The sink is called this often, so that the display stays current.
const TICK: Duration = Duration::from_millis(100);
/// How often to check whether a process that went silent has died.
const POLL: Duration = Duration::from_millis(2);
/// More inputs than this wait for the next turn, so that the display does not freeze.
const MAX_INPUTS: usize = 500;
/// How long an agent may take to read an order.
const WRITE_TIMEOUT: Duration = Duration::from_secs(20);

impl Engine {
    pub(crate) fn turn(&mut self, sink: EventSink<'_>) {
        let patience = if self.environments.iter().any(Environment::needs_polling) { POLL } else { TICK };
        if let Ok(input) = self.inputs.recv_timeout(patience) {
            self.handle(input);
            for _ in 1..MAX_INPUTS {
                match self.inputs.try_recv() {
                    Ok(input) => self.handle(input),
                    Err(_) => break,
                }
            }
        }
        self.check_timeouts(Instant::now());
        self.emit(sink);
    }

    fn handle(&mut self, input: EngineInput) {
        match input {
            EngineInput::Connected { hello, connection, stream } => self.on_connected(hello, connection, stream),
            EngineInput::Message { environment: id, connection, .. }
            | EngineInput::BadLine { environment: id, connection, .. }
            | EngineInput::Disconnected { environment: id, connection } => {
                let Some(environment) = self.environments.get_mut(id) else { return };
                if environment.is_current(connection) {
                    self.handle_current(input);
                } else if environment.workers.has(connection) {
                    self.handle_worker(id, connection, input);
                } else if environment.is_deferred(connection) {
                    environment.defer(input);
                }
            }
            EngineInput::ProcessExited { environment, end } => self.on_process_exited(environment, end),
            EngineInput::World { number, report } => self.on_world_report(number, report),
            EngineInput::Remote(report) => self.on_remote_report(report),
            EngineInput::Interrupt => self.on_interrupt(),
        }
    }

    /// An input from the connection of an environment that is current.
    pub(crate) fn handle_current(&mut self, input: EngineInput) {
        match input {
            EngineInput::Message { environment, message, .. } => self.on_message(environment, message),
            EngineInput::BadLine { environment, error, .. } => {
                let text = format!("a message of the agent in environment {environment} cannot be read: {error}");
                self.report_problem(Problem { kind: ProblemKind::Protocol, place: None, text });
            }
            EngineInput::Disconnected { environment: id, .. } => {
                if let Some(environment) = self.environments.get_mut(id) {
                    environment.connection = None;
                    environment.disconnected_at = Some(Instant::now());
                }
                self.handle_deferred(id);
            }
            EngineInput::Connected { .. }
            | EngineInput::ProcessExited { .. }
            | EngineInput::Interrupt
            | EngineInput::Remote(_)
            | EngineInput::World { .. } => {}
        }
    }

    /// Connections are read in parallel, so that messages of a later one may arrive first. They are
    /// handled after the last message of the earlier one.
    pub(crate) fn handle_deferred(&mut self, id: u32) {
        let Some(environment) = self.environments.get_mut(id) else { return };
        environment.deferring_since = None;
        for input in std::mem::take(&mut environment.deferred) {
            self.handle(input);
        }
    }

    fn on_interrupt(&mut self) {
        if !self.stop.is_interrupted() {
            // Tests that ended before Ctrl-C count: their messages may still be in transit.
            thread::sleep(2 * BATCH_DELAY);
            while let Ok(input) = self.inputs.try_recv() {
                self.handle(input);
            }
        }
        self.stop.interrupt();
        self.worlds.interrupt();
        for environment in self.environments.iter_mut() {
            match &mut environment.runner {
                Some(runner) if environment.role == Role::Suite && !self.stop.is_forced() => {
                    runner.supervisor.interrupt();
                }
                _ => environment.kill(),
            }
        }
    }

    fn on_process_exited(&mut self, id: u32, end: RunnerEnd) {
        let Some(environment) = self.environments.get_mut(id) else { return };
        let now = Instant::now();
        match end {
            RunnerEnd::Exited(death) => environment.exited = Some((death, now)),
            RunnerEnd::NotStarted(why) => {
                environment.disconnected_at = Some(now);
                environment.exited = Some((Death::Unknown, now));
                if environment.role == Role::Suite {
                    let program = self.starter.launch().command.first().cloned().unwrap_or_default();
                    self.report_start_failure(&format!("`{program}` could not be started: {why}"), "");
                }
            }
            RunnerEnd::Unsupervised => self.on_supervisor_killed(id),
        }
    }

    fn on_connected(&mut self, hello: Hello, connection: u64, mut stream: UnixStream) {
        trace!(environment = hello.environment, ?hello, "connected");
        let Some(environment) = self.environments.get_mut(hello.environment) else { return };
        if hello.protocol != VERSION {
            let theirs = hello.protocol;
            let text = format!("the agent has version {theirs} of the protocol, this unflake version {VERSION}");
            environment.kill();
            return self.report_problem(Problem { kind: ProblemKind::Protocol, place: None, text });
        }
        if let Some(number) = hello.process {
            return self.on_worker_connected(&hello, number, connection, stream);
        }
        if environment.pid.is_some_and(|pid| pid != hello.pid) && environment.parent.is_none() {
            let _ = std::io::Write::write_all(&mut stream, &to_line(&Order::End { failed: None }));
            let text = "the command starts a runner more than once; unflake supports one at a time".to_owned();
            return self.report_problem(Problem { kind: ProblemKind::Usage, place: None, text });
        }
        if environment.connection.is_some() || hello.connection > environment.connections {
            return environment.defer(EngineInput::Connected { hello, connection, stream });
        }
        let _ = stream.set_write_timeout(Some(WRITE_TIMEOUT));
        environment.connections = hello.connection.saturating_add(1);
        environment.connection = Some((connection, stream));
        environment.disconnected_at = None;
        environment.pid = Some(hello.pid);
        environment.stack_signal = hello.stack_signal;
        if environment.phase == EnvironmentPhase::Starting {
            if environment.parent.is_some() {
                environment.phase = EnvironmentPhase::Ready;
            } else {
                environment.listing = Rc::new(Listing::empty(hello.root.clone()));
            }
        }
        if !std::mem::replace(&mut environment.is_announced, true) {
            debug!(environment = environment.id, pid = hello.pid, hello.runner, hello.language, "environment started");
            self.events.push(Event::EnvironmentStarted(environment.facts(hello)));
        }
    }

    pub(crate) fn on_message(&mut self, id: u32, message: AgentMessage) {
        trace!(environment = id, ?message, "message");
        match message {
            AgentMessage::Hello(_) | AgentMessage::Filtering => {}
            AgentMessage::Note { text } => {
                if self.environments.get(id).is_some_and(|environment| environment.role == Role::Suite) {
                    self.events.push(Event::Note(text));
                }
            }
            AgentMessage::Problem { kind, place, text } => self.on_problem(id, Problem { kind, place, text }),
            AgentMessage::Listed { tests } => {
                if let Some(environment) = self.environments.get_mut(id) {
                    environment.listed.extend(tests);
                }
            }
            AgentMessage::Ready { tests: announced, deselected, unforkable, one_process, isolated, reorders } => {
                if let Some(environment) = self.environments.get_mut(id) {
                    let tests = std::mem::take(&mut environment.listed);
                    if tests.len() != announced as usize {
                        let text = format!("the agent announced {announced} tests and listed {}", tests.len());
                        self.events.push(self.suite.problem(Problem {
                            kind: ProblemKind::Protocol,
                            place: None,
                            text,
                        }));
                    }
                    debug!(environment = id, tests = tests.len(), isolated, unforkable, "tests listed");
                    let mut listing = environment.listing.with_tests(tests, deselected, unforkable, isolated, reorders);
                    listing.one_process = one_process;
                    environment.listing = Rc::new(listing);
                    environment.listing_time = environment.requested_at.elapsed();
                    environment.phase = EnvironmentPhase::Ready;
                }
                self.send_allowed_assertions(id);
            }
            AgentMessage::Start { n, run, process, in_process } => self.on_start(id, n, run, process, in_process),
            AgentMessage::Done(result) => self.on_done(id, *result),
            AgentMessage::Stopped { cause, why } => {
                // A limit that the user set for the suite does not apply to compared sessions:
                // these run to their end.
                let applies =
                    |work: &ActiveSession| cause == StopCause::Exit || !work.is_on_route() && !work.is_compared();
                if let Some(at) = self.sessions.in_environment(id)
                    && applies(&self.sessions[at].work)
                {
                    self.sessions[at].work.runner_stopped(why);
                }
            }
            AgentMessage::Idle => match self.environments.get_mut(id) {
                Some(environment) if environment.workers.are_used() => {
                    environment.workers.is_runner_idle = true;
                    self.check_workers(id, Instant::now());
                }
                _ => self.on_idle(id),
            },
            AgentMessage::Exited { process, death } => self.on_worker_died(id, process, death),
            AgentMessage::Forked { environment, pid } => {
                if let Some(child) = self.environments.get_mut(environment) {
                    child.pid = Some(pid);
                }
            }
            AgentMessage::Unforkable { environment, why } => self.on_unforkable(id, environment, why),
            AgentMessage::Reaped { environment, death } => self.on_exit(environment, death),
            AgentMessage::Remembered { .. } => self.snapshot_taken(id),
            AgentMessage::Changed { path } => self.state_compared(id, Path::new(&path)),
            AgentMessage::Restored { failed } => self.cells_restored(id, failed),
            AgentMessage::Written { cell, site } => self.cell_written(id, cell, site),
            AgentMessage::Sites { path } => self.assertions.listed(path),
            AgentMessage::Bye => {
                if let Some(environment) = self.environments.get_mut(id) {
                    environment.phase = EnvironmentPhase::Ending;
                }
            }
        }
    }

    /// Only problems of the user's own command count, and lost results; a helper process that cannot
    /// collect is replaced.
    fn on_problem(&mut self, id: u32, problem: Problem) {
        let is_lost = problem.kind == ProblemKind::Protocol;
        if is_lost || self.environments.get(id).is_some_and(|environment| environment.role == Role::Suite) {
            self.report_problem(problem);
        } else {
            self.query_failed(id, &problem.text);
        }
    }

    fn on_unforkable(&mut self, parent: u32, child: u32, why: String) {
        self.environments.remove(child);
        let at = self.sessions.in_environment(child);
        if self.environments.get(parent).is_some_and(|parent| parent.state != StateKey::FRESH) {
            return self.fork_refused(parent, at, &why);
        }
        if let Some(at) = at {
            self.sessions[at].environment = None;
        }
        let note = format!("fresh environments are new processes: {why}");
        self.refuse_forks(why, note);
    }

    fn on_start(&mut self, id: u32, n: u32, run: u32, process: Option<u32>, in_process: bool) {
        let Some(at) = self.sessions.in_environment(id) else { return };
        let Some(environment) = self.environments.get(id) else { return };
        let Some(test) = environment.listing.test(n).cloned() else { return };
        let process = process.map(|number| self.test_process(id, number, in_process));
        let work = &mut self.sessions[at].work;
        let run = work.attempt_started(test.clone(), run, Instant::now(), now(), process);
        let (session, purpose) = (work.session.id, work.session.purpose);
        let environment = EnvironmentId(process.map_or(id, |process| process.id));
        self.events.push(Event::AttemptStarted { session, purpose, environment, test, run });
    }

    /// The process that an agent calls `number`; it has an environment id of its own. Counts one
    /// more attempt in it.
    fn test_process(&mut self, id: u32, number: u32, in_process: bool) -> TestProcess {
        let started = self.environments.get(id).and_then(|environment| environment.processes.get(&number).copied());
        let process =
            started.unwrap_or_else(|| TestProcess { id: self.environments.new_id(), position: 0, in_process });
        if let Some(environment) = self.environments.get_mut(id) {
            environment.processes.insert(number, TestProcess { position: process.position + 1, ..process });
        }
        process
    }

    /// A result is never taken for that of another test.
    fn on_done(&mut self, id: u32, result: AttemptResult) {
        let Some(at) = self.sessions.in_environment(id) else { return };
        let Some(test) = self.environments.get(id).and_then(|one| one.listing.test(result.n)) else { return };
        let Some(attempt) = self.sessions[at].work.attempt_ended(test) else { return };
        let result = if attempt.overdue.is_some() { self.timed_out(id, attempt.process, result) } else { result };
        // A process that the test started may have failed through the agent, and the test through it.
        if result.outcome.is_failure()
            && let Some(error) = self.agent_error_in(id)
        {
            self.sessions[at].work.discard(attempt);
            return self.agent_failed(id, &error);
        }
        // An interrupt or the end of the budget may have made the test fail.
        if self.stop.reason().is_some() {
            return self.sessions[at].work.discard(attempt);
        }
        self.attempt_ended(at, id, attempt, result);
    }

    /// Past its limit an attempt cannot pass: the request for its stacks may have woken it.
    fn timed_out(&self, id: u32, process: Option<TestProcess>, result: AttemptResult) -> AttemptResult {
        let launch = self.starter.launch();
        let stacks = self.environments.get(id).map(|one| one.stack_file(process)).unwrap_or_default();
        let stacks = read_stacks(self.starter.run_dir(), &stacks, launch.output_limit);
        let failure = Some(timeout_failure(launch.timeout.unwrap_or_default(), stacks));
        AttemptResult { outcome: Outcome::TimedOut, failure, ..result }
    }

    pub(crate) fn attempt_ended(&mut self, at: usize, id: u32, attempt: RunningAttempt, result: AttemptResult) {
        let Some(environment) = self.environments.get_mut(id) else { return };
        let (id, origin, position) = match attempt.process {
            Some(process) if process.in_process => (process.id, Isolation::InProcess, process.position),
            Some(process) => (process.id, Isolation::Process, process.position),
            None => (id, environment.origin(), environment.attempts),
        };
        environment.attempts += 1;
        let environment_id = EnvironmentId(id);
        let is_live = self.sessions[at].work.session.place == Placement::Live && attempt.process.is_none();
        let (world, entered) = self.world_of(at, is_live, origin);
        self.events.extend(entered);
        let session = &self.sessions[at].work.session;
        if let Some(directory) = result.trace {
            let (test, directory) = (attempt.test.clone(), directory.into());
            self.events.push(Event::TraceRecorded { test, environment: environment_id, directory });
        }
        if let Some(file) = result.layers.filter(|_| !self.starter.launch().layers.is_empty()) {
            let (test, file) = (attempt.test.clone(), file.into());
            self.events.push(Event::LayersRecorded { test, environment: environment_id, file });
        }
        if let Some(path) = result.dependencies.filter(|_| session.depends.is_some()) {
            let on = Box::new(dependencies::read(Path::new(&path)));
            self.events.push(Event::DependenciesRecorded { session: session.id, test: attempt.test.clone(), on });
        }
        if !result.delays.is_empty() {
            self.events.push(Event::ThreadsDelayed { session: session.id, points: result.delays });
        }
        self.events.push(Event::AttemptEnded(Attempt {
            test: attempt.test,
            session: session.id,
            purpose: session.purpose,
            environment: environment_id,
            origin,
            world: Some(world),
            position,
            run: attempt.run,
            outcome: result.outcome,
            started: attempt.started,
            seconds: result.seconds,
            load: self.load.per_core(),
            failure: result.failure,
            stdout: result.stdout,
            stderr: result.stderr,
        }));
    }

    pub(crate) fn on_idle(&mut self, id: u32) {
        if let Some(environment) = self.environments.get_mut(id) {
            environment.phase = EnvironmentPhase::Ready;
        }
        let Some(at) = self.sessions.in_environment(id) else { return };
        let is_stopped = self.stop.reason().is_some();
        let work = &mut self.sessions[at].work;
        work.lose_running();
        if work.is_compared() && !work.is_on_route() {
            work.order_rest_again();
        }
        if work.is_stopped() || work.is_done() || is_stopped {
            self.finish(at);
        } else if work.is_on_route() {
            self.steps_done(at, id);
        }
    }
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(since.as_micros() as i64)
}
