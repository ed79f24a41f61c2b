//! What nobody says: time that runs out, processes that die, and what follows from that.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use unflake_model::{Death, Failure, Observation, Outcome, Phase};
use unflake_protocol::{AttemptResult, Order};

use crate::active_session::{Current, Overdue};
use crate::engine::Engine;
use crate::environment::{Environment, Role, State};
use crate::fork_tree::prefix::Past;
use crate::supervisor::is_alive;

/// How long a process may take to write its stacks.
const STACK: Duration = Duration::from_millis(250);
/// How long to wait for the last words of a process that has ended, or for word of how it ended.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// How long a copy may take to say that it is there: as long as one attempt, within these bounds.
const BIRTH: Duration = Duration::from_secs(20);
const LEAST_BIRTH: Duration = Duration::from_secs(2);
/// How long an agent may take to look through everything that tests could leave changed.
const ANSWER: Duration = Duration::from_secs(60);
/// What to say of a command in which no agent came up.
const NO_RUNNER: &str = "\
It has to lead to pytest, 6 or later; `env -i`, and `-E` or `-I` of Python, keep unflake out.
Or it has to be `cargo test`, `cargo nextest run`, `ctest` or a GoogleTest program itself.
For other runners, `--results` and `--one-test` tell unflake how to use them.";
/// How long a runner may take to stop after Ctrl-C.
const GRACE: Duration = Duration::from_secs(5);

impl Engine {
    pub(crate) fn look_at_clocks(&mut self, now: Instant) {
        self.look_at_time_limits(now);
        self.look_at_all_time(now);
        self.look_at_held(now);
        self.look_at_births(now);
        self.look_at_questions(now);
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
                // Its keeper will tell, unless the user's command goes on without its runner. After the suite that is as
                // it should be; what a helper would do there has no business being done again.
                let (patience, may_go_on) = match environment.role {
                    Role::Suite => (LAST_WORDS, environment.state == State::Ending),
                    Role::Nursery | Role::Seat => (Duration::ZERO, false),
                };
                if !may_go_on && environment.lost.is_some_and(|since| now - since > patience) && !is_alive(pid) {
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
            let why = "a copy of the runner's process did not come up".to_owned();
            let Some(mut copy) = self.environments.remove(&id) else { continue };
            copy.kill();
            let at = self.work_in(id);
            if copy.past != Past::FRESH {
                if let Some(parent) = copy.parent {
                    self.seal(parent, at, &why);
                }
                continue;
            }
            if let Some(at) = at {
                self.works[at].environment = None;
            }
            self.seen
                .push(Observation::Note(format!("fresh environments are new processes, which takes longer: {why}")));
            self.no_nursery = Some(why);
        }
    }

