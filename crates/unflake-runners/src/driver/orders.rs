//! The driver as an agent: it lists the tests, obeys unflake's orders, and reports.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use nix::fcntl::{Flock, FlockArg};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork, setpgid};
use tracing::debug;
use unflake_protocol::{AgentMessage, Death, Hello, ListedTest, Order, ProblemKind, RunOrder, Test, TestId, VERSION};
use unflake_worlds::SpawnSpec;

use crate::driver::agent_error;
use crate::driver::connection::Connection;
use crate::driver::driver_env::DriverEnv;
use crate::driver::line_layers::LineLayers;
use crate::driver::list_context::ListContext;
use crate::driver::order_runner::OrderRunner;
use crate::driver::suite::{ListError, ListedSuite, TestCase};
use crate::driver::trace_recorder::TraceRecorder;
use crate::options::RunnerOptions;
use crate::process::child::ChildLimits;
use crate::runner::{Driver, Runner};

/// A `listed` event has at most this many tests.
const LISTED_AT_ONCE: usize = 200;
/// The exit code for failed tests that most runners have.
const FAILED: u8 = 1;

/// A driver that has listed its tests.
struct ListedDriver {
    /// The names of the runner and its language.
    names: (&'static str, &'static str),
    env: DriverEnv,
    connection: Connection,
    environment: u32,
    suite: ListedSuite,
    recorder: Option<TraceRecorder>,
    layers: Option<LineLayers>,
    processes: AtomicU32,
    copies: HashMap<u32, Pid>,
}

/// Lists, obeys orders, and exits with the code of the runner that it replaces.
pub(crate) fn run(
    runner: &dyn Runner,
    driver: &Driver,
    command: &[String],
    options: &RunnerOptions,
    env: DriverEnv,
) -> ExitCode {
    let Ok(connection) = Connection::open(&env.socket) else { return ExitCode::from(3) };
    let Ok(here) = std::env::current_dir() else { return ExitCode::from(3) };
    let environment = env.environment;
    let names = (runner.profile().name, runner.profile().language);
    // Listing may take as long as a build: unflake must know before it that an agent is there.
    connection.send(&hello(environment, None, names, &here));
    let fail = |error: ListError| {
        let ListError { kind, place, text } = error;
        connection.send_all(&[AgentMessage::Problem { kind, place, text }, AgentMessage::Bye]);
        ExitCode::from(FAILED)
    };
    let can = runner.profile().capabilities;
    let of_layers = env.layers.as_deref().filter(|_| can.trace && !can.layers);
    let mut layers = of_layers.and_then(|layers| LineLayers::new(layers, &here, env.output_limit));
    let needs_lines = layers.as_ref().is_some_and(LineLayers::wants_lines);
    let mut recorder = match recorder(&env, needs_lines) {
        Ok(recorder) => recorder,
        Err(text) => return fail(ListError { kind: ProblemKind::Internal, place: None, text }),
    };
    let cache = env.cache.as_deref().unwrap_or(&env.run_dir);
    let mut context = ListContext {
        command,
        options,
        here,
        env_changes: &env.restore,
        run_dir: &env.run_dir,
        cache,
        shared: env.shared.as_deref(),
        in_other_world: env.spawn.is_some() || env.reuses,
        is_seeded: env.seeded || env.spawn.as_ref().is_some_and(SpawnSpec::has_seeds),
        tracing: recorder.as_ref(),
        layers: env.layers.as_deref(),
        filter: env.filter,
    };
    // Drivers of several worlds may start at once, and two builds of one project disturb each other.
    let lock = env.spawn.as_ref().and_then(|_| lock_builds(cache).ok());
    let mut listed = (driver.list)(&context);
    let mut can_trace = true;
    if let (Err(why), Some(layers)) = (&listed, layers.as_mut().filter(|_| needs_lines && !env.traced)) {
        // The other layers do not need a traced build.
        layers.gap = Some(why.text.clone());
        context.tracing = None;
        can_trace = false;
        listed = (driver.list)(&context);
    }
    drop(lock);
    let suite = match listed {
        Ok(suite) => suite,
        Err(error) => return fail(error),
    };
    debug!(runner = names.0, tests = suite.tests.len(), "listed");
    let (processes, copies) = (AtomicU32::new(0), HashMap::new());
    recorder = recorder.filter(|_| can_trace);
    let mut driver = ListedDriver { names, env, connection, environment, suite, recorder, layers, processes, copies };
    driver.report_tests();
    driver.take_orders()
}

/// Waits until no other driver builds.
fn lock_builds(cache: &Path) -> io::Result<Flock<File>> {
    fs::create_dir_all(cache)?;
    let file = File::options().create(true).append(true).open(cache.join("turn"))?;
    Flock::lock(file, FlockArg::LockExclusive).map_err(|(_, error)| error.into())
}

fn recorder(env: &DriverEnv, for_layers: bool) -> Result<Option<TraceRecorder>, String> {
    if !env.traced && !for_layers {
        return Ok(None);
    }
    let new = |place: &Path| TraceRecorder::new(place, env.values, env.records || for_layers);
    let Some(cache) = &env.cache else { return new(&env.run_dir).map(Some) };
    new(cache).or_else(|_| new(&env.run_dir)).map(Some)
}

fn hello(environment: u32, parent: Option<u32>, (runner, language): (&str, &str), root: &Path) -> AgentMessage {
    AgentMessage::Hello(Hello {
        protocol: VERSION,
        agent: "driver".to_owned(),
        environment,
        parent,
        process: None,
        pid: std::process::id(),
        connection: 0,
        runner: runner.to_owned(),
        language: language.to_owned(),
        root: root.to_string_lossy().into_owned(),
        stack_signal: None,
        installed: None,
    })
}

