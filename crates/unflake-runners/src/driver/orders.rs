//! The driver as an agent: what it says, and the orders it obeys.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use nix::fcntl::{Flock, FlockArg};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork, setpgid};
use unflake_protocol::{Death, Event, Hello, ListedTest, Order, ProblemKind, RunOrder, Test, TestId, VERSION};

use crate::driver::connection::Wire;
use crate::driver::dispatch::Floor;
use crate::driver::driver_env::Told;
use crate::driver::suite::{CannotList, Case, Suite};
use crate::driver::tracing::Tracing;
use crate::jvm::assertions::Assertions;
use crate::process::child::Limits;

/// A `listed` event has at most this many tests.
const LISTED_AT_ONCE: usize = 200;
/// An exit code for "tests failed", as most runners have it.
const FAILED: u8 = 1;

/// What a driver may use while it lists.
pub(crate) struct Workshop<'a> {
    /// A place for files, gone with the run.
    pub(crate) side: &'a Path,
    /// A place for what drivers of other worlds need, too, gone with the run. None: there are no others.
    pub(crate) shared: Option<&'a Path>,
    /// Whether tests are to run in another world than ours.
    pub(crate) elsewhere: bool,
    /// What the project's processes are to see differently from us.
    pub(crate) world: &'a std::collections::BTreeMap<String, Option<String>>,
    /// The directory the user's command was given in.
    pub(crate) here: PathBuf,
    /// Where traces are wanted.
    pub(crate) tracing: Option<&'a Tracing>,
    /// A place for what is worth keeping from run to run.
    pub(crate) cache: &'a Path,
    /// The layers at which it is to be told what tests look like.
    pub(crate) layers: Option<&'a str>,
    /// Where assertions are told: those of the project, as far as they are known.
    pub(crate) assertions: Option<Arc<Assertions>>,
}

struct Driver {
    names: (&'static str, &'static str),
    told: Told,
    wire: Wire,
    environment: u32,
    suite: Suite,
    tracing: Option<Tracing>,
    assertions: Option<Arc<Assertions>>,
    processes: AtomicU32,
    copies: HashMap<u32, Pid>,
}

