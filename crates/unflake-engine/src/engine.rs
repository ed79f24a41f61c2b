//! The engine as the rest of unflake sees it: `list`, `run`, `close`.

use std::path::Path;
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};

use tracing::{debug, info};
use unflake_model::{Death, Event, Granularity, Problem, ProblemKind, Session};
use unflake_protocol::Order;
use unflake_worlds::SpawnSpec;

use crate::assertions::AllowedFailures;
use crate::environment::listing::Listing;
use crate::environment::set::Environments;
use crate::environment::{Environment, EnvironmentPhase, Role};
use crate::fork_server::ForkServer;
use crate::fork_tree::path;
use crate::fork_tree::tree::ForkTree;
use crate::input::{self, EngineInput};
use crate::launch::{Launch, StartError};
use crate::load::MachineLoad;
use crate::project_files::isolation::FileIsolation;
use crate::remote::AwaySessions;
use crate::runner_process::run_dir::{RunDir, SOCKET};
use crate::runner_process::starter::RunnerStarter;
use crate::runner_process::supervisor::Supervisor;
use crate::session::queue::Sessions;
use crate::stop::StopControl;
use crate::suite::Suite;
use crate::supervision::Supervision;
use crate::worlds::Worlds;

/// How long forks may take to exit before a session that is to run alone.
const FORK_EXIT: Duration = Duration::from_secs(1);
/// How long helper processes may take to exit at the end.
const HELPER_EXIT: Duration = Duration::from_secs(5);

/// Interrupts a running engine. Usable from any thread.
#[derive(Clone)]
pub struct Interrupter(Sender<EngineInput>);

impl Interrupter {
    /// The first time the runner stops as after Ctrl-C, the second time it is killed.
    pub fn interrupt(&self) {
        let _ = self.0.send(EngineInput::Interrupt);
    }
}

/// How the user's runner exited.
#[derive(Debug, PartialEq, Eq)]
pub struct RunnerExit {
    /// None when its process died before it was ordered to exit, or had to be killed.
    pub end: Option<Death>,
    /// What it printed, shortened in the middle.
    pub output: String,
}

/// Runs sessions. Everything that it starts ends with it.
///
/// Each field is a part that owns one concern. The modules of this crate implement what concerns
/// several parts: placement, timeouts, exits, routes to shared states.
pub struct Engine {
    // Declared first: the run directory is removed before the last supervisor exits.
    pub(crate) starter: RunnerStarter,
    pub(crate) inputs: Receiver<EngineInput>,
    pub(crate) environments: Environments,
    pub(crate) fork_server: ForkServer,
    pub(crate) fork_tree: ForkTree,
    pub(crate) suite: Suite,
    pub(crate) sessions: Sessions,
    pub(crate) files: FileIsolation,
    pub(crate) assertions: AllowedFailures,
    pub(crate) worlds: Worlds,
    /// Sessions on other machines.
    pub(crate) away: AwaySessions,
    pub(crate) stop: StopControl,
    pub(crate) supervision: Supervision,
    pub(crate) load: MachineLoad,
    /// Events of this turn that have not been emitted.
    pub(crate) events: Vec<Event>,
    /// The supervisor of a runner that has exited. It removes the run directory if this process is
    /// killed, and so has to be dropped last.
    pub(crate) last_supervisor: Option<Supervisor>,
}

/// Receives the events since the last call, possibly none, at least ten times a second.
pub(crate) type EventSink<'a> = &'a mut dyn FnMut(&[Event]);

impl Engine {
    pub fn new(launch: Launch) -> Result<Self, StartError> {
        let run_dir = RunDir::new().map_err(StartError::in_operation("make a temporary directory"))?;
        let (sender, inputs) =
            input::listen(&run_dir.path().join(SOCKET)).map_err(StartError::in_operation("open a socket"))?;
        let stop = StopControl::new(launch.began, launch.time);
        let starter = RunnerStarter::new(launch, run_dir, sender)?;
        Ok(Self {
            starter,
            inputs,
            environments: Environments::default(),
            fork_server: ForkServer::default(),
            fork_tree: ForkTree::default(),
            suite: Suite::default(),
            sessions: Sessions::default(),
            files: FileIsolation::default(),
            assertions: AllowedFailures::default(),
            worlds: Worlds::default(),
            away: AwaySessions::default(),
            stop,
            supervision: Supervision::default(),
            load: MachineLoad::default(),
            events: Vec::new(),
            last_supervisor: None,
        })
    }

