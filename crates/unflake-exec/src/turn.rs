//! One turn of the executor: take what has come in, look at the clocks, tell what was seen.

use std::fs;
use std::rc::Rc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use unflake_model::{
    Attempt, Death, Environment as Facts, EnvironmentId, Failure, Observation, Outcome, Phase, Problem, ProblemKind,
    Test, TestId, Timestamp,
};
use unflake_protocol::{self as wire, Event, Hello, Order};

use crate::environment::{Environment, Listing, Role, State};
use crate::exec::{Exec, STOPPED_BY_YOU, Tell};
use crate::inbox::Letter;
use crate::keeper::is_alive;
use crate::work::{Current, Overdue};

/// The display wants to hear from us this often.
const BEAT: Duration = Duration::from_millis(100);
/// How often to look whether a process that went silent has died.
const WATCH: Duration = Duration::from_millis(2);
/// How long a process may take to write its stacks.
const STACK: Duration = Duration::from_millis(250);
/// How long to wait for the last words of a process that has ended, or for word of how it ended.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// How long a copy may take to say that it is there: as long as one attempt, within these bounds.
const BIRTH: Duration = Duration::from_secs(20);
const LEAST_BIRTH: Duration = Duration::from_secs(2);
/// How long a runner may take to stop after Ctrl-C.
const GRACE: Duration = Duration::from_secs(5);
/// More letters than this are left for the next turn, so that the display does not freeze.
const LETTERS: usize = 500;

impl Exec {
    pub(crate) fn turn(&mut self, tell: Tell<'_>) {
        if let Ok(letter) = self.letters.recv_timeout(self.patience()) {
            self.open(letter);
            for _ in 1..LETTERS {
                match self.letters.try_recv() {
                    Ok(letter) => self.open(letter),
                    Err(_) => break,
                }
            }
        }
        self.look_at_clocks(Instant::now());
        self.flush(tell);
    }

    fn patience(&self) -> Duration {
        let watching = |one: &Environment| one.lost.is_some() || one.ended.is_some() || one.holding.is_some();
        if self.environments.values().any(watching) { WATCH } else { BEAT }
    }

    fn open(&mut self, letter: Letter) {
        match letter {
            Letter::Connected { hello, connection, stream } => self.connected(hello, connection, stream),
            Letter::Said { environment: id, connection, .. }
            | Letter::Garbled { environment: id, connection, .. }
            | Letter::Closed { environment: id, connection } => {
                let Some(environment) = self.environments.get_mut(&id) else { return };
                if environment.hears(connection) {
                    self.hear(letter);
                } else if environment.awaits(connection) {
                    environment.hold(letter);
                }
            }
            Letter::Ended { environment: id, how } => {
                if let Err(why) = &how
                    && let Some(role) = self.environments.get(&id).map(|environment| environment.role)
                    && role == Role::Suite
                {
                    let program = self.launch.command.first().cloned().unwrap_or_default();
                    self.cannot_start(&format!("`{program}` could not be started: {why}"), "");
                }
                if let Some(environment) = self.environments.get_mut(&id) {
                    if how.is_err() {
                        environment.lost = Some(Instant::now());
                    }
                    environment.ended = Some((how.unwrap_or(Death::Unknown), Instant::now()));
                }
            }
            Letter::Interrupt => self.interrupt(),
        }
    }

    /// What came on the connection of an environment that is being heard.
    fn hear(&mut self, letter: Letter) {
        match letter {
            Letter::Said { environment, event, .. } => self.said(environment, event),
            Letter::Garbled { environment, error, .. } => {
                let what = format!("environment {environment} sent {error}; it is ignored");
                self.seen.push(Observation::Note(what));
            }
            Letter::Closed { environment: id, .. } => {
                if let Some(environment) = self.environments.get_mut(&id) {
                    environment.connection = None;
                    environment.lost = Some(Instant::now());
                }
                self.open_held(id);
            }
            Letter::Connected { .. } | Letter::Ended { .. } | Letter::Interrupt => {}
        }
    }