/// Lists, obeys, and leaves with the exit code of the runner in whose place it stands.
pub(crate) fn obey(
    names: (&'static str, &'static str),
    list: impl FnOnce(&Workshop<'_>) -> Result<Suite, CannotList>,
) -> ExitCode {
    let Some(told) = Told::read() else {
        eprintln!("a driver is started by unflake and by nobody else");
        return ExitCode::from(2);
    };
    let Ok(wire) = Wire::connect(&told.socket) else { return ExitCode::from(3) };
    let Ok(here) = std::env::current_dir() else { return ExitCode::from(3) };
    let environment = told.environment;
    // Listing may take as long as a build. That somebody is here is told before.
    wire.tell(&hello(environment, None, names, &here));
    let tracing = match tracing(&told) {
        Ok(tracing) => tracing,
        Err(text) => {
            wire.tell(&Event::Problem { kind: ProblemKind::Internal, place: None, text });
            wire.tell(&Event::Bye);
            return ExitCode::from(FAILED);
        }
    };
    let cache = told.cache.as_deref().unwrap_or(&told.side);
    let (tracing_wanted, layers) = (tracing.as_ref(), told.layers.as_deref());
    let tells = layers.is_some_and(|layers| layers.split(',').any(|layer| layer == "assertion"));
    let assertions = tells.then(|| Arc::new(Assertions::new(&here, told.filter)));
    let workshop = Workshop {
        side: &told.side,
        shared: told.shared.as_deref(),
        elsewhere: told.door.is_some(),
        world: &told.restore,
        here,
        tracing: tracing_wanted,
        cache,
        layers,
        assertions: assertions.clone(),
    };
    // Several worlds may be made at the same time, and two builds of one project would be in each other's way.
    let turn = told.door.as_ref().and_then(|_| turn(cache).ok());
    let listed = list(&workshop);
    drop(turn);
    let suite = match listed {
        Ok(suite) => suite,
        Err(CannotList { kind, place, text }) => {
            wire.tell(&Event::Problem { kind, place, text });
            wire.tell(&Event::Bye);
            return ExitCode::from(FAILED);
        }
    };
    let processes = AtomicU32::new(0);
    // Who runs tests in processes that say nothing of assertions has none to tell.
    let assertions = assertions.filter(|assertions| assertions.may_be_let_fail && !assertions.is_empty());
    let copies = HashMap::new();
    let mut driver = Driver { names, told, wire, environment, suite, tracing, assertions, processes, copies };
    driver.list();
    driver.take_orders()
}

/// Waits until nobody else builds.
fn turn(cache: &Path) -> io::Result<Flock<File>> {
    fs::create_dir_all(cache)?;
    let file = File::options().create(true).append(true).open(cache.join("turn"))?;
    Flock::lock(file, FlockArg::LockExclusive).map_err(|(_, error)| error.into())
}

fn tracing(told: &Told) -> Result<Option<Tracing>, String> {
    if !told.traced {
        return Ok(None);
    }
    let new = |place: &Path| Tracing::new(place, told.values);
    let Some(cache) = &told.cache else { return new(&told.side).map(Some) };
    new(cache).or_else(|_| new(&told.side)).map(Some)
}

fn hello(environment: u32, parent: Option<u32>, (runner, language): (&str, &str), root: &Path) -> Event {
    Event::Hello(Hello {
        protocol: VERSION,
        agent: "driver".to_owned(),
        environment,
        parent,
        pid: std::process::id(),
        connection: 0,
        runner: runner.to_owned(),
        language: language.to_owned(),
        root: root.to_string_lossy().into_owned(),
        stack_signal: None,
    })
}

impl Driver {
    fn list(&mut self) {
        let mut seen: HashMap<String, u32> = HashMap::new();
        for case in &mut self.suite.cases {
            let times = seen.entry(case.id.clone()).or_default();
            *times += 1;
            if *times > 1 {
                case.id = format!("{} ({times})", case.id);
            }
        }
        for note in self.suite.notes.drain(..) {
            self.wire.tell(&Event::Note { text: note });
        }
        let mut numbers = 0..;
        for cases in self.suite.cases.chunks(LISTED_AT_ONCE) {
            let listed = |(case, n): (&Case, u32)| {
                let (id, file) = (TestId::new(&case.id), case.file.as_deref().map(Into::into));
                ListedTest { n, test: Test { id, file, line: case.line, command: case.command.clone() } }
            };
            self.wire.tell(&Event::Listed { tests: cases.iter().zip(&mut numbers).map(listed).collect() });
        }
        self.wire.tell(&Event::Ready {
            tests: self.suite.cases.len() as u32,
            deselected: self.suite.deselected,
            unforkable: None,
            isolated: true,
        });
    }

    fn take_orders(&mut self) -> ExitCode {
        while let Some(order) = self.wire.next_order() {
            match order {
                Order::Run(RunOrder { tests, again, jobs, limit, probe, depends, apart, in_process, .. }) => {
                    let floor = Floor {
                        cases: &self.suite.cases,
                        wire: &self.wire,
                        world: &self.told.restore,
                        limits: Limits { time: limit.map(Duration::from_millis), output: self.told.output_limit },
                        processes: &self.processes,
                        tracing: self.tracing.as_ref().map(|tracing| (tracing, self.told.side.as_path())),
                        environment: self.environment,
                        door: self.told.door.as_ref(),
                        probe: probe.as_ref(),
                        depends: depends.then_some(self.told.side.as_path()),
                        apart,
                        in_process,
                    };
                    floor.run(&tests, again, self.suite.at_once.map_or(jobs, |most| most.min(jobs)));
                    self.wire.tell(&Event::Idle);
                }
                // There is no state of tests here.
                Order::Remember | Order::Compare | Order::Restore { .. } | Order::Watch { .. } => {}
                Order::Sites => self.tell_sites(),
                Order::Filter { path } => self.let_fail(Path::new(&path)),
                Order::Fork { environment } => self.fork(environment),
                Order::Reap { environment } => self.reap(environment),
                Order::End { failed } => {
                    self.wire.tell(&Event::Bye);
                    return ExitCode::from(if failed.unwrap_or(0) > 0 { FAILED } else { 0 });
                }
            }
        }
        ExitCode::from(3)
    }

    /// All assertions there are; no path where they cannot be told.
    fn tell_sites(&self) {
        let told = self.assertions.as_ref().map(|assertions| assertions.told(&self.told.side));
        let path = told.and_then(Result::ok).map(|path| path.to_string_lossy().into_owned());
        self.wire.tell(&Event::Sites { path: path.unwrap_or_default() });
    }

    fn let_fail(&self, path: &Path) {
        if let Some(Err(error)) = self.assertions.as_ref().map(|assertions| assertions.let_fail(path)) {
            self.wire.tell(&Event::Note { text: format!("no assertion was let fail: {error}") });
        }
        self.wire.tell(&Event::Filtering);
    }

    /// Nothing of an order stays in this process, and its threads end with the order: a copy is as good as the first.
    fn fork(&mut self, environment: u32) {
        #[allow(unsafe_code)]
        // SAFETY: no thread runs besides this one between two orders, so the copy holds no lock of another.
        match unsafe { fork() } {
            Ok(ForkResult::Parent { child }) => {
                self.copies.insert(environment, child);
                self.wire.tell(&Event::Forked { environment, pid: child.as_raw() as u32 });
            }
            Ok(ForkResult::Child) => {
                let _ = setpgid(Pid::from_raw(0), Pid::from_raw(0));
                self.copies.clear();
                let parent = std::mem::replace(&mut self.environment, environment);
                match Wire::connect(&self.told.socket) {
                    Ok(wire) => self.wire = wire,
                    Err(_) => std::process::exit(3),
                }
                self.wire.tell(&hello(environment, Some(parent), self.names, &self.suite.root));
            }
            Err(error) => {
                let why = format!("the system refuses: {error}");
                self.wire.tell(&Event::Unforkable { environment, why });
            }
        }
    }

    fn reap(&mut self, environment: u32) {
        let death = match self.copies.remove(&environment).map(|pid| waitpid(pid, None)) {
            Some(Ok(WaitStatus::Exited(_, code))) => Death::Exit(code),
            Some(Ok(WaitStatus::Signaled(_, signal, _))) => Death::Signal(signal as i32),
            _ => Death::Unknown,
        };
        self.wire.tell(&Event::Reaped { environment, death });
    }
}
