//! One turn of the executor: what has come in is heard, and what was seen is told.

use std::path::Path;
use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use unflake_model::{
    Attempt, Death, Environment as Facts, EnvironmentId, Isolation, Observation, Problem, ProblemKind, Timestamp,
};
use unflake_protocol::{self as wire, AgentMessage as Event, AttemptResult, Hello, Order, StopCause};

use crate::active_session::{Current, Process, Work};
use crate::dependencies;
use crate::engine::{Engine, Tell};
use crate::environment::{Environment, Listing, Role, State};
use crate::events::{GATHER, Letter};
use crate::fork_tree::prefix::Past;

/// The display wants to hear from us this often.
const BEAT: Duration = Duration::from_millis(100);
/// How often to look whether a process that went silent has died.
const WATCH: Duration = Duration::from_millis(2);
/// More letters than this are left for the next turn, so that the display does not freeze.
const LETTERS: usize = 500;

impl Engine {
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
            Letter::Elsewhere { world, news } => self.heard_from(world, news),
            Letter::Interrupt => {
                if self.interrupts == 0 {
                    self.catch_up();
                }
                self.interrupt();
            }
        }
    }

    /// Hears what has been said up to now: tests that ended before Ctrl-C have ended.
    fn catch_up(&mut self) {
        thread::sleep(2 * GATHER);
        while let Ok(letter) = self.letters.try_recv() {
            self.open(letter);
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
            Letter::Connected { .. } | Letter::Ended { .. } | Letter::Interrupt | Letter::Elsewhere { .. } => {}
        }
    }

    /// Connections are read side by side, so what was said on a later one may be here first. It is heard when the
    /// earlier one has been heard to its end.
    pub(crate) fn open_held(&mut self, id: u32) {
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
                    environment.gathering.extend(tests.into_iter().map(|listed| listed.test));
                }
            }
            Event::Ready { deselected, unforkable, isolated, .. } => {
                if let Some(environment) = self.environments.get_mut(&id) {
                    let tests = std::mem::take(&mut environment.gathering);
                    let root = environment.listing.root.clone();
                    environment.listing =
                        Rc::new(Listing { isolated, ..Listing::new(tests, deselected, unforkable, root) });
                    environment.state = State::Ready;
                }
                self.tell_what_may_fail(id);
            }
            Event::Start { n, run, process, in_process } => self.started(id, n, run, process, in_process),
            Event::Done(result) => self.done(id, *result),
            Event::Stopped { cause, why } => {
                // A limit that the user set for the suite is none for sessions that are compared: they are to run to their end.
                let heeded = |work: &Work| cause == StopCause::Exit || !work.is_on_the_way() && !work.is_compared();
                if let Some(at) = self.work_in(id)
                    && heeded(&self.works[at].work)
                {
                    self.works[at].work.cut_short(why);
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
                if self.environments.get(&id).is_some_and(|parent| parent.past != Past::FRESH) {
                    return self.seal(id, self.work_in(environment), &why);
                }
                self.seen.push(Observation::Note(format!("fresh environments are new processes: {why}")));
                self.no_nursery = Some(why);
                if let Some(at) = self.work_in(environment) {
                    self.works[at].environment = None;
                }
            }
            Event::Reaped { environment, death } => self.bury(environment, death),
            Event::Remembered { .. } => self.remembered(id),
            Event::Changed { path } => self.changed(id, Path::new(&path)),
            Event::Sites { path } => self.assertions.sites = Some(path.into()),
            Event::Filtering => {}
            Event::Restored { failed } => self.restored(id, failed),
            Event::Written { cell, site } => self.written(id, cell, site),
            Event::Bye => {
                if let Some(environment) = self.environments.get_mut(&id) {
                    environment.state = State::Ending;
                }
            }
        }
    }

    /// Only the user's own command is judged; a helper process that cannot collect is replaced by other means.
    fn said_problem(&mut self, id: u32, kind: ProblemKind, place: Option<String>, text: String) {
        if self.environments.get(&id).is_some_and(|environment| environment.role == Role::Suite) {
            self.problem(Problem { kind, place, text });
        } else {
            self.cannot_answer(id, &text);
        }
    }

    pub(crate) fn work_in(&self, environment: u32) -> Option<usize> {
        self.works.iter().position(|placed| placed.environment == Some(environment))
    }

    fn started(&mut self, id: u32, n: u32, run: u32, process: Option<u32>, in_process: bool) {
        let Some(at) = self.work_in(id) else { return };
        let Some(environment) = self.environments.get_mut(&id) else { return };
        let Some(test) = environment.listing.tests.get(n as usize).map(|test| test.id.clone()) else { return };
        let process = process.map(|number| {
            let next = &mut self.next_environment;
            let process = environment.processes.entry(number).or_insert_with(|| {
                *next += 1;
                Process { id: *next - 1, position: 0, in_process }
            });
            process.position += 1;
            Process { position: process.position - 1, ..*process }
        });
        let work = &mut self.works[at].work;
        let run = work.begin(test.clone(), run, Instant::now(), now(), process);
        let (session, purpose) = (work.session.id, work.session.purpose);
        let environment = EnvironmentId(process.map_or(id, |process| process.id));
        self.seen.push(Observation::Started { session, purpose, environment, test, run });
    }

    /// An answer is never taken for another test's.
    fn done(&mut self, id: u32, ending: AttemptResult) {
        let Some(at) = self.work_in(id) else { return };
        let Some(test) = self.environments.get(&id).and_then(|one| one.listing.tests.get(ending.n as usize)) else {
            return;
        };
        let Some(current) = self.works[at].work.ended(&test.id) else { return };
        // What Ctrl-C or the end of all time did to the test in flight says nothing about the test.
        if self.stopped().is_some() {
            return self.works[at].work.disregard(current);
        }
        self.attempted(at, id, current, ending);
    }

    pub(crate) fn attempted(&mut self, at: usize, id: u32, current: Current, ending: AttemptResult) {
        let Some(environment) = self.environments.get_mut(&id) else { return };
        let session = &self.works[at].work.session;
        let (in_environment, origin, position) = match current.process {
            Some(process) if process.in_process => (process.id, Isolation::InProcess, process.position),
            Some(process) => (process.id, Isolation::Process, process.position),
            None => (id, environment.origin(), environment.attempts),
        };
        if let Some(directory) = ending.trace {
            let (test, environment, directory) =
                (current.test.clone(), EnvironmentId(in_environment), directory.into());
            self.seen.push(Observation::Traced { test, environment, directory });
        }
        if let Some(file) = ending.layers.filter(|_| !self.launch.layers.is_empty()) {
            let (test, environment, file) = (current.test.clone(), EnvironmentId(in_environment), file.into());
            self.seen.push(Observation::Looked { test, environment, file });
        }
        if let Some(path) = ending.dependencies.filter(|_| session.depends.is_some()) {
            let (session, test, on) =
                (session.id, current.test.clone(), Box::new(dependencies::read(Path::new(&path))));
            self.seen.push(Observation::Depends { session, test, on });
        }
        self.seen.push(Observation::Attempted(Attempt {
            test: current.test,
            session: session.id,
            purpose: session.purpose,
            environment: EnvironmentId(in_environment),
            origin,
            position,
            run: current.run,
            outcome: ending.outcome,
            started: current.started,
            seconds: ending.seconds,
            failure: ending.failure,
            stdout: ending.stdout,
            stderr: ending.stderr,
        }));
        environment.attempts += 1;
    }

    fn idle(&mut self, id: u32) {
        if let Some(environment) = self.environments.get_mut(&id) {
            environment.state = State::Ready;
        }
        let Some(at) = self.work_in(id) else { return };
        let stopped = self.stopped().is_some();
        let work = &mut self.works[at].work;
        if work.is_compared() && !work.is_on_the_way() {
            work.resume();
        }
        if work.is_stopped() || work.is_over() || stopped {
            self.finish(at);
        } else if work.is_on_the_way() {
            self.stepped(at, id);
        }
    }
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(since.as_micros() as i64)
}