    /// Connections are read side by side, so what was said on a later one may be here first. It is heard when the
    /// earlier one has been heard to its end.
    fn open_held(&mut self, id: u32) {
        let Some(environment) = self.environments.get_mut(&id) else { return };
        environment.holding = None;
        for letter in std::mem::take(&mut environment.held) {
            self.open(letter);
        }
    }

    fn connected(&mut self, hello: Hello, connection: u64, stream: std::os::unix::net::UnixStream) {
        let Some(environment) = self.environments.get_mut(&hello.environment) else { return };
        if hello.protocol != wire::VERSION {
            let text = format!(
                "the agent speaks version {} of the protocol and this unflake version {}",
                hello.protocol,
                wire::VERSION
            );
            environment.kill();
            return self.problem(Problem { kind: ProblemKind::Internal, place: None, text });
        }
        if environment.pid.is_some_and(|pid| pid != hello.pid) && environment.parent.is_none() {
            let mut stream = stream;
            let _ = std::io::Write::write_all(&mut stream, &wire::to_line(&Order::End { failed: None }));
            let text = "the command starts a runner more than once; unflake looks at one at a time".to_owned();
            return self.problem(Problem { kind: ProblemKind::Usage, place: None, text });
        }
        if environment.connection.is_some() || hello.connection > environment.connections {
            return environment.hold(Letter::Connected { hello, connection, stream });
        }
        let _ = stream.set_write_timeout(Some(Duration::from_secs(20)));
        environment.connections = hello.connection.saturating_add(1);
        environment.connection = Some((connection, stream));
        environment.lost = None;
        environment.pid = Some(hello.pid);
        environment.stack_signal = hello.stack_signal;
        if environment.parent.is_some() {
            if environment.state == State::Starting {
                environment.state = State::Ready;
            }
        } else if environment.state == State::Starting {
            environment.listing = Rc::new(Listing { root: hello.root, ..Listing::default() });
        }
        if !std::mem::replace(&mut environment.announced, true) {
            let facts = Facts {
                id: EnvironmentId(environment.id),
                origin: environment.origin(),
                parent: environment.parent.map(EnvironmentId),
                runner: hello.runner,
                language: hello.language,
            };
            self.seen.push(Observation::EnvironmentUp(facts));
        }
    }

    fn said(&mut self, id: u32, event: Event) {
        match event {
            Event::Hello(_) => {}
            Event::Note { text } => {
                if self.environments.get(&id).is_some_and(|environment| environment.role == Role::Suite) {
                    self.seen.push(Observation::Note(text));
                }
            }
            Event::Problem { kind, place, text } => self.said_problem(id, kind, place, text),
            Event::Listed { tests } => {
                if let Some(environment) = self.environments.get_mut(&id) {
                    let test = |listed: wire::Listed| Test {
                        id: TestId::new(listed.id),
                        file: listed.file.map(Into::into),
                        line: listed.line,
                    };
                    environment.gathering.extend(tests.into_iter().map(test));
                }
            }
            Event::Ready { deselected, unforkable, .. } => {
                if let Some(environment) = self.environments.get_mut(&id) {
                    let tests = std::mem::take(&mut environment.gathering);
                    let root = environment.listing.root.clone();
                    environment.listing = Rc::new(Listing::new(tests, deselected, unforkable, root));
                    environment.state = State::Ready;
                }
            }
            Event::Start { n, run } => self.started(id, n, run),
            Event::Done { n, outcome, seconds, failure, stdout, stderr, .. } => {
                let failure = failure.map(|failure| Failure {
                    phase: match failure.phase {
                        wire::Phase::SetUp => Phase::SetUp,
                        wire::Phase::Call => Phase::Call,
                        wire::Phase::TearDown => Phase::TearDown,
                        wire::Phase::SharedTearDown => Phase::SharedTearDown,
                    },
                    kind: failure.kind,
                    message: failure.message,
                    trace: failure.trace,
                    file: failure.file,
                    line: failure.line,
                });
                if self.is_current(id, n) {
                    self.done(id, outcome_of(outcome), seconds, failure, stdout, stderr);
                }
            }
            Event::Stopped { why, .. } => {
                if let Some(at) = self.work_in(id) {
                    self.works[at].work.stop(why);
                }
            }
            Event::Idle => self.idle(id),
            Event::Forked { environment, pid } => {
                if let Some(child) = self.environments.get_mut(&environment) {
                    child.pid = Some(pid);
                }
            }
            Event::Unforkable { environment, why } => {
                self.environments.remove(&environment);
                self.seen.push(Observation::Note(format!("fresh environments are new processes: {why}")));
                self.no_nursery = Some(why);
                if let Some(at) = self.work_in(environment) {
                    self.works[at].environment = None;
                }
            }
            Event::Reaped { environment, signal, exit } => {
                let death = match (signal, exit) {
                    (Some(signal), _) => Death::Signal(signal),
                    (_, Some(code)) => Death::Exit(code),
                    _ => Death::Unknown,
                };
                self.bury(environment, death);
            }
            Event::Bye => {
                if let Some(environment) = self.environments.get_mut(&id) {
                    environment.state = State::Ending;
                }
            }
        }
    }

