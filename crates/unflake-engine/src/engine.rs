//! The executor: what the outside sees of it, and what it holds.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};

use unflake_model::{Death, Granularity, Layer, Observation, Placement, Problem, ProblemKind, Session, TestId};
use unflake_protocol::variables::{DOOR, SHARED};
use unflake_protocol::{InjectedAgent, Order};
use unflake_worlds::World;

use crate::active_session::Work;
use crate::assertions::Assertions;
use crate::environment::{Environment, Listing, Role, Root, State};
use crate::events::{self, Letter};
use crate::fork_tree::prefix::{self, Past};
use crate::fork_tree::tree::Tree;
use crate::injection::{self, Injection, LaidOutAgent};
use crate::project_files::isolation::{Guard, Window};
use crate::run_dir::{SOCKET, Scratch};
use crate::runner_output::Output;
use crate::supervisor::Kept;
use crate::worlds::Worlds;

/// Why tests are left when the person at the keyboard ended the run.
const STOPPED_BY_YOU: &str = "you stopped the run";
const TIME_OVER: &str = "the time was over";

/// How long copies may take to leave before a session that is to be alone.
const COPIES_LEAVE: Duration = Duration::from_secs(1);
/// How long helpers may take to leave at the end.
const HELPERS_LEAVE: Duration = Duration::from_secs(5);

/// How to start the user's runner, and what to allow it.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The user's own command.
    pub command: Vec<String>,
    /// The command that leads to an agent which starts the user's tests itself, to which the user's command is added.
    /// None: the user's command is started, and an agent is brought into it.
    pub driver: Option<Vec<String>>,
    /// Agents that are offered to the user's command through environment variables.
    pub agents: Vec<InjectedAgent>,
    /// Names of caches and build directories: their content is not kept and put back.
    pub caches: Vec<&'static str>,
    /// What to tell the user when no agent connects.
    pub no_runner_hint: String,
    /// The command that leads to [`crate::keep`], to which arguments are added.
    pub keeper: Vec<String>,
    /// Where agents may be laid out for good.
    pub cache: Option<PathBuf>,
    /// Whether the user's runner is there to run the suite and to write its reports. Otherwise no test ever runs in the process
    /// that lists them, and it is copied for those that do.
    pub suite: bool,
    /// Whether, and with what, the order in which tests run through their code is to be recorded.
    pub traced: Option<Tracing>,
    /// At which layers it is to be told what attempts look like, beside their verdict.
    pub layers: Vec<Layer>,
    /// Whether assertions are to be told, so that some of them may be let fail.
    pub filter: bool,
    /// Whether what tests depend on is to be told from the first pass on.
    pub depends: Option<Granularity>,
    /// Where to start it. None: where unflake was started.
    pub directory: Option<PathBuf>,
    /// How many fresh environments may run at once.
    pub jobs: usize,
    /// How long one attempt may take.
    pub timeout: Option<Duration>,
    /// How long sessions may run, all together. What is under way then is cut short, and no attempt is made of it.
    pub time: Option<Duration>,
    /// How many characters of one text to keep.
    pub output_limit: usize,
}

/// What a trace is to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tracing {
    Lines,
    /// With the values that lines come by, where the agent can see them.
    Values,
}

impl Tracing {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Lines => "lines",
            Self::Values => "values",
        }
    }
}

/// unflake itself could not set up what it needs.
#[derive(Debug)]
pub struct StartError {
    what: String,
    why: io::Error,
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "could not {}: {}", self.what, self.why)
    }
}

impl std::error::Error for StartError {}

/// Tells a running executor to stop. Can be used from any thread.
#[derive(Clone)]
pub struct Interrupter(Sender<Letter>);

impl Interrupter {
    /// The first time: let the runner stop as Ctrl-C would. The second time: at once.
    pub fn interrupt(&self) {
        let _ = self.0.send(Letter::Interrupt);
    }
}

/// How the user's runner ended.
#[derive(Debug, PartialEq, Eq)]
pub struct RunnerExit {
    /// None when its process died before it was told to end, or had to be ended.
    pub end: Option<Death>,
    /// What it printed itself, shortened in the middle.
    pub output: String,
}

