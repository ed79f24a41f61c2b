//! Other worlds. Variables, a preloaded shim and limits must hold before a runner starts, so sessions that are to run under
//! factors have, for each set of these, an executor of their own, in a thread of its own: one process that collects, and
//! a copy of it for each run. What it sees comes to us as letters.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use unflake_model::{Factor, Isolation, Observation, Placement, Session};
use unflake_worlds::World;

use crate::engine::{Engine, Interrupter, Launch};
use crate::events::Letter;

/// So many worlds stay for what comes next. Each is a process.
const KEPT: usize = 4;
/// Environments of a world are numbered from here on, so that no two worlds have the same number.
const NUMBERS: u32 = 1 << 16;
const NOT_REACHED: &str = "the runner is not reached by what would bring it about";

#[derive(Default)]
pub(crate) struct Worlds {
    waiting: VecDeque<Group>,
    /// The last used last.
    open: Vec<WorldEngine>,
    made: u32,
}

/// Sessions of one world.
struct Group {
    factors: Vec<Factor>,
    sessions: Vec<Session>,
    /// It wants the world to itself, from its beginning to its end: chance is drawn otherwise in every copy of a process.
    alone: bool,
}

struct WorldEngine {
    number: u32,
    factors: Vec<Factor>,
    orders: Sender<Vec<Session>>,
    interrupter: Option<Interrupter>,
    thread: JoinHandle<()>,
    busy: bool,
    /// It ends when it has nothing to do: it was made for one session, or is felt by others.
    passing: bool,
}

/// What a world has to tell.
pub(crate) enum News {
    Up(Interrupter),
    Seen(Vec<Observation>),
    /// It has nothing more to do.
    Idle,
}

impl Worlds {
    pub(crate) fn add(&mut self, session: Session) {
        let factors = session.under.clone().unwrap_or_default();
        let alone = session.place == Placement::Fresh(Isolation::Process);
        let session = Session { place: Placement::Fresh(Isolation::Fork), ..session };
        match self.waiting.iter_mut().find(|group| group.factors == factors && !alone && !group.alone) {
            Some(group) => group.sessions.push(session),
            None => self.waiting.push_back(Group { factors, sessions: vec![session], alone }),
        }
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.open.iter().all(|world| !world.busy)
    }

    fn busy(&self) -> impl Iterator<Item = &WorldEngine> {
        self.open.iter().filter(|world| world.busy)
    }

    fn world(&mut self, number: u32) -> Option<&mut WorldEngine> {
        self.open.iter_mut().find(|world| world.number == number)
    }

    pub(crate) fn interrupt(&self) {
        self.open.iter().filter_map(|world| world.interrupter.as_ref()).for_each(Interrupter::interrupt);
    }

    /// Ends what has nothing to do, but for the last used.
    fn tidy(&mut self, kept: usize) {
        let idle = self.open.iter().filter(|world| !world.busy && !world.passing).count();
        let mut spare = idle.saturating_sub(kept);
        let goes = |world: &mut WorldEngine| {
            let first = !world.busy && !world.passing && spare > 0;
            spare -= usize::from(first);
            first || !world.busy && world.passing
        };
        for world in self.open.extract_if(.., goes).collect::<Vec<_>>() {
            drop(world.orders);
            let _ = world.thread.join();
        }
    }

    pub(crate) fn close(&mut self) {
        self.open.iter_mut().for_each(|world| world.busy = false);
        self.tidy(0);
    }
}

/// Whether it would be felt in other worlds, or would feel them: nothing runs beside it.
fn is_felt(factors: &[Factor]) -> bool {
    factors.iter().any(|factor| matches!(factor, Factor::Load(_) | Factor::Beside(_)))
}

impl Engine {
    /// Whether what brings its world about has come into a process of it, where that is needed.
    fn is_reached(&self) -> bool {
        let Some(under) = &self.under else { return true };
        under.by_shim().next().is_none() || under.reached().is_some_and(|reached| reached.processes > 0)
    }