    /// Only the user's own command is judged; a helper process that cannot collect is replaced by other means.
    fn said_problem(&mut self, id: u32, kind: wire::ProblemKind, place: Option<String>, text: String) {
        if self.environments.get(&id).is_some_and(|environment| environment.role == Role::Suite) {
            let kind = match kind {
                wire::ProblemKind::Collection => ProblemKind::Collection,
                wire::ProblemKind::Usage => ProblemKind::Usage,
                wire::ProblemKind::Internal => ProblemKind::Internal,
            };
            self.problem(Problem { kind, place, text });
        }
    }

    fn work_in(&self, environment: u32) -> Option<usize> {
        self.works.iter().position(|placed| placed.environment == Some(environment))
    }

    /// Whether it is this test that runs there now. An answer is never taken for another test's.
    fn is_current(&self, id: u32, n: u32) -> bool {
        let running = self.work_in(id).and_then(|at| self.works[at].work.current.as_ref());
        let named = self.environments.get(&id).and_then(|one| one.listing.tests.get(n as usize));
        running.zip(named).is_some_and(|(current, test)| current.test == test.id)
    }

    fn started(&mut self, id: u32, n: u32, run: u32) {
        let Some(at) = self.work_in(id) else { return };
        let Some(environment) = self.environments.get(&id) else { return };
        let Some(test) = environment.listing.tests.get(n as usize).map(|test| test.id.clone()) else { return };
        let work = &mut self.works[at].work;
        let run = work.begin(test.clone(), run, Instant::now(), now()).run;
        let session = work.session.id;
        self.seen.push(Observation::Started { session, environment: EnvironmentId(id), test, run });
    }

    fn done(
        &mut self,
        id: u32,
        outcome: Outcome,
        seconds: f64,
        failure: Option<Failure>,
        stdout: String,
        stderr: String,
    ) {
        let Some(at) = self.work_in(id) else { return };
        let Some(current) = self.works[at].work.current.take() else { return };
        // What Ctrl-C did to the test in flight says nothing about the test.
        if self.interrupts > 0 {
            return self.works[at].work.disregard(current);
        }
        self.attempted(at, id, current, outcome, seconds, failure, stdout, stderr);
    }

    #[allow(clippy::too_many_arguments)]
    fn attempted(
        &mut self,
        at: usize,
        id: u32,
        current: Current,
        outcome: Outcome,
        seconds: f64,
        failure: Option<Failure>,
        stdout: String,
        stderr: String,
    ) {
        let Some(environment) = self.environments.get_mut(&id) else { return };
        let session = &self.works[at].work.session;
        self.seen.push(Observation::Attempted(Attempt {
            test: current.test,
            session: session.id,
            purpose: session.purpose,
            environment: EnvironmentId(id),
            origin: environment.origin(),
            position: environment.attempts,
            run: current.run,
            outcome,
            started: current.started,
            seconds,
            failure,
            stdout,
            stderr,
        }));
        environment.attempts += 1;
    }

    fn idle(&mut self, id: u32) {
        if let Some(environment) = self.environments.get_mut(&id) {
            environment.state = State::Ready;
        }
        if let Some(at) = self.work_in(id)
            && (self.works[at].work.is_stopped() || self.works[at].work.is_over() || self.interrupts > 0)
        {
            self.finish(at);
        }
    }

