//! Sessions in other worlds. Variables, a preloaded shim and limits must be in place before a
//! runner starts, so each set of factors has an engine of its own, in a thread of its own: one
//! process that collects, and a fork of it for each session. Its events arrive as inputs of this
//! engine.

use std::collections::{BTreeSet, HashSet, VecDeque};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use tracing::{debug, debug_span};
use unflake_model::{
    Event, Factor, FactorEffect, Isolation, Placement, Privacy, ProblemKind, Session, Shared, TestId,
    WORLD_NOT_REACHED, World, WorldId,
};
use unflake_worlds::{OpenWorld, PrivatePlan, SpawnSpec};

use crate::engine::{Engine, Interrupter};
use crate::input::EngineInput;
use crate::launch::{Launch, Tracing};

/// So many idle worlds stay open for later sessions. Each has a process.
const MAX_IDLE: usize = 4;
/// Distance between the first environment ids of two worlds.
const IDS_PER_WORLD: u32 = 1 << 16;

/// The engines of other worlds and the sessions that wait for them.
#[derive(Default)]
pub(crate) struct Worlds {
    waiting: VecDeque<SessionGroup>,
    /// The last used last.
    open: Vec<WorldEngine>,
    created: u32,
    /// The worlds of this engine that have been announced.
    entered: HashSet<WorldId>,
    /// Whether the user knows what private worlds share.
    is_sharing_noted: bool,
    /// Why worlds did not reach every process.
    missed: HashSet<String>,
    /// That of the process which is forked for sessions with seeds.
    of_fork_server: Option<OpenWorld>,
}

/// Sessions of one world.
struct SessionGroup {
    world: World,
    sessions: Vec<Session>,
    /// It needs a world of its own, and runs in the process that lists the tests: what a process
    /// draws at random follows from its seed, and a fork would draw other values.
    is_exclusive: bool,
    /// No other session runs at the same time.
    is_alone: bool,
}

struct WorldEngine {
    number: u32,
    world: World,
    orders: Sender<Vec<Session>>,
    interrupter: Option<Interrupter>,
    thread: JoinHandle<()>,
    is_busy: bool,
    /// While it is busy, no other session runs.
    is_alone: bool,
    /// It ends when it is idle: it was created for one session, or it affects other worlds.
    is_transient: bool,
}

/// What the engine of a world reports.
pub(crate) enum WorldReport {
    Started(Interrupter),
    Events(Vec<Event>),
    /// It did not reach every process.
    Missed {
        what: String,
        why: String,
    },
    /// It has nothing more to do.
    Idle,
}

impl Worlds {
    /// Says it once for all worlds.
    fn missed(&mut self, what: &str, why: String) -> Option<Event> {
        let what = if what.is_empty() { "a world" } else { what };
        let note = format!("{what} did not apply to every process: {why}");
        self.missed.insert(why).then_some(Event::Note(note))
    }

    /// `is_alone`: nothing may run beside the session.
    pub(crate) fn add(&mut self, session: Session, world: World, is_alone: bool) {
        let is_exclusive = session.place == Placement::Fresh(Isolation::Process);
        match self.waiting.iter_mut().find(|group| group.world == world && !is_exclusive && !group.is_exclusive) {
            Some(group) => {
                group.is_alone |= is_alone;
                group.sessions.push(session);
            }
            None => self.waiting.push_back(SessionGroup { world, sessions: vec![session], is_exclusive, is_alone }),
        }
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && !self.is_busy()
    }

    pub(crate) fn is_busy(&self) -> bool {
        self.busy().next().is_some()
    }