    /// Sends sessions that wait to their worlds, as many at once as fresh environments may run at once.
    pub(crate) fn dispatch_worlds(&mut self) {
        // Not before what they saw has been told: files that it names go with them.
        self.worlds.tidy(KEPT);
        while let Some(next) = self.worlds.waiting.front() {
            let felt = is_felt(&next.factors) || self.worlds.busy().any(|world| is_felt(&world.factors));
            let most = if felt { 1 } else { self.launch.jobs.max(1) };
            if self.worlds.busy().count() >= most {
                return;
            }
            let Some(Group { factors, sessions, alone }) = self.worlds.waiting.pop_front() else { return };
            let fits = |world: &WorldEngine| world.factors == factors && !world.passing && !alone;
            let at = self.worlds.open.iter().position(fits);
            let world = match at {
                Some(at) => self.worlds.open.remove(at),
                None => self.make_world(factors, &sessions, alone),
            };
            let sent = world.orders.send(sessions).is_ok();
            self.worlds.open.push(WorldEngine { busy: sent, ..world });
        }
    }

    fn make_world(&mut self, factors: Vec<Factor>, sessions: &[Session], alone: bool) -> WorldEngine {
        let beside = factors.iter().find_map(|factor| match factor {
            Factor::Beside(copies) => Some(*copies as usize),
            _ => None,
        });
        self.worlds.made += 1;
        let number = self.worlds.made;
        let launch = Launch {
            suite: false,
            jobs: beside.unwrap_or(1),
            time: self.until.map(|until| until.saturating_duration_since(Instant::now())),
            ..self.launch.clone()
        };
        let tests = sessions.iter().flat_map(|session| session.tests.iter().cloned()).collect();
        let only = self.files_of(&tests);
        let (orders, heard) = channel();
        let (to, under, shared) = (self.sender.clone(), factors.clone(), self.shared.clone());
        let thread = thread::spawn(move || {
            let tell = |news| drop(to.send(Letter::Elsewhere { world: number, news }));
            let up = |interrupter| tell(News::Up(interrupter));
            let exec = open(number, launch, shared, &under, only, up);
            live(exec, &under, &heard, &tell);
        });
        let passing = alone || is_felt(&factors);
        WorldEngine { number, factors, orders, interrupter: None, thread, busy: false, passing }
    }

    pub(crate) fn heard_from(&mut self, number: u32, news: News) {
        let stopped = self.stopped().is_some();
        match news {
            News::Up(interrupter) => {
                if stopped {
                    interrupter.interrupt();
                }
                if let Some(world) = self.worlds.world(number) {
                    world.interrupter = Some(interrupter);
                }
            }
            News::Seen(seen) => self.seen.extend(seen),
            News::Idle => {
                if let Some(world) = self.worlds.world(number) {
                    world.busy = false;
                }
            }
        }
    }

    /// Nothing more is begun in any world.
    pub(crate) fn abandon_worlds(&mut self, why: &str) {
        for session in std::mem::take(&mut self.worlds.waiting).into_iter().flat_map(|group| group.sessions) {
            let why = Some(why.to_owned());
            self.seen.push(Observation::SessionEnded { session: session.id, left: session.tests, why });
        }
    }
}

