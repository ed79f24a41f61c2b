//! Watches the supervisors. A runner whose supervisor was killed would run on unobserved: it is
//! killed, attempts that ran in it do not count, and it is replaced, once.

use std::time::{Duration, Instant};

use tracing::info;
use unflake_model::{Event, Problem, ProblemKind};

use crate::engine::Engine;
use crate::environment::{Environment, EnvironmentPhase, Role};

const KILLED: &str = "the supervisor of the runner was killed";

/// How often to look whether a supervisor is stopped.
const CHECK: Duration = Duration::from_millis(300);

#[derive(Default)]
pub(crate) struct Supervision {
    /// Number of supervisors that were killed.
    killed: u32,
    checked_at: Option<Instant>,
}

impl Engine {
    pub(crate) fn continue_stopped_supervisors(&mut self, now: Instant) {
        if self.supervision.checked_at.is_some_and(|at| now - at < CHECK) {
            return;
        }
        self.supervision.checked_at = Some(now);
        self.environments
            .iter()
            .filter_map(|environment| environment.runner.as_ref())
            .for_each(|runner| runner.supervisor.continue_if_stopped());
    }

    pub(crate) fn on_supervisor_killed(&mut self, id: u32) {
        let Some(runner) = self.environments.get_mut(id).and_then(|environment| environment.runner.as_mut()) else {
            return;
        };
        runner.supervisor.destroy();
        self.supervision.killed += 1;
        info!(environment = id, killed = self.supervision.killed, "{KILLED}");
        let below = self.environments.ids_where(|one| one.id == id || one.fork_server == Some(id));
        for fork in below.iter().filter(|fork| **fork != id) {
            self.lose_environment(*fork);
        }
        let Some(lost) = self.lose_environment(id) else { return };
        let is_live = self.suite.live() == Some(id) || self.suite.forked() == Some(id);
        self.suite.forget(id);
        if lost.role == Role::Suite && lost.phase == EnvironmentPhase::Ending {
            return self.report_lost_supervisor(format!("{KILLED}: the exit code of the runner is unknown"));
        }
        if self.supervision.killed > 1 {
            self.stop.fail(KILLED);
            return self.report_lost_supervisor(format!("{KILLED} again: stopping"));
        }
        let note = format!("{KILLED}: its results were discarded, and its tests ran again in a new process");
        self.events.push(Event::Note(note));
        if is_live {
            self.replace_suite(&lost);
        }
    }

    /// Removes an environment that was killed. Its attempts do not count.
    fn lose_environment(&mut self, id: u32) -> Option<Environment> {
        if let Some(at) = self.sessions.in_environment(id) {
            let placed = &mut self.sessions[at];
            (placed.environment, placed.processes) = (None, 0);
            placed.work.discard_running();
            placed.work.environment_exited();
            // What it has found so far was found in a state that no other environment has.
            if placed.work.is_compared() {
                self.give_up(at, KILLED.to_owned());
            } else if placed.work.is_done() {
                self.finish(at);
            }
        }
        self.fork_tree.forget(id);
        self.fork_server.forget(id);
        self.environments.remove(id)
    }

    /// Starts the user's command again, for the tests that have not run.
    fn replace_suite(&mut self, lost: &Environment) {
        let runner = lost.runner.as_ref();
        let only = runner.and_then(|runner| runner.only.clone());
        match self.start_runner(Role::Suite, only, runner.and_then(|runner| runner.depends), false, None) {
            Ok(id) => self.suite.set_live(Some(id)),
            Err(error) => self.report_start_failure(&error.to_string(), ""),
        }
    }

    fn report_lost_supervisor(&mut self, text: String) {
        self.report_problem(Problem { kind: ProblemKind::Protocol, place: None, text });
    }
}