    fn look_at_clocks(&mut self, now: Instant) {
        self.look_at_time_limits(now);
        self.look_at_held(now);
        self.look_at_births(now);
        let mut buried = Vec::new();
        let mut to_reap = Vec::new();
        for environment in self.environments.values_mut() {
            let id = environment.id;
            if let Some((death, since)) = environment.ended {
                // One that never connected may have, and its words are on their way.
                if environment.lost.is_some() || now - since > LAST_WORDS {
                    buried.push((id, death));
                }
                continue;
            }
            let Some(pid) = environment.pid else { continue };
            if environment.root.is_some() {
                // Its keeper will tell, unless the user's command goes on without its runner.
                if environment.lost.is_some_and(|since| now - since > LAST_WORDS) && !is_alive(pid) {
                    environment.kill();
                    environment.lost = Some(now);
                }
            } else if environment.reaping.is_some_and(|since| now - since > LAST_WORDS) {
                buried.push((id, Death::Unknown));
            } else if environment.reaping.is_none() && environment.is_silent() && !is_alive(pid) {
                environment.reaping = Some(now);
                to_reap.push((id, environment.parent));
            }
        }
        for (id, parent) in to_reap {
            let asked = parent
                .and_then(|parent| self.environments.get_mut(&parent))
                .is_some_and(|parent| parent.order(&Order::Reap { environment: id }).is_ok());
            if !asked {
                buried.push((id, Death::Unknown));
            }
        }
        for (id, death) in buried {
            self.bury(id, death);
        }
        if self.interrupted_at.is_some_and(|since| now - since > GRACE) {
            self.interrupted_at = Some(now);
            self.environments.values_mut().for_each(|environment| environment.kill());
        }
    }

    /// A copy that does not come up hangs in what the project does after a fork, or in a lock that a thread held. It is
    /// given up, and no more copies are made.
    fn look_at_births(&mut self, now: Instant) {
        let limit = self.launch.timeout.map_or(BIRTH, |limit| limit.clamp(LEAST_BIRTH, BIRTH));
        let late = |one: &&Environment| {
            one.parent.is_some() && one.state == State::Starting && one.reaping.is_none() && now - one.since > limit
        };
        let late: Vec<u32> = self.environments.values().filter(late).map(|one| one.id).collect();
        for id in late {
            if let Some(mut copy) = self.environments.remove(&id) {
                copy.kill();
            }
            if let Some(at) = self.work_in(id) {
                self.works[at].environment = None;
            }
            let why = "a copy of the runner's process did not come up".to_owned();
            self.seen
                .push(Observation::Note(format!("fresh environments are new processes, which takes longer: {why}")));
            self.no_nursery = Some(why);
        }
    }

    /// A connection that a test gave on to another process does not close. Nothing more is said on it.
    fn look_at_held(&mut self, now: Instant) {
        let late = |one: &&Environment| one.holding.is_some_and(|since| now - since > LAST_WORDS);
        let late: Vec<u32> = self.environments.values().filter(late).map(|one| one.id).collect();
        for id in late {
            if let Some(environment) = self.environments.get_mut(&id) {
                environment.connection = None;
                environment.connections = u32::MAX;
            }
            self.open_held(id);
        }
    }

    fn look_at_time_limits(&mut self, now: Instant) {
        let Some(limit) = self.launch.timeout else { return };
        for placed in &mut self.works {
            let Some(current) = &mut placed.work.current else { continue };
            let Some(environment) = placed.environment.and_then(|id| self.environments.get_mut(&id)) else { continue };
            match &mut current.overdue {
                None if now - current.began > limit => {
                    environment.ask_for_stack();
                    current.overdue = Some(Overdue { since: now, killed: false, stack: String::new() });
                }
                Some(overdue) if !overdue.killed && now - overdue.since > STACK => {
                    overdue.stack = stack(self.directory.path(), environment.id, self.launch.output_limit);
                    overdue.killed = true;
                    environment.kill();
                }
                _ => {}
            }
        }
    }