    pub fn interrupter(&self) -> Interrupter {
        Interrupter(self.starter.inputs())
    }

    /// How the user's runner is started.
    pub fn launch(&self) -> &Launch {
        self.starter.launch()
    }

    /// The directory that names of tests are relative to, once they have been listed.
    pub fn root(&self) -> Option<&Path> {
        self.suite.root()
    }

    /// Why the runner cannot be forked.
    pub fn unforkable(&self) -> Option<&str> {
        self.suite.listing().unforkable.as_deref()
    }

    /// Whether the plain runner does not keep the order in which a command names tests.
    pub fn reorders(&self) -> bool {
        self.suite.listing().reorders
    }

    /// Whether tests run in processes of their own.
    pub fn is_isolated(&self) -> bool {
        self.suite.listing().isolated
    }

    pub fn was_interrupted(&self) -> bool {
        self.stop.is_interrupted()
    }

    /// Whether sessions were cut short because the time budget was exhausted.
    pub fn is_budget_exhausted(&self) -> bool {
        self.stop.is_exhausted()
    }

    /// Whether nothing more runs: it was interrupted, its time budget is exhausted, or it failed.
    pub fn is_stopped(&self) -> bool {
        self.stop.reason().is_some()
    }

    /// Starts the user's command and waits for its tests. False when it cannot run any; the emitted
    /// events say why.
    pub fn list(&mut self, sink: EventSink<'_>) -> bool {
        self.list_only(None, sink)
    }

    /// The same for the tests in some files.
    pub(crate) fn list_only(&mut self, only: Option<Vec<String>>, sink: EventSink<'_>) -> bool {
        let world = if self.launch().suite { None } else { self.fork_server_world() };
        let id = match self.start_runner(Role::Suite, only, self.launch().depends, false, world) {
            Ok(id) => id,
            Err(error) => {
                self.report_start_failure(&error.to_string(), "");
                self.emit(sink);
                return false;
            }
        };
        self.suite.set_live(Some(id));
        let listing = loop {
            match self.suite.live().and_then(|id| self.environments.get(id)) {
                Some(environment) if environment.phase == EnvironmentPhase::Starting => {}
                // Its last messages may arrive after it was killed at the end of the budget.
                Some(environment) if environment.phase == EnvironmentPhase::Ready && !self.stop.is_exhausted() => {
                    if let Some(builds) = &self.launch().builds {
                        builds.set_made();
                    }
                    break environment.listing.clone();
                }
                _ => {
                    self.emit(sink);
                    return false;
                }
            }
            self.turn(sink);
        };
        if !self.launch().suite && !listing.isolated {
            self.fork_server.adopt(self.suite.live());
            self.suite.set_live(None);
        }
        if self.launch().suite && self.launch().spread {
            self.spread_first_pass(&listing);
        }
        self.events.push(self.suite.listed(listing, self.stop.elapsed().as_secs_f64()));
        self.emit(sink);
        true
    }

    /// The user asked for several processes. Where the runner has some itself, or its tests have
    /// processes of their own, it keeps to that number already.
    fn spread_first_pass(&mut self, listing: &Listing) {
        let live = self.suite.live().and_then(|id| self.environments.get(id));
        if listing.isolated || live.is_none_or(|live| live.workers.are_used()) {
            return;
        }
        if let Some(why) = listing.one_process.as_ref().or(listing.unforkable.as_ref()) {
            let jobs = self.launch().jobs;
            self.events.push(Event::Note(format!("the first pass ran in one process, not in {jobs}: {why}")));
            return;
        }
        let processes = self.launch().jobs;
        debug!(processes, "the first pass runs in forks of the user's process");
        self.suite.run_in_forks();
        self.events.push(Event::FirstPassSpread { processes });
    }

    /// Runs these sessions, fresh ones in parallel, and returns when all have ended.
    pub fn run(&mut self, sessions: Vec<Session>, sink: EventSink<'_>) {
        if sessions.len() == 1 {
            self.wait_for_forks(sink);
        }
        let (began, count) = (Instant::now(), sessions.len());
        if sessions.iter().any(|session| session.private) {
            self.note_shared_parts();
        }
        let sessions = self.send_away(sessions);
        let (elsewhere, sessions): (Vec<_>, Vec<_>) =
            sessions.into_iter().partition(|session| self.process_world(session).is_some());
        for session in elsewhere {
            let is_alone = self.must_run_alone(&session);
            let world = self.process_world(&session).unwrap_or_default();
            self.worlds.add(session, world, is_alone);
        }
        let stateful = !self.is_isolated();
        let sessions = if stateful { path::depth_first(sessions) } else { sessions };
        self.sessions.enqueue(sessions, stateful);
        self.fork_tree.clear_unreachable();
        loop {
            self.dispatch();
            if self.sessions.is_empty() && self.worlds.is_idle() && self.away.is_empty() {
                self.emit(sink);
                info!(sessions = count, seconds = began.elapsed().as_secs_f64(), "sessions done");
                return;
            }
            self.turn(sink);
        }
    }