    /// An agent that does not answer what it is asked about its state hangs, in a `__repr__` of the project perhaps.
    fn look_at_questions(&mut self, now: Instant) {
        let late = |one: &&mut Environment| one.asked.is_some_and(|since| now - since > ANSWER);
        for environment in self.environments.values_mut().filter(late) {
            environment.asked = None;
            environment.kill();
            let asker = self.works.iter_mut().find(|placed| placed.environment == Some(environment.id));
            if let Some(placed) = asker {
                placed
                    .work
                    .stop(format!("what tests leave behind could not be looked at within {} s", ANSWER.as_secs()));
            }
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
            let Some(environment) = placed.environment.and_then(|id| self.environments.get_mut(&id)) else { continue };
            // Of processes that it has started itself, the agent sees to the time.
            for current in placed.work.running.iter_mut().filter(|current| current.process.is_none()) {
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
    }

    /// When the time for all sessions is over, those under way are ended with their environments.
    fn look_at_all_time(&mut self, now: Instant) {
        if self.time_over || self.until.is_none_or(|until| now < until) {
            return;
        }
        self.time_over = true;
        let busy: Vec<u32> = self.works.iter().filter_map(|placed| placed.environment).collect();
        for id in busy {
            if let Some(environment) = self.environments.get_mut(&id) {
                environment.kill();
            }
        }
    }

    /// An environment has ended. A test that was running in it has crashed or run out of time; the rest of its session
    /// goes on elsewhere.
    pub(crate) fn bury(&mut self, id: u32, death: Death) {
        let Some(environment) = self.environments.get(&id) else { return };
        let (role, state, announced) = (environment.role, environment.state, environment.announced);
        if let Some(at) = self.work_in(id) {
            self.works[at].environment = None;
            if let Some(why) = self.stopped() {
                self.works[at].work.disregard_running();
                self.give_up(at, why.to_owned());
            } else {
                let mut last = None;
                for current in self.works[at].work.environment_died() {
                    last = Some(self.died_in_test(at, id, current, death));
                }
                if self.works[at].work.route.is_some() {
                    self.stranded(at, state == State::Starting, last, death);
                } else if self.works[at].work.is_hopeless() {
                    self.give_up(at, "its environment kept ending before it began".to_owned());
                } else if self.works[at].work.is_over() {
                    self.finish(at);
                }
            }
        }
        self.tree.forget(id);
        let Some(environment) = self.environments.remove(&id) else { return };
        let output = environment.root.as_ref().map(|root| root.output.clone());
        let narrowed = environment.root.as_ref().is_some_and(|root| root.narrowed);
        match environment.root {
            // Until the directory is gone somebody has to see to that, whatever becomes of us.
            Some(root) if state == State::Ending && self.last_keeper.is_none() => self.last_keeper = Some(root.kept),
            root => drop(root),
        }
        if self.live == Some(id) {
            self.live = None;
        }
        if role == Role::Suite {
            self.suite_exit = (state == State::Ending).then_some(death);
            if state == State::Starting && self.problems == 0 && self.interrupts == 0 {
                let text = output.map(|output| output.settled_text()).unwrap_or_default();
                if announced {
                    let why = format!("the runner ended before it had listed its tests ({death})");
                    self.cannot_start(&why, &text);
                } else {
                    let why = format!("no test runner showed itself in the command before it ended ({death})");
                    self.cannot_start(&why, format!("{}\n{NO_RUNNER}", text.trim_end()).trim_start());
                }
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

    /// Tells the attempt that died, and says so in words.
    fn died_in_test(&mut self, at: usize, id: u32, current: Current, death: Death) -> String {
        let test = current.test.clone();
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
        let trace = self.launch.traced.and_then(|_| self.last("trace", id));
        let layers = self.last("layers", id).filter(|_| !self.launch.layers.is_empty());
        let ending = AttemptResult { trace, layers, failure, ..AttemptResult::new(0, current.run, outcome, seconds) };
        self.attempted(at, id, current, ending);
        match outcome {
            Outcome::TimedOut => format!("`{test}` ran out of time"),
            _ => format!("`{test}` ended its process ({death})"),
        }
    }

    /// Where the trace is of an attempt whose end nobody could tell, or what it looked like: that which its process began last.
    fn last(&self, what: &str, id: u32) -> Option<String> {
        let begins = format!("{what}-{}-", self.environments.get(&id)?.pid?);
        let number = |path: &PathBuf| path.file_name()?.to_str()?.strip_prefix(&begins)?.parse::<u32>().ok();
        let all = fs::read_dir(self.directory.path()).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
        all.filter(|path| number(path).is_some()).max_by_key(number).map(|path| path.to_string_lossy().into_owned())
    }

    pub(crate) fn interrupt(&mut self) {
        self.interrupts += 1;
        self.interrupted_at.get_or_insert(Instant::now());
        self.worlds.interrupt();
        for environment in self.environments.values_mut() {
            match &mut environment.root {
                Some(root) if environment.role == Role::Suite && self.interrupts == 1 => root.kept.interrupt(),
                _ => environment.kill(),
            }
        }
    }
}

/// The stacks that the agent's process has left in the side directory.
fn stack(side: &Path, environment: u32, limit: usize) -> String {
    let bytes = fs::read(side.join(format!("stack-{environment}"))).unwrap_or_default();
    String::from_utf8_lossy(&bytes).trim_end().chars().take(limit).collect()
}