/// Runs sessions. Everything that it starts ends with it.
pub struct Engine {
    pub(crate) launch: Launch,
    pub(crate) agents: Vec<LaidOutAgent>,
    pub(crate) directory: Scratch,
    pub(crate) sender: Sender<Letter>,
    pub(crate) letters: Receiver<Letter>,
    pub(crate) environments: BTreeMap<u32, Environment>,
    pub(crate) next_environment: u32,
    /// The environment in which `Placement::Live` sessions run.
    pub(crate) live: Option<u32>,
    pub(crate) nursery: Option<u32>,
    /// Why no nursery can be had.
    pub(crate) no_nursery: Option<String>,
    /// The tests for which the nursery was made.
    pub(crate) nursery_tests: BTreeSet<TestId>,
    /// A nursery that collected some files only did not do; the next collects everything.
    pub(crate) whole_nursery: bool,
    pub(crate) suite: Rc<Listing>,
    pub(crate) suite_output: Output,
    pub(crate) suite_exit: Option<Death>,
    pub(crate) tree: Tree,
    pub(crate) guard: Guard,
    pub(crate) assertions: Assertions,
    pub(crate) worlds: Worlds,
    /// The world in which runners are started. None: ours.
    pub(crate) under: Option<World>,
    /// A directory that the executors of all worlds have in common: that of the first of them.
    pub(crate) shared: PathBuf,
    pub(crate) waiting: VecDeque<Work>,
    pub(crate) works: Vec<Placed>,
    pub(crate) interrupts: u32,
    pub(crate) interrupted_at: Option<Instant>,
    /// When the time is over, once something runs; and whether it is.
    pub(crate) until: Option<Instant>,
    pub(crate) time_over: bool,
    /// What has been seen in this turn and not been told yet.
    pub(crate) seen: Vec<Observation>,
    pub(crate) problems: usize,
    /// One whose runner has ended. It leaves after `directory`, which is declared before it and so goes first.
    pub(crate) last_keeper: Option<Kept>,
}

/// A session under way and the environment in which it is, or for which it waits.
pub(crate) struct Placed {
    pub(crate) work: Work,
    pub(crate) environment: Option<u32>,
    /// How many processes have been started for it alone.
    pub(crate) processes: u32,
    /// Since its first order, where files are looked after for it.
    pub(crate) window: Option<Window>,
}

/// Called with what has been seen since the last call, possibly nothing, at least ten times a second.
pub(crate) type Tell<'a> = &'a mut dyn FnMut(&[Observation]);

impl Engine {
    pub fn new(launch: Launch) -> Result<Self, StartError> {
        let failed = |what: &str| {
            let what = what.to_owned();
            move |why| StartError { what, why }
        };
        let directory = Scratch::new().map_err(failed("make a temporary directory"))?;
        let (sender, letters) = events::open(&directory.path().join(SOCKET)).map_err(failed("open a socket"))?;
        let unpack = |agent| injection::unpack(agent, launch.cache.as_deref(), directory.path());
        let agents = launch.agents.iter().map(unpack).collect::<Result<_, _>>();
        let agents = agents.map_err(failed("lay out the agent for the runner"))?;
        Ok(Self {
            launch,
            agents,
            shared: directory.path().to_owned(),
            directory,
            sender,
            letters,
            environments: BTreeMap::new(),
            next_environment: 0,
            live: None,
            nursery: None,
            no_nursery: None,
            nursery_tests: BTreeSet::new(),
            whole_nursery: false,
            suite: Rc::default(),
            suite_output: Output::default(),
            suite_exit: None,
            tree: Tree::default(),
            guard: Guard::default(),
            assertions: Assertions::default(),
            worlds: Worlds::default(),
            under: None,
            waiting: VecDeque::new(),
            works: Vec::new(),
            interrupts: 0,
            interrupted_at: None,
            until: None,
            time_over: false,
            seen: Vec::new(),
            problems: 0,
            last_keeper: None,
        })
    }

    pub fn interrupter(&self) -> Interrupter {
        Interrupter(self.sender.clone())
    }

    /// How the user's runner is started.
    pub fn launch(&self) -> &Launch {
        &self.launch
    }

    /// The directory that names of tests are relative to, once they have been listed.
    pub fn root(&self) -> Option<&Path> {
        Some(Path::new(&self.suite.root)).filter(|root| !root.as_os_str().is_empty())
    }

    /// Why fresh environments cannot be forks, where they cannot.
    pub fn unforkable(&self) -> Option<&str> {
        self.suite.unforkable.as_deref()
    }

    /// Whether tests run in processes of their own.
    pub fn is_isolated(&self) -> bool {
        self.suite.isolated
    }

