//! Sessions in other worlds. Variables, a preloaded shim and limits must be in place before a
//! runner starts, so each set of factors has an engine of its own, in a thread of its own: one
//! process that collects, and a fork of it for each session. Its events arrive as inputs of this
//! engine.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use tracing::{debug, debug_span};
use unflake_model::{Event, Factor, FactorEffect, Isolation, Placement, ProblemKind, Session};
use unflake_worlds::World;

use crate::engine::{Engine, Interrupter};
use crate::input::EngineInput;
use crate::launch::Launch;

/// So many idle worlds stay open for later sessions. Each has a process.
const MAX_IDLE: usize = 4;
/// Distance between the first environment ids of two worlds.
const IDS_PER_WORLD: u32 = 1 << 16;
const NOT_REACHED: &str = "the preloaded library does not reach the runner";

/// The engines of other worlds and the sessions that wait for them.
#[derive(Default)]
pub(crate) struct Worlds {
    waiting: VecDeque<SessionGroup>,
    /// The last used last.
    open: Vec<WorldEngine>,
    created: u32,
}

/// Sessions of one world.
struct SessionGroup {
    factors: Vec<Factor>,
    sessions: Vec<Session>,
    /// It needs a world of its own, and runs in the process that lists the tests: what a process
    /// draws at random follows from its seed, and a fork would draw other values.
    is_exclusive: bool,
}

struct WorldEngine {
    number: u32,
    factors: Vec<Factor>,
    orders: Sender<Vec<Session>>,
    interrupter: Option<Interrupter>,
    thread: JoinHandle<()>,
    is_busy: bool,
    /// It ends when it is idle: it was created for one session, or it affects other worlds.
    is_transient: bool,
}

/// What the engine of a world reports.
pub(crate) enum WorldReport {
    Started(Interrupter),
    Events(Vec<Event>),
    /// It has nothing more to do.
    Idle,
}

impl Worlds {
    pub(crate) fn add(&mut self, session: Session) {
        let factors = session.under.clone().unwrap_or_default();
        let is_exclusive = session.place == Placement::Fresh(Isolation::Process);
        match self.waiting.iter_mut().find(|group| group.factors == factors && !is_exclusive && !group.is_exclusive) {
            Some(group) => group.sessions.push(session),
            None => self.waiting.push_back(SessionGroup { factors, sessions: vec![session], is_exclusive }),
        }
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.open.iter().all(|world| !world.is_busy)
    }

    fn busy(&self) -> impl Iterator<Item = &WorldEngine> {
        self.open.iter().filter(|world| world.is_busy)
    }

    fn world(&mut self, number: u32) -> Option<&mut WorldEngine> {
        self.open.iter_mut().find(|world| world.number == number)
    }

    pub(crate) fn interrupt(&self) {
        self.open.iter().filter_map(|world| world.interrupter.as_ref()).for_each(Interrupter::interrupt);
    }

    /// Takes out the sessions that wait.
    pub(crate) fn drain_waiting(&mut self) -> impl Iterator<Item = Session> {
        std::mem::take(&mut self.waiting).into_iter().flat_map(|group| group.sessions)
    }

    /// Takes out the next group that may run now, with its world if that is open.
    fn next_group(&mut self, jobs: usize) -> Option<(SessionGroup, Option<WorldEngine>)> {
        let next = self.waiting.front()?;
        let serial = affects_others(&next.factors) || self.busy().any(|world| affects_others(&world.factors));
        if self.busy().count() >= if serial { 1 } else { jobs.max(1) } {
            return None;
        }
        let group = self.waiting.pop_front()?;
        let fits = |world: &WorldEngine| world.factors == group.factors && !world.is_transient && !group.is_exclusive;
        let at = self.open.iter().position(fits);
        let world = at.map(|at| self.open.remove(at));
        Some((group, world))
    }

    /// Ends idle worlds, except the last used `kept`.
    fn prune(&mut self, kept: usize) {
        let idle = self.open.iter().filter(|world| !world.is_busy && !world.is_transient).count();
        let mut spare = idle.saturating_sub(kept);
        let ends = |world: &mut WorldEngine| {
            let is_spare = !world.is_busy && !world.is_transient && spare > 0;
            spare -= usize::from(is_spare);
            is_spare || !world.is_busy && world.is_transient
        };
        for world in self.open.extract_if(.., ends).collect::<Vec<_>>() {
            debug!(world = world.number, "closing a world");
            drop(world.orders);
            let _ = world.thread.join();
        }
    }