impl ListedDriver {
    /// Reports the tests, with a number added to ids that occur more than once.
    fn report_tests(&mut self) {
        let mut seen: HashMap<String, u32> = HashMap::new();
        for test in &mut self.suite.tests {
            let times = seen.entry(test.id.clone()).or_default();
            *times += 1;
            if *times > 1 {
                test.id = format!("{} ({times})", test.id);
            }
        }
        for note in self.suite.notes.drain(..) {
            self.connection.send(&AgentMessage::Note { text: note });
        }
        let mut numbers = 0..;
        for tests in self.suite.tests.chunks(LISTED_AT_ONCE) {
            let listed = |(test, n): (&TestCase, u32)| {
                let (id, file) = (TestId::new(&test.id), test.file.as_deref().map(Into::into));
                let listed = Test { id, file, line: test.line, command: test.command.clone() };
                ListedTest { n, test: listed, needs: test.needs.clone() }
            };
            self.connection.send(&AgentMessage::Listed { tests: tests.iter().zip(&mut numbers).map(listed).collect() });
        }
        self.connection.send(&AgentMessage::Ready {
            tests: self.suite.tests.len() as u32,
            deselected: self.suite.deselected,
            unforkable: None,
            one_process: None,
            reorders: false,
            isolated: true,
        });
    }

    fn take_orders(&mut self) -> ExitCode {
        while let Some(order) = self.connection.next_order() {
            match order {
                Order::Run(RunOrder {
                    tests,
                    again,
                    jobs,
                    limit,
                    probe,
                    depends,
                    apart,
                    in_process,
                    in_order,
                    spawn,
                    ..
                }) => {
                    let spawn = spawn.and_then(|text| serde_json::from_str(&text).ok());
                    let runner = OrderRunner {
                        tests: &self.suite.tests,
                        connection: &self.connection,
                        env_changes: &self.env.restore,
                        limits: ChildLimits { time: limit.map(Duration::from_millis), output: self.env.output_limit },
                        processes: &self.processes,
                        tracing: self.recorder.as_ref().map(|recorder| (recorder, self.env.run_dir.as_path())),
                        reports_traces: self.env.records,
                        layers: self.layers.as_ref().map(|layers| (layers, self.env.run_dir.as_path())),
                        environment: self.environment,
                        spawn: spawn.as_ref().or(self.env.spawn.as_ref()),
                        probe: probe.as_ref(),
                        depends: depends.then_some(self.env.run_dir.as_path()),
                        apart,
                        in_process,
                        in_order,
                    };
                    // What the user's command says counts for orders that are like it.
                    let at_once = |stage| self.suite.at_once(stage).filter(|_| jobs > 1).unwrap_or(jobs);
                    runner.run(&tests, again, at_once);
                    self.connection.send(&AgentMessage::Idle);
                }
                // The driver's own process has no state of tests, and has listed them already.
                Order::List | Order::Remember | Order::Compare | Order::Restore { .. } | Order::Watch { .. } => {}
                Order::Sites => self.report_sites(),
                Order::Filter { path } => self.let_fail(Path::new(&path)),
                Order::Fork { environment, .. } => self.fork(environment),
                Order::Reap { environment } => self.reap(environment),
                Order::End { failed } => {
                    self.connection.send(&AgentMessage::Bye);
                    return ExitCode::from(if failed.unwrap_or(0) > 0 { FAILED } else { 0 });
                }
            }
        }
        ExitCode::from(3)
    }

    /// Reports all assertions; no path where the runner reports none.
    fn report_sites(&self) {
        let written = self.suite.assertions.as_ref().map(|assertions| assertions.write_sites(&self.env.run_dir));
        let path = written.and_then(Result::ok).map(|path| path.to_string_lossy().into_owned());
        self.connection.send(&AgentMessage::Sites { path: path.unwrap_or_default() });
    }

    fn let_fail(&self, path: &Path) {
        if let Some(Err(error)) = self.suite.assertions.as_ref().map(|assertions| assertions.let_fail(path)) {
            self.connection.send(&AgentMessage::Note { text: format!("no assertion was filtered: {error}") });
        }
        self.connection.send(&AgentMessage::Filtering);
    }

    /// An order leaves nothing in this process and its threads end with it, so a fork is as good as
    /// a new driver.
    fn fork(&mut self, environment: u32) {
        #[allow(unsafe_code)]
        // SAFETY: between two orders this is the only thread, so the copy has no lock of another.
        match unsafe { fork() } {
            Ok(ForkResult::Parent { child }) => {
                self.copies.insert(environment, child);
                self.connection.send(&AgentMessage::Forked { environment, pid: child.as_raw() as u32 });
            }
            Ok(ForkResult::Child) => {
                let _ = setpgid(Pid::from_raw(0), Pid::from_raw(0));
                self.copies.clear();
                let parent = std::mem::replace(&mut self.environment, environment);
                agent_error::enter_environment(environment);
                match Connection::open(&self.env.socket) {
                    Ok(connection) => self.connection = connection,
                    Err(_) => std::process::exit(3),
                }
                self.connection.send(&hello(environment, Some(parent), self.names, &self.suite.root));
            }
            Err(error) => {
                let why = format!("fork failed: {error}");
                self.connection.send(&AgentMessage::Unforkable { environment, why });
            }
        }
    }

    fn reap(&mut self, environment: u32) {
        let death = match self.copies.remove(&environment).map(|pid| waitpid(pid, None)) {
            Some(Ok(WaitStatus::Exited(_, code))) => Death::Exit(code),
            Some(Ok(WaitStatus::Signaled(_, signal, _))) => Death::Signal(signal as i32),
            _ => Death::Unknown,
        };
        self.connection.send(&AgentMessage::Reaped { environment, death });
    }
}

#[cfg(test)]
mod tests;