    /// Whether a session runs that nothing may run beside.
    pub(crate) fn is_occupied(&self) -> bool {
        self.busy().any(|world| world.is_alone)
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

    /// Takes out the next group that may run now, with its world if that is open. `is_used`: a
    /// session runs in the world of this engine.
    fn next_group(&mut self, jobs: usize, is_used: bool) -> Option<(SessionGroup, Option<WorldEngine>)> {
        let next = self.waiting.front().filter(|next| !next.is_alone || !is_used)?;
        let is_alone = next.is_alone || affects_others(&next.world);
        let serial = is_alone || self.busy().any(|busy| busy.is_alone || affects_others(&busy.world));
        if self.busy().count() >= if serial { 1 } else { jobs.max(1) } {
            return None;
        }
        let group = self.waiting.pop_front()?;
        let fits = |open: &WorldEngine| open.world == group.world && !open.is_transient && !group.is_exclusive;
        let at = self.open.iter().position(fits);
        let world = at.map(|at| self.open.remove(at));
        Some((group, world))
    }

    /// The next group, if it only waits until it can be alone and its world is not open: the runner
    /// can start meanwhile.
    fn to_prepare(&self) -> Option<&SessionGroup> {
        let next = self.waiting.front().filter(|next| next.is_alone && !next.is_exclusive)?;
        let is_open = self.open.iter().any(|open| open.world == next.world && !open.is_transient);
        (!is_open && !affects_others(&next.world)).then_some(next)
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

fn tests_of(sessions: &[Session]) -> BTreeSet<TestId> {
    sessions.iter().flat_map(|session| session.tests.iter().cloned()).collect()
}

/// The factors that a session sets in its fork. The process that is forked has the rest of its world.
pub(crate) fn fork_factors(session: &Session) -> &[Factor] {
    session.under.as_ref().map_or(&[], |world| &world.factors)
}

/// Whether a world affects other worlds, or is affected by them: nothing runs in parallel with it.
fn affects_others(world: &World) -> bool {
    world.factors.iter().any(|factor| factor.kind().exclusive)
}

impl Engine {
    /// Whether the shim of its world has been loaded into a process, where the world needs one.
    fn is_world_effective(&self) -> bool {
        let Some(world) = self.starter.world() else { return true };
        world.by_shim().is_empty() || world.reached().is_some_and(|reached| reached.processes > 0)
    }

    /// Tells the user once what is not private in private worlds.
    pub(crate) fn note_shared_parts(&mut self) {
        if !std::mem::replace(&mut self.worlds.is_sharing_noted, true) {
            self.events.extend(self.starter.not_private().map(Event::Note));
        }
    }

    /// Whether a session runs in a private world.
    pub(crate) fn is_private(&self, session: &Session) -> bool {
        self.private_plan(session).is_some()
    }

    /// How the processes of a session enter its private world, if it runs in one.
    fn private_plan(&self, session: &Session) -> Option<&PrivatePlan> {
        if !session.private || session.place == Placement::Live {
            return None;
        }
        // A preloaded library cannot be reached from another user namespace.
        self.starter.private().filter(|plan| self.starter.world().is_none() || !plan.needs_user_namespace())
    }

    /// The world of the process that a session needs, without what its fork can set. None: that of this
    /// engine.
    pub(crate) fn process_world(&self, session: &Session) -> Option<World> {
        let world = session.under.as_ref()?;
        let forks = self.launch().driver.is_none()
            && session.place == Placement::Fresh(Isolation::Fork)
            && session.prefix == 0
            && session.probe.is_none()
            && !self.fork_server.is_unavailable();
        let mut rest = world.clone();
        rest.factors.retain(|factor| !(forks && factor.kind().in_forks));
        let is_changed = rest.factors.len() < world.factors.len();
        (!is_changed || rest != World::default()).then_some(rest)
    }

    /// The seed of a session, where this engine can set it.
    pub(crate) fn seed_of(&self, session: &Session) -> Option<u64> {
        let is_possible = session.place != Placement::Live && self.starter.world().is_none();
        session.seed.filter(|_| is_possible && unflake_worlds::can_seed())
    }

    /// Opens the world of a session's seed, for processes that start from now on.
    pub(crate) fn open_seeded(&mut self, at: usize) {
        let session = &self.sessions[at].work.session;
        let (seed, factors) = (self.seed_of(session), fork_factors(session));
        if self.sessions[at].seeded.is_some() || seed.is_none() && factors.is_empty() {
            return;
        }
        let own = self.starter.world().map_or_else(World::default, |open| open.world().clone());
        let factors = own.factors.iter().chain(factors).cloned().collect();
        let world = World { seed: seed.or(own.seed), factors, ..World::default() };
        // Processes in another user namespace cannot reach memory files of this one.
        let is_other = self.private_plan(session).is_some_and(PrivatePlan::needs_user_namespace);
        let open = if is_other { OpenWorld::with_files } else { OpenWorld::below };
        match open(self.starter.run_dir(), &world) {
            Ok(world) => self.sessions[at].seeded = Some(world),
            Err(error) => debug!(%error, ?seed, "the session has no world of its own"),
        }
    }

    /// How a process starts that is forked for sessions with seeds. Its forks set their own.
    pub(crate) fn fork_server_world(&mut self) -> Option<SpawnSpec> {
        let launch = self.launch();
        let is_possible = launch.driver.is_none() && self.starter.world().is_none() && unflake_worlds::can_seed();
        let seed = launch.session_seeds.filter(|_| is_possible)?;
        if self.worlds.of_fork_server.is_none() {
            let world = World { factors: unflake_worlds::random_bytes(seed).into_iter().collect(), ..World::default() };
            let is_other = self.starter.private().is_some_and(PrivatePlan::needs_user_namespace);
            let open = if is_other { OpenWorld::with_files } else { OpenWorld::below };
            match open(self.starter.run_dir(), &world) {
                Ok(world) => self.worlds.of_fork_server = Some(world),
                Err(error) => debug!(%error, "random bytes in forks are not seeded"),
            }
        }
        self.worlds.of_fork_server.as_ref().map(OpenWorld::spawn_spec)
    }

    /// How an isolated agent starts the processes of a session, as JSON, where that is not as usual.
    pub(crate) fn spawn_for(&mut self, at: usize) -> Option<String> {
        self.open_seeded(at);
        let seeded = self.sessions[at].seeded.as_ref();
        let plan = self.private_plan(&self.sessions[at].work.session);
        let spec = seeded.or(self.starter.world()).map(OpenWorld::spawn_spec).unwrap_or_default();
        let spec = match (plan, seeded) {
            (Some(plan), _) => spec.in_private(plan),
            (None, Some(_)) => spec,
            (None, None) => return None,
        };
        serde_json::to_string(&spec).ok()
    }

    /// The world of attempts with this origin. Announced by the event that is returned if it is new.
    pub(crate) fn world_of(&mut self, at: usize, is_live: bool, origin: Isolation) -> (WorldId, Option<Event>) {
        let (session, seeded) = (&self.sessions[at].work.session, &self.sessions[at].seeded);
        let shared = if is_live && self.launch().suite { Shared::Process } else { Shared::by(origin) };
        let world = self.starter.world().map_or_else(World::default, |open| open.world().clone());
        let machine = self.launch().machine.clone();
        let plan = self.private_plan(session);
        let factors = world.factors.iter().chain(fork_factors(session)).cloned().collect();
        let mut world = World {
            factors,
            shared,
            private: plan.map_or_else(Privacy::default, |plan| plan.parts.clone()),
            machine,
            ..world
        };
        let is_seeded = match seeded {
            // A program that the shim does not reach draws what it likes.
            Some(open) => open.reached().is_some_and(|reached| reached.processes > 0),
            None => origin == Isolation::Fork,
        };
        world.seed = world.seed.or_else(|| self.seed_of(session).filter(|_| is_seeded));
        let id = world.id();
        (id, self.worlds.entered.insert(id).then_some(Event::WorldEntered(world)))
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
        let own = self.starter.world().map_or(&[][..], |open| &open.world().factors);
        let left = fork_factors(&session).iter().filter(|factor| factor.kind().in_forks && !own.contains(factor));
        let left: Vec<Factor> = left.cloned().collect();
        let under = (!left.is_empty() && !is_live).then(|| World::of(left));
        Session { under, place, ..session }
    }

    /// Sends waiting sessions to their worlds, as many at once as fresh environments may run.
    pub(crate) fn dispatch_worlds(&mut self) {
        // Here and not earlier: events of a world name files that are removed with it.
        self.worlds.prune(MAX_IDLE);
        let jobs = self.starter.launch().jobs;
        let is_used = self.sessions.running().next().is_some();
        while let Some((group, open)) = self.worlds.next_group(jobs, is_used) {
            let SessionGroup { world, sessions, is_exclusive, is_alone } = group;
            let open = match open {
                Some(open) => open,
                None => self.create_world(world, tests_of(&sessions), is_exclusive),
            };
            debug!(world = open.number, sessions = sessions.len(), "sessions sent to a world");
            let is_busy = open.orders.send(sessions).is_ok();
            self.worlds.open.push(WorldEngine { is_busy, is_alone, ..open });
        }
        if let Some(SessionGroup { world, sessions, .. }) = self.worlds.to_prepare().filter(|_| jobs > 1) {
            let (world, tests) = (world.clone(), tests_of(sessions));
            let prepared = self.create_world(world, tests, false);
            self.worlds.open.push(prepared);
        }
    }

    fn create_world(&mut self, world: World, tests: BTreeSet<TestId>, is_exclusive: bool) -> WorldEngine {
        let copies = world.factors.iter().find_map(|factor| match factor.kind().effect {
            FactorEffect::Copies => factor.setting().parse().ok(),
            _ => None,
        });
        self.worlds.created += 1;
        let number = self.worlds.created;
        let at_lines = world.factors.iter().any(|factor| factor.kind().at_lines);
        let traced_driver = self.launch().driver.is_some() && at_lines;
        let launch = Launch {
            spread: false,
            suite: false,
            remote: None,
            traced: self.launch().traced.or(traced_driver.then_some(Tracing::Delays)),
            jobs: copies.unwrap_or(1),
            began: Instant::now(),
            time: self.stop.remaining(),
            ..self.starter.launch().clone()
        };
        let only = self.suite.listing().files_of(&tests);
        let (orders, received) = channel();
        let (to, shared) = (self.starter.inputs(), self.starter.shared().to_owned());
        let is_transient = is_exclusive || affects_others(&world);
        debug!(world = number, options = ?world.options(), is_transient, "creating a world");
        let in_thread = world.clone();
        let thread = thread::spawn(move || {
            let _span = debug_span!("world", number).entered();
            let report = |report| drop(to.send(EngineInput::World { number, report }));
            let started = |interrupter| report(WorldReport::Started(interrupter));
            let mut engine = open(number, launch, shared, &in_thread, only, started);
            if let (Ok(engine), true) = (&mut engine, is_exclusive) {
                engine.stop_forking();
            }
            serve(engine, &in_thread.factors, &received, &report);
        });
        WorldEngine { number, world, orders, interrupter: None, thread, is_busy: false, is_alone: false, is_transient }
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
            WorldReport::Missed { what, why } => self.events.extend(self.worlds.missed(&what, why)),
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
                    true => held.into_iter().filter(is_of_session).collect(),
                    false => sessions.into_iter().map(|session| unrun(session, WORLD_NOT_REACHED)).collect(),
                };
                report(WorldReport::Events(events));
            }
            Ok(engine) => {
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
        let missed = engine.starter.world().and_then(OpenWorld::reached).map_or(Vec::new(), |reached| reached.missed);
        engine.close(0, &mut |_| {});
        if let Some(missed) = missed.first() {
            let what = factors.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            report(WorldReport::Missed { what, why: missed.to_string() });
        }
    }
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
    world: &World,
    only: Option<Vec<String>>,
    started: impl FnOnce(Interrupter),
) -> Result<Engine, String> {
    let agents = launch.agents.clone();
    let injects = |wanted: &str| agents.iter().flat_map(|agent| agent.prepend).any(|one| one.name == wanted);
    let mut engine = Engine::new(launch).map_err(|error| error.to_string())?;
    let world = OpenWorld::below(engine.starter.run_dir(), world).map_err(|error| error.to_string())?;
    if let Some((name, _)) = world.variables().iter().find(|(name, _)| injects(name)) {
        return Err(format!("cannot change {name}: the agent of unflake is loaded through it"));
    }
    started(engine.interrupter());
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
        Some(WORLD_NOT_REACHED.to_owned())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_all_worlds_miss_is_said_once() {
        let mut worlds = Worlds::default();
        let note = |what: &str| Some(Event::Note(format!("{what} did not apply to every process: x is static")));
        assert_eq!(worlds.missed("random-seed=1", "x is static".into()), note("random-seed=1"));
        assert_eq!(worlds.missed("random-seed=2", "x is static".into()), None);
        assert!(worlds.missed("", "y is static".into()).is_some());
    }
}