    pub(crate) fn close(&mut self) {
        self.open.iter_mut().for_each(|world| world.is_busy = false);
        self.prune(0);
    }
}

/// Whether a world affects other worlds, or is affected by them: nothing runs in parallel with it.
fn affects_others(factors: &[Factor]) -> bool {
    factors.iter().any(|factor| factor.kind().exclusive)
}

impl Engine {
    /// Whether the shim of its world has been loaded into a process, where the world needs one.
    fn is_world_effective(&self) -> bool {
        let Some(world) = self.starter.world() else { return true };
        world.by_shim().is_empty() || world.reached().is_some_and(|reached| reached.processes > 0)
    }

    /// Sessions run in the process that listed the tests from now on.
    fn stop_forking(&mut self) {
        if let Some(id) = self.fork_server.id() {
            self.suite.set_live(Some(id));
        }
    }

    /// The session as this engine runs it.
    fn in_this_world(&self, session: Session) -> Session {
        let is_live = self.suite.live().is_some() && !self.suite.listing().isolated;
        let place = if is_live { Placement::Live } else { Placement::Fresh(Isolation::Fork) };
        Session { under: None, place, ..session }
    }

    /// Sends waiting sessions to their worlds, as many at once as fresh environments may run.
    pub(crate) fn dispatch_worlds(&mut self) {
        // Here and not earlier: events of a world name files that are removed with it.
        self.worlds.prune(MAX_IDLE);
        let jobs = self.starter.launch().jobs;
        while let Some((SessionGroup { factors, sessions, is_exclusive }, world)) = self.worlds.next_group(jobs) {
            let world = match world {
                Some(world) => world,
                None => self.create_world(factors, &sessions, is_exclusive),
            };
            debug!(world = world.number, sessions = sessions.len(), "sessions sent to a world");
            let is_busy = world.orders.send(sessions).is_ok();
            self.worlds.open.push(WorldEngine { is_busy, ..world });
        }
    }

    fn create_world(&mut self, factors: Vec<Factor>, sessions: &[Session], is_exclusive: bool) -> WorldEngine {
        let copies = factors.iter().find_map(|factor| match factor.kind().effect {
            FactorEffect::Copies => factor.setting().parse().ok(),
            _ => None,
        });
        self.worlds.created += 1;
        let number = self.worlds.created;
        let launch = Launch {
            suite: false,
            jobs: copies.unwrap_or(1),
            time: self.stop.remaining(),
            ..self.starter.launch().clone()
        };
        let tests = sessions.iter().flat_map(|session| session.tests.iter().cloned()).collect();
        let only = self.suite.listing().files_of(&tests);
        let (orders, received) = channel();
        let (to, shared) = (self.starter.inputs(), self.starter.shared().to_owned());
        let is_transient = is_exclusive || affects_others(&factors);
        debug!(world = number, ?factors, is_transient, "creating a world");
        let in_thread = factors.clone();
        let thread = thread::spawn(move || {
            let _span = debug_span!("world", number).entered();
            let report = |report| drop(to.send(EngineInput::World { number, report }));
            let started = |interrupter| report(WorldReport::Started(interrupter));
            let mut engine = open(number, launch, shared, &in_thread, only, started);
            if let (Ok(engine), true) = (&mut engine, is_exclusive) {
                engine.stop_forking();
            }
            serve(engine, &in_thread, &received, &report);
        });
        WorldEngine { number, factors, orders, interrupter: None, thread, is_busy: false, is_transient }
    }

    pub(crate) fn on_world_report(&mut self, number: u32, report: WorldReport) {
        let is_stopped = self.stop.reason().is_some();
        match report {
            WorldReport::Started(interrupter) => {
                if is_stopped {
                    interrupter.interrupt();
                }
                if let Some(world) = self.worlds.world(number) {
                    world.interrupter = Some(interrupter);
                }
            }
            WorldReport::Events(events) => self.events.extend(events),
            WorldReport::Idle => {
                if let Some(world) = self.worlds.world(number) {
                    world.is_busy = false;
                }
            }
        }
    }
}