    /// A single session is to run alone, and forks that are about to exit may still hold resources
    /// that it needs.
    fn wait_for_forks(&mut self, sink: EventSink<'_>) {
        let since = Instant::now();
        let is_leaving = |one: &Environment| one.parent.is_some() && one.phase == EnvironmentPhase::Ending;
        while since.elapsed() < FORK_EXIT && self.environments.iter().any(is_leaving) {
            self.turn(sink);
        }
    }

    /// Ends every environment. `failed` is the number of tests that count as failed: the runner
    /// makes its exit code from it, so that an exit code for any other reason is visible.
    pub fn close(mut self, failed: u32, sink: EventSink<'_>) -> RunnerExit {
        debug!(failed, "closing");
        self.away.disconnect();
        self.worlds.close();
        let reports = self.launch().suite;
        for environment in self.environments.iter_mut() {
            let failed = (environment.role == Role::Suite).then_some(failed);
            let is_awaited = environment.role == Role::Suite && reports && !self.stop.is_forced();
            environment.phase = EnvironmentPhase::Ending;
            match self.stop.reason().is_some() && !is_awaited {
                true => environment.kill(),
                false => environment.order_or_kill(&Order::End { failed }),
            }
        }
        let ordered = Instant::now();
        while self.environments.iter().any(|environment| environment.runner.is_some()) {
            self.turn(sink);
            self.kill_slow(ordered);
        }
        self.events.extend(self.files.notes());
        self.emit(sink);
        let exit = RunnerExit { end: self.suite.exit, output: self.suite.output.text() };
        info!(exit = ?exit.end, "runner exited");
        exit
    }

    /// Kills environments that were ordered to exit and do not. A helper has nothing more to do;
    /// the user's runner may write reports, and has as much time for that as for one attempt.
    fn kill_slow(&mut self, ordered: Instant) {
        let (timeout, reports) = (self.launch().timeout, self.launch().suite);
        let limit = |role| if role == Role::Suite && reports { timeout } else { Some(HELPER_EXIT) };
        let is_slow = |environment: &&mut Environment| {
            environment.phase == EnvironmentPhase::Ending
                && limit(environment.role).is_some_and(|limit| ordered.elapsed() > limit)
        };
        for environment in self.environments.iter_mut().filter(is_slow) {
            // Killed once; a later turn handles its exit.
            environment.phase = EnvironmentPhase::Ready;
            environment.kill();
            if environment.role == Role::Suite && reports {
                let text = "the runner did not exit in time after its last test and was killed".to_owned();
                self.events.push(Event::Problem(Problem { kind: ProblemKind::Internal, place: None, text }));
            }
        }
    }

    /// Starts the user's command with an agent inside, as a new environment.
    pub(crate) fn start_runner(
        &mut self,
        role: Role,
        only: Option<Vec<String>>,
        depends: Option<Granularity>,
        private: bool,
        world: Option<SpawnSpec>,
    ) -> std::io::Result<u32> {
        let id = self.environments.new_id();
        let runner = self.starter.start(id, role, only, depends, private, world)?;
        if role == Role::Suite {
            self.suite.output = runner.output.clone();
        }
        self.environments.add(id, role, runner);
        Ok(id)
    }

    /// The runner could not be brought to list its tests.
    pub(crate) fn report_start_failure(&mut self, why: &str, output: &str) {
        let output = output.trim_end();
        let text = if output.is_empty() { why.to_owned() } else { format!("{why}\n{output}") };
        self.report_problem(Problem { kind: ProblemKind::Start, place: None, text });
    }

    pub(crate) fn report_problem(&mut self, problem: Problem) {
        debug!(kind = ?problem.kind, problem.text, "problem");
        self.events.push(self.suite.problem(problem));
    }

    /// Passes pending events to the sink, except those that file isolation delays.
    pub(crate) fn emit(&mut self, sink: EventSink<'_>) {
        self.files.hold_back(&mut self.events);
        sink(&self.events);
        self.events.clear();
    }
}