    /// An environment has ended. A test that was running in it has crashed or run out of time; the rest of its session
    /// goes on elsewhere.
    fn bury(&mut self, id: u32, death: Death) {
        let Some(environment) = self.environments.get(&id) else { return };
        let (role, state) = (environment.role, environment.state);
        if let Some(at) = self.work_in(id) {
            self.works[at].environment = None;
            let work = &mut self.works[at].work;
            if self.interrupts > 0 {
                if let Some(current) = work.current.take() {
                    work.disregard(current);
                }
                self.give_up(at, STOPPED_BY_YOU.to_owned());
            } else {
                if let Some(current) = work.environment_died() {
                    self.died_in_test(at, id, current, death);
                }
                if self.works[at].work.is_hopeless() {
                    self.give_up(at, "its environment kept ending before it began".to_owned());
                } else if self.works[at].work.is_over() {
                    self.finish(at);
                }
            }
        }
        let Some(environment) = self.environments.remove(&id) else { return };
        let output = environment.root.as_ref().map(|root| root.output.clone());
        let narrowed = environment.root.as_ref().is_some_and(|root| root.narrowed);
        drop(environment);
        if self.live == Some(id) {
            self.live = None;
        }
        if role == Role::Suite {
            self.suite_exit = Some(death);
            if state == State::Starting && self.problems == 0 && self.interrupts == 0 {
                let text = output.map(|output| output.settled_text()).unwrap_or_default();
                self.cannot_start(&format!("the runner ended before it had listed its tests ({death})"), &text);
            }
        }
        self.orphan_unborn(id);
        if self.nursery == Some(id) {
            self.nursery = None;
            match (state, narrowed) {
                (State::Starting, true) => self.whole_nursery = true,
                (State::Starting, false) => self.no_nursery = Some("the runner did not start a second time".to_owned()),
                _ => {}
            }
        }
    }

    /// Copies that an environment was to make, and will not any more.
    fn orphan_unborn(&mut self, parent: u32) {
        let unborn = |child: &Environment| child.parent == Some(parent) && child.pid.is_none();
        let ids: Vec<u32> = self.environments.values().filter(|child| unborn(child)).map(|child| child.id).collect();
        for id in ids {
            self.bury(id, Death::Unknown);
        }
    }

    fn died_in_test(&mut self, at: usize, id: u32, current: Current, death: Death) {
        let seconds = current.began.elapsed().as_secs_f64();
        let failure = |kind: &str, message: String, trace: String| {
            Some(Failure { phase: Phase::Process, kind: kind.to_owned(), message, trace, file: None, line: None })
        };
        let (outcome, failure) = match &current.overdue {
            Some(overdue) if overdue.killed => {
                let limit = self.launch.timeout.unwrap_or_default().as_secs_f64();
                let message = format!("no end after {limit} s");
                (Outcome::TimedOut, failure("TimedOut", message, overdue.stack.clone()))
            }
            _ => {
                let trace = stack(self.directory.path(), id, self.launch.output_limit);
                (Outcome::Crashed(death), failure("Crashed", death.to_string(), trace))
            }
        };
        self.attempted(at, id, current, outcome, seconds, failure, String::new(), String::new());
    }

    fn interrupt(&mut self) {
        self.interrupts += 1;
        self.interrupted_at.get_or_insert(Instant::now());
        for environment in self.environments.values_mut() {
            match &mut environment.root {
                Some(root) if environment.role == Role::Suite && self.interrupts == 1 => root.kept.interrupt(),
                _ => environment.kill(),
            }
        }
    }
}

/// The stacks that the agent's process has left in the side directory.
fn stack(side: &std::path::Path, environment: u32, limit: usize) -> String {
    let bytes = fs::read(side.join(format!("stack-{environment}"))).unwrap_or_default();
    String::from_utf8_lossy(&bytes).trim_end().chars().take(limit).collect()
}

fn outcome_of(outcome: wire::Outcome) -> Outcome {
    match outcome {
        wire::Outcome::Passed => Outcome::Passed,
        wire::Outcome::Failed => Outcome::Failed,
        wire::Outcome::Error => Outcome::Error,
        wire::Outcome::Skipped => Outcome::Skipped,
        wire::Outcome::ExpectedFailure => Outcome::ExpectedFailure,
        wire::Outcome::UnexpectedPass => Outcome::UnexpectedPass,
    }
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(since.as_micros() as i64)
}