/// Runs the sessions of one world until there are no more, in its own thread.
fn serve(
    mut engine: Result<Engine, String>,
    factors: &[Factor],
    orders: &Receiver<Vec<Session>>,
    report: &impl Fn(WorldReport),
) {
    while let Ok(sessions) = orders.recv() {
        match &mut engine {
            Ok(engine) if !engine.is_world_effective() => {
                // The driver is outside of the world: only after a session has run it is known
                // whether its processes are inside.
                let mut held = Vec::new();
                let here = sessions.iter().map(|session| engine.in_this_world(session.clone())).collect();
                engine.run(here, &mut |events| {
                    held.extend(events.iter().cloned());
                });
                let events = match engine.is_world_effective() {
                    true => {
                        let worlds = sessions.iter().map(|session| under(session, factors));
                        worlds.chain(held.into_iter().filter(is_of_session)).collect()
                    }
                    false => sessions.into_iter().map(|session| unrun(session, NOT_REACHED)).collect(),
                };
                report(WorldReport::Events(events));
            }
            Ok(engine) => {
                report(WorldReport::Events(sessions.iter().map(|session| under(session, factors)).collect()));
                let here = sessions.into_iter().map(|session| engine.in_this_world(session)).collect();
                engine.run(here, &mut |events| {
                    let events: Vec<_> = events.iter().filter(|event| is_of_session(event)).cloned().collect();
                    if !events.is_empty() {
                        report(WorldReport::Events(events));
                    }
                });
            }
            Err(why) => {
                debug!(why, "the world is not available");
                report(WorldReport::Events(sessions.into_iter().map(|session| unrun(session, why)).collect()));
            }
        }
        report(WorldReport::Idle);
    }
    if let Ok(engine) = engine {
        let missed = engine.starter.world().and_then(World::reached).map_or(Vec::new(), |reached| reached.missed);
        engine.close(0, &mut |_| {});
        if let Some(missed) = missed.first() {
            let what = factors.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            let note = format!("{what} did not apply to every process: {missed}");
            report(WorldReport::Events(vec![Event::Note(note)]));
        }
    }
}

fn under(session: &Session, factors: &[Factor]) -> Event {
    Event::WorldEntered { session: session.id, factors: factors.to_vec() }
}

/// The end of a session of which no test ran.
pub(crate) fn unrun(session: Session, why: &str) -> Event {
    Event::SessionEnded { session: session.id, left: session.tests, why: Some(why.to_owned()) }
}

/// An engine whose runner is in its world and has listed its tests. Load starts after that, so that
/// it does not slow down the listing. The error is for the user.
fn open(
    number: u32,
    launch: Launch,
    shared: PathBuf,
    factors: &[Factor],
    only: Option<Vec<String>>,
    started: impl FnOnce(Interrupter),
) -> Result<Engine, String> {
    let agents = launch.agents.clone();
    let injects = |wanted: &str| agents.iter().flat_map(|agent| agent.prepend).any(|one| one.name == wanted);
    let mut engine = Engine::new(launch).map_err(|error| error.to_string())?;
    let world = World::below(engine.starter.run_dir(), factors).map_err(|error| error.to_string())?;
    if let Some((name, _)) = world.variables().iter().find(|(name, _)| injects(name)) {
        return Err(format!("cannot change {name}: the agent of unflake is loaded through it"));
    }
    started(engine.interrupter());
    engine.stop.start_budget(engine.launch().time);
    engine.environments.number_from(number.saturating_mul(IDS_PER_WORLD));
    engine.starter.enter(world, shared);
    let mut problem = None;
    let is_listed = engine.list_only(only, &mut |events| {
        for event in events {
            if let Event::Problem(reported) = event {
                problem.get_or_insert_with(|| reported.text.lines().next().unwrap_or_default().to_owned());
            }
        }
    });
    let failure = if !is_listed {
        let stopped = engine.stop.reason().map(str::to_owned);
        Some(stopped.or(problem).unwrap_or_else(|| "the runner did not list its tests there".to_owned()))
    } else if engine.launch().driver.is_none() && !engine.is_world_effective() {
        Some(NOT_REACHED.to_owned())
    } else {
        engine.starter.world_mut().and_then(|world| world.load().err()).map(|error| error.to_string())
    };
    match failure {
        Some(why) => {
            engine.close(0, &mut |_| {});
            Err(why)
        }
        None => Ok(engine),
    }
}

/// Environments, listings, problems and notes of another world are not part of the run, but lost
/// results are.
fn is_of_session(event: &Event) -> bool {
    match event {
        Event::Problem(problem) => problem.kind == ProblemKind::Protocol,
        _ => !matches!(event, Event::EnvironmentStarted(_) | Event::TestsListed { .. } | Event::Note(_)),
    }
}