/// The life of one world, in its own thread.
fn live(mut exec: Result<Engine, String>, factors: &[Factor], orders: &Receiver<Vec<Session>>, tell: &impl Fn(News)) {
    while let Ok(sessions) = orders.recv() {
        match &mut exec {
            Ok(exec) if !exec.is_reached() => {
                // Whoever drives tests is outside: whether their processes come in is seen when they have run.
                let mut held = Vec::new();
                exec.run(sessions.iter().cloned().map(plain).collect(), &mut |seen| held.extend(seen.iter().cloned()));
                let reached = exec.is_reached();
                let told = match reached {
                    true => {
                        let under = sessions.iter().map(|session| under(session, factors));
                        under.chain(held.into_iter().filter(concerns_us)).collect()
                    }
                    false => sessions.into_iter().map(|session| left(session, NOT_REACHED)).collect(),
                };
                tell(News::Seen(told));
            }
            Ok(exec) => {
                tell(News::Seen(sessions.iter().map(|session| under(session, factors)).collect()));
                exec.run(sessions.into_iter().map(plain).collect(), &mut |seen| {
                    let told: Vec<_> = seen.iter().filter(|one| concerns_us(one)).cloned().collect();
                    if !told.is_empty() {
                        tell(News::Seen(told));
                    }
                });
            }
            Err(why) => tell(News::Seen(sessions.into_iter().map(|session| left(session, why)).collect())),
        }
        tell(News::Idle);
    }
    if let Ok(exec) = exec {
        let missed = exec.under.as_ref().and_then(World::reached).map_or(Vec::new(), |reached| reached.missed);
        exec.close(0, &mut |_| {});
        if let Some(missed) = missed.first() {
            let what = factors.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            tell(News::Seen(vec![Observation::Note(format!("not everything ran under {what}: {missed}"))]));
        }
    }
}

fn under(session: &Session, factors: &[Factor]) -> Observation {
    Observation::Under { session: session.id, factors: factors.to_vec() }
}

fn plain(session: Session) -> Session {
    Session { under: None, ..session }
}

fn left(session: Session, why: &str) -> Observation {
    Observation::SessionEnded { session: session.id, left: session.tests, why: Some(why.to_owned()) }
}

/// An executor whose runner is in its world and has listed its tests; load comes after that, which makes them no slower to find. An error says in words why there is none.
fn open(
    number: u32,
    launch: Launch,
    shared: PathBuf,
    factors: &[Factor],
    only: Option<Vec<String>>,
    up: impl FnOnce(Interrupter),
) -> Result<Engine, String> {
    let is_ours = |wanted: &str| launch.agents.iter().flat_map(|agent| agent.prepend).any(|one| one.name == wanted);
    let ours = |factor: &&Factor| matches!(factor, Factor::Variable { name, .. } if is_ours(name));
    if let Some(factor) = factors.iter().find(ours) {
        return Err(format!("cannot set {factor}: unflake comes into the runner by it"));
    }
    // What whoever runs tests carries out, the rest of the world need not know.
    let of_tests = |factor: &&Factor| matches!(factor, Factor::Order(_) | Factor::Beside(_));
    let of_process: Vec<Factor> = factors.iter().filter(|factor| !of_tests(factor)).cloned().collect();
    let mut exec = Engine::new(launch).map_err(|error| error.to_string())?;
    let under = World::below(exec.directory.path(), &of_process).map_err(|cannot| cannot.to_string())?;
    up(exec.interrupter());
    exec.next_environment = number.saturating_mul(NUMBERS);
    exec.under = Some(under);
    exec.shared = shared;
    let mut problem = None;
    let listed = exec.list_only(only, &mut |seen| {
        for one in seen {
            if let Observation::Problem(told) = one {
                problem.get_or_insert_with(|| told.text.lines().next().unwrap_or_default().to_owned());
            }
        }
    });
    if !listed {
        let stopped = exec.stopped().map(str::to_owned);
        exec.close(0, &mut |_| {});
        return Err(stopped.or(problem).unwrap_or_else(|| "the runner did not list its tests there".to_owned()));
    }
    if exec.launch.driver.is_none() && !exec.is_reached() {
        exec.close(0, &mut |_| {});
        return Err(NOT_REACHED.to_owned());
    }
    if let Some(Err(cannot)) = exec.under.as_mut().map(World::load) {
        exec.close(0, &mut |_| {});
        return Err(cannot.to_string());
    }
    Ok(exec)
}

/// Where something starts and what it listed there is no matter of the run's own.
fn concerns_us(observation: &Observation) -> bool {
    !matches!(
        observation,
        Observation::EnvironmentUp(_) | Observation::Listed { .. } | Observation::Problem(_) | Observation::Note(_)
    )
}