    pub fn was_interrupted(&self) -> bool {
        self.interrupts > 0
    }

    /// Whether sessions were cut short because there was no more time.
    pub fn is_time_over(&self) -> bool {
        self.time_over
    }

    /// Why nothing is begun any more, and what runs is not waited for.
    pub(crate) fn stopped(&self) -> Option<&'static str> {
        match () {
            () if self.interrupts > 0 => Some(STOPPED_BY_YOU),
            () if self.time_over => Some(TIME_OVER),
            () => None,
        }
    }

    /// Starts the user's command and waits for its tests. False when there is none to run them; what was seen says why.
    pub fn list(&mut self, tell: Tell<'_>) -> bool {
        self.list_only(None, tell)
    }

    /// The same of some files only.
    pub(crate) fn list_only(&mut self, only: Option<Vec<String>>, tell: Tell<'_>) -> bool {
        let id = match self.start_root(Role::Suite, only, self.launch.depends) {
            Ok(id) => id,
            Err(error) => {
                self.cannot_start(&error.to_string(), "");
                self.flush(tell);
                return false;
            }
        };
        self.live = Some(id);
        loop {
            match self.environments.get(&id).map(|environment| environment.state) {
                Some(State::Starting) => {}
                Some(State::Ready) => break,
                _ => {
                    self.flush(tell);
                    return false;
                }
            }
            self.turn(tell);
        }
        self.suite = self.environments[&id].listing.clone();
        if !self.launch.suite && !self.suite.isolated {
            (self.live, self.nursery) = (None, Some(id));
        }
        let Listing { tests, deselected, isolated, .. } = &*self.suite;
        let listed = Observation::Listed { tests: tests.clone(), deselected: *deselected, isolated: *isolated };
        self.seen.push(listed);
        self.flush(tell);
        true
    }

    /// Runs these sessions, fresh ones side by side, and returns when all have ended.
    pub fn run(&mut self, sessions: Vec<Session>, tell: Tell<'_>) {
        if sessions.len() == 1 {
            self.let_the_others_end(tell);
        }
        self.until = self.until.or_else(|| Some(Instant::now() + self.launch.time?));
        let (elsewhere, sessions): (Vec<_>, Vec<_>) = sessions.into_iter().partition(|session| session.under.is_some());
        elsewhere.into_iter().for_each(|session| self.worlds.add(session));
        let stateful = !self.suite.isolated;
        let work = |session: Session| {
            let stays = session.place == Placement::Live;
            Work::new(session, stateful && !stays)
        };
        let sessions = if stateful { prefix::depth_first(sessions) } else { sessions };
        self.waiting = sessions.into_iter().map(work).collect();
        self.tree.open_dead_ends();
        loop {
            self.dispatch();
            if self.waiting.is_empty() && self.works.is_empty() && self.worlds.is_idle() {
                self.flush(tell);
                return;
            }
            self.turn(tell);
        }
    }

    /// Whoever asks for a single session wants nobody beside it, and copies that are about to leave may still hold what it needs.
    fn let_the_others_end(&mut self, tell: Tell<'_>) {
        let since = Instant::now();
        let leaving = |one: &Environment| one.parent.is_some() && one.state == State::Ending;
        while since.elapsed() < COPIES_LEAVE && self.environments.values().any(leaving) {
            self.turn(tell);
        }
    }

    /// Ends every environment. `failed` is how many tests count as failed after all: the runner's exit code is made from
    /// it, so that what it says beyond that can be heard.
    pub fn close(mut self, failed: u32, tell: Tell<'_>) -> RunnerExit {
        self.worlds.close();
        for environment in self.environments.values_mut() {
            let failed = (environment.role == Role::Suite).then_some(failed);
            environment.state = State::Ending;
            if self.interrupts > 1 || environment.order(&Order::End { failed }).is_err() {
                environment.kill();
            }
        }
        let told = Instant::now();
        while self.environments.values().any(|environment| environment.root.is_some()) {
            self.turn(tell);
            self.hurry(told);
        }
        self.tell_of_files();
        self.flush(tell);
        RunnerExit { end: self.suite_exit, output: self.suite_output.text() }
    }

    /// Ends what has been told to end and does not. A helper has nothing more to do; the user's own runner may have reports
    /// to write, and has as much time for that as for one attempt.
    fn hurry(&mut self, told: Instant) {
        let limit = |role| if role == Role::Suite { self.launch.timeout } else { Some(HELPERS_LEAVE) };
        let slow = |environment: &&mut Environment| {
            environment.state == State::Ending && limit(environment.role).is_some_and(|limit| told.elapsed() > limit)
        };
        for environment in self.environments.values_mut().filter(slow) {
            // Killed once; how it ended is heard in one of the next turns.
            environment.state = State::Ready;
            environment.kill();
            if environment.role == Role::Suite {
                let text = "the runner did not end after its last test within the time limit, and was ended".to_owned();
                self.seen.push(Observation::Problem(Problem { kind: ProblemKind::Internal, place: None, text }));
            }
        }
    }

    /// Starts the user's command with an agent inside. `only` narrows collection to some files; `depends`: it is to tell what
    /// attempts depend on.
    pub(crate) fn start_root(
        &mut self,
        role: Role,
        only: Option<Vec<String>>,
        depends: Option<Granularity>,
    ) -> io::Result<u32> {
        let id = self.new_id();
        let narrowed = only.is_some();
        let only = match only {
            Some(files) => {
                let path = self.directory.path().join(format!("only-{id}"));
                std::fs::write(&path, serde_json::to_vec(&files)?)?;
                Some(path)
            }
            None => None,
        };
        let mut variables = Injection {
            agents: &self.agents,
            socket: &self.directory.path().join(SOCKET),
            side: self.directory.path(),
            environment: id,
            reports: role == Role::Suite && self.launch.suite,
            output_limit: self.launch.output_limit,
            only: only.as_deref(),
            traced: self.launch.traced,
            layers: &self.launch.layers,
            filter: self.launch.filter,
            cache: self.launch.cache.as_deref(),
            depends,
        }
        .variables();
        let mut door = self.under.as_ref().map(World::spawn_spec);
        if self.launch.driver.is_some() {
            if !self.launch.suite {
                variables.push((SHARED.to_owned(), self.shared.to_string_lossy().into_owned()));
            }
            // A driver is one of us, and stays outside: it lists as ever, and sends the project's processes in.
            if let Some(door) = door.take() {
                variables.push((DOOR.to_owned(), serde_json::to_string(&door)?));
            }
        }
        let driver = self.launch.driver.iter().flatten();
        let command: Vec<String> = driver.chain(&self.launch.command).cloned().collect();
        let (pipe, output) = Output::pipe()?;
        let ended = self.sender.clone();
        let kept = Kept::start(
            &self.launch,
            self.directory.path(),
            &command,
            &variables,
            door.as_ref(),
            (pipe.try_clone()?, pipe),
            move |how| drop(ended.send(Letter::Ended { environment: id, how })),
        )?;
        if role == Role::Suite {
            self.suite_output = output.clone();
        }
        self.add(id, role, Some(Root { kept, output, narrowed, depends }), None, Rc::default());
        Ok(id)
    }

    pub(crate) fn new_id(&mut self) -> u32 {
        self.next_environment += 1;
        self.next_environment - 1
    }

    pub(crate) fn add(&mut self, id: u32, role: Role, root: Option<Root>, parent: Option<u32>, listing: Rc<Listing>) {
        let environment = Environment {
            id,
            role,
            root,
            parent,
            connection: None,
            pid: None,
            stack_signal: None,
            listing,
            state: State::Starting,
            since: Instant::now(),
            attempts: 0,
            past: Past::FRESH,
            left: None,
            asked: None,
            nursery: parent,
            processes: HashMap::new(),
            connections: 0,
            held: Vec::new(),
            holding: None,
            announced: false,
            gathering: Vec::new(),
            lost: None,
            reaping: None,
            ended: None,
        };
        self.environments.insert(id, environment);
    }

    /// The runner could not be brought to list its tests.
    pub(crate) fn cannot_start(&mut self, why: &str, output: &str) {
        let output = output.trim_end();
        let text = if output.is_empty() { why.to_owned() } else { format!("{why}\n{output}") };
        self.problem(Problem { kind: ProblemKind::Start, place: None, text });
    }

    pub(crate) fn problem(&mut self, problem: Problem) {
        self.problems += 1;
        self.seen.push(Observation::Problem(problem));
    }

    pub(crate) fn flush(&mut self, tell: Tell<'_>) {
        self.guard.hold_back(&mut self.seen);
        tell(&self.seen);
        self.seen.clear();
    }
}
