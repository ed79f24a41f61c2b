//! What happens when an environment exits: the test that ran in it crashed or timed out, and the
//! rest of its session continues in another environment.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tracing::debug;
use unflake_model::{Death, Failure, Outcome, Phase, Problem, ProblemKind};
use unflake_protocol::AttemptResult;

use crate::engine::Engine;
use crate::environment::{EnvironmentPhase, Role};
use crate::session::active::RunningAttempt;

impl Engine {
    pub(crate) fn on_exit(&mut self, id: u32, death: Death) {
        let Some(environment) = self.environments.get(id) else { return };
        let phase = environment.phase;
        debug!(environment = id, ?phase, %death, "environment exited");
        if let Some(error) = self.agent_error(&id.to_string()) {
            self.agent_failed(id, &error);
        }
        if let Some(at) = self.sessions.in_environment(id) {
            self.on_exit_in_session(at, id, phase, death);
        }
        self.fork_tree.forget(id);
        let Some(environment) = self.environments.remove(id) else { return };
        let has_listed = !environment.listing.tests.is_empty();
        let was_narrowed = environment.runner.as_ref().is_some_and(|runner| runner.only.is_some());
        let output = environment.runner.map(|runner| {
            // Until the run directory is removed, a supervisor has to be there to do so if this
            // process is killed.
            if phase == EnvironmentPhase::Ending && self.last_supervisor.is_none() {
                self.last_supervisor = Some(runner.supervisor);
            }
            runner.output
        });
        self.suite.forget(id);
        if environment.role == Role::Suite {
            self.suite.exit = (phase == EnvironmentPhase::Ending).then_some(death);
            if phase == EnvironmentPhase::Starting && !self.suite.has_problem() && self.stop.reason().is_none() {
                let text = output.map(|output| output.text_at_exit()).unwrap_or_default();
                if environment.is_announced {
                    let why = format!("the runner exited before it listed its tests ({death})");
                    self.report_start_failure(&why, &text);
                } else {
                    let launch = self.starter.launch();
                    let missed = (launch.explain_missed_agent)(&launch.command, &text);
                    let output = format!("{}\n{}", text.trim_end(), missed.hint);
                    self.report_start_failure(&format!("{} ({death})", missed.why), output.trim_start());
                }
            }
        }
        // Forks that it was ordered to make and will not make.
        for unborn in self.environments.ids_where(|child| child.parent == Some(id) && child.pid.is_none()) {
            self.on_exit(unborn, Death::Unknown);
        }
        self.fork_server.exited(id, has_listed, was_narrowed);
    }

    /// The error of the agent that ended a process, as the agent has recorded it.
    pub(crate) fn agent_error(&self, process: &str) -> Option<String> {
        let bytes = fs::read(self.starter.run_dir().join(format!("agent-error-{process}"))).ok()?;
        Some(String::from_utf8_lossy(&bytes).trim_end().to_owned())
    }

    /// The error of an agent in one of the processes of an environment.
    pub(crate) fn agent_error_in(&self, id: u32) -> Option<String> {
        let workers = self.environments.get(id)?.processes.keys();
        std::iter::once(id.to_string())
            .chain(workers.map(|number| format!("{id}-{number}")))
            .find_map(|process| self.agent_error(&process))
    }

    /// What ran in its process did not fail for a reason of its own, and nothing more can be trusted.
    pub(crate) fn agent_failed(&mut self, id: u32, error: &str) {
        if let Some(at) = self.sessions.in_environment(id) {
            self.sessions[at].work.discard_running();
        }
        if self.stop.reason().is_none() {
            self.stop.fail("the agent failed");
            let text = format!("unflake's agent in the runner failed\n{error}");
            self.report_problem(Problem { kind: ProblemKind::Protocol, place: None, text });
        }
    }

    fn on_exit_in_session(&mut self, at: usize, id: u32, phase: EnvironmentPhase, death: Death) {
        self.sessions[at].environment = None;
        if let Some(why) = self.stop.reason() {
            self.sessions[at].work.discard_running();
            return self.give_up(at, why.to_owned());
        }
        let mut last = None;
        for attempt in self.sessions[at].work.environment_exited() {
            last = Some(self.attempt_died(at, id, attempt, death));
        }
        let work = &self.sessions[at].work;
        if work.route.is_some() {
            self.environment_exited_on_route(at, phase == EnvironmentPhase::Starting, last, death);
        } else if work.is_hopeless() {
            self.give_up(at, "its process exited repeatedly before it started".to_owned());
        } else if work.is_done() {
            self.finish(at);
        }
    }

    /// Emits the attempt that died. Returns a description for the user.
    pub(crate) fn attempt_died(&mut self, at: usize, id: u32, attempt: RunningAttempt, death: Death) -> String {
        let test = attempt.test.clone();
        let seconds = attempt.began.elapsed().as_secs_f64();
        let launch = self.starter.launch();
        let (outcome, failure) = match &attempt.overdue {
            Some(overdue) if overdue.is_killed => {
                (Outcome::TimedOut, timeout_failure(launch.timeout.unwrap_or_default(), overdue.stacks.clone()))
            }
            _ => {
                let file = self.environments.get(id).map(|one| one.stack_file(attempt.process)).unwrap_or_default();
                let trace = read_stacks(self.starter.run_dir(), &file, launch.output_limit);
                (Outcome::Crashed(death), process_failure("Crashed", death.to_string(), trace))
            }
        };
        debug!(parent: &self.sessions[at].work.span, test = ?test.as_str(), outcome = outcome.word(), %death, "attempt died");
        let trace = launch.traced.and_then(|_| self.last_file("trace", id));
        let layers = self.last_file("layers", id);
        let result = AttemptResult::new(0, attempt.run, outcome, seconds);
        self.attempt_ended(at, id, attempt, AttemptResult { trace, layers, failure: Some(failure), ..result });
        match outcome {
            Outcome::TimedOut => format!("`{test}` timed out"),
            _ => format!("`{test}` exited its process ({death})"),
        }
    }

    /// The trace or layers of an attempt that has no result: the last file that its process
    /// started.
    fn last_file(&self, kind: &str, id: u32) -> Option<String> {
        let begins = format!("{kind}-{}-", self.environments.get(id)?.pid?);
        let number = |path: &PathBuf| path.file_name()?.to_str()?.strip_prefix(&begins)?.parse::<u32>().ok();
        let all = fs::read_dir(self.starter.run_dir()).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
        let last = all.filter(|path| number(path).is_some()).max_by_key(number)?;
        Some(last.to_string_lossy().into_owned())
    }
}

/// The failure of an attempt that exceeded its time limit.
pub(crate) fn timeout_failure(limit: Duration, stacks: String) -> Failure {
    process_failure("TimedOut", format!("timed out after {} s", limit.as_secs_f64()), stacks)
}

fn process_failure(kind: &str, message: String, trace: String) -> Failure {
    Failure { phase: Phase::Process, kind: kind.to_owned(), message, trace, file: None, line: None }
}

/// The stacks that a process has written to the run directory.
pub(crate) fn read_stacks(run_dir: &Path, file: &str, limit: usize) -> String {
    let bytes = fs::read(run_dir.join(file)).unwrap_or_default();
    String::from_utf8_lossy(&bytes).trim_end().chars().take(limit).collect()
}
