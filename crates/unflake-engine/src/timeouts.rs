//! Everything that no input reports: attempts that exceed their limit, the end of the budget,
//! processes that died or hang.

use std::time::{Duration, Instant};

use tracing::debug;
use unflake_model::Death;
use unflake_protocol::Order;

use crate::engine::Engine;
use crate::environment::{Environment, EnvironmentPhase, Role};
use crate::fork_tree::path::StateKey;
use crate::process_exit::read_stacks;
use crate::runner_process::process_table::is_alive;
use crate::session::active::{ActiveSession, Overdue};

/// How long a process may take to write its stacks.
const STACKS: Duration = Duration::from_millis(250);
/// How long to wait for the last messages of a process that has exited, or for how it exited.
pub(crate) const LAST_MESSAGES: Duration = Duration::from_millis(500);
/// How often to look whether a connected fork is alive: a process that it started may keep the
/// connection open.
const ALIVE_CHECK: Duration = Duration::from_millis(300);
/// How long a fork may take to connect: as long as one attempt, within these bounds.
const MAX_FORK_TIME: Duration = Duration::from_secs(20);
const MIN_FORK_TIME: Duration = Duration::from_secs(2);
/// How long an agent may take to compare or restore state.
const QUERY: Duration = Duration::from_secs(60);

impl Environment {
    /// Whether the process of a fork is dead, and its messages have arrived.
    fn has_died(&mut self, now: Instant) -> bool {
        let Some(pid) = self.pid else { return false };
        if self.is_silent() {
            return !is_alive(pid);
        }
        if self.dead_since.is_none() && now - self.alive_checked_at >= ALIVE_CHECK {
            self.alive_checked_at = now;
            self.dead_since = (!is_alive(pid)).then_some(now);
        }
        self.dead_since.is_some_and(|since| now - since >= LAST_MESSAGES)
    }
}

impl Engine {
    pub(crate) fn check_timeouts(&mut self, now: Instant) {
        self.check_attempts(now);
        self.check_budget(now);
        self.check_deferred_connections(now);
        self.check_forks(now);
        self.check_queries(now);
        self.check_exits(now);
        for id in self.environments.ids_where(|one| one.workers.has_dead()) {
            self.check_workers(id, now);
        }
        self.check_stalled(now);
        self.continue_stopped_supervisors(now);
        if self.stop.is_grace_over(now) {
            self.environments.kill_all();
        }
    }

    fn check_exits(&mut self, now: Instant) {
        let mut exits = Vec::new();
        let mut to_reap = Vec::new();
        let is_other_world = self.starter.world().is_some();
        for environment in self.environments.iter_mut() {
            let id = environment.id;
            if let Some((death, since)) = environment.exited {
                // One that never connected may have, with its messages still in transit.
                if environment.disconnected_at.is_some() || now - since > LAST_MESSAGES {
                    exits.push((id, death));
                }
                continue;
            }
            let Some(pid) = environment.pid else { continue };
            if environment.runner.is_some() {
                // The supervisor reports the exit, unless the user's command continues without its
                // runner. After the suite that is fine; a helper process must not repeat what the
                // command does then.
                let (patience, may_continue) = match environment.role {
                    Role::Suite if !is_other_world => (LAST_MESSAGES, environment.phase == EnvironmentPhase::Ending),
                    _ => (Duration::ZERO, false),
                };
                let is_lost = environment.disconnected_at.is_some_and(|since| now - since > patience);
                if !may_continue && is_lost && !is_alive(pid) {
                    environment.kill();
                    environment.disconnected_at = Some(now);
                }
            } else if environment.reap_ordered_at.is_some_and(|since| now - since > LAST_MESSAGES) {
                exits.push((id, Death::Unknown));
            } else if environment.reap_ordered_at.is_none() && environment.has_died(now) {
                environment.reap_ordered_at = Some(now);
                to_reap.push((id, environment.parent));
            }
        }
        for (id, parent) in to_reap {
            let is_ordered = parent
                .and_then(|parent| self.environments.get_mut(parent))
                .is_some_and(|parent| parent.order(&Order::Reap { environment: id }).is_ok());
            if !is_ordered {
                exits.push((id, Death::Unknown));
            }
        }
        for (id, death) in exits {
            self.on_exit(id, death);
        }
    }

    /// A fork that does not connect hangs in the project's after-fork hooks, or in a lock that a
    /// thread held. It is killed, and no more forks are made in that state.
    fn check_forks(&mut self, now: Instant) {
        let limit = self.starter.launch().timeout;
        let limit = limit.map_or(MAX_FORK_TIME, |limit| limit.clamp(MIN_FORK_TIME, MAX_FORK_TIME));
        let late = self.environments.ids_where(|one| {
            one.parent.is_some()
                && one.phase == EnvironmentPhase::Starting
                && one.reap_ordered_at.is_none()
                && now - one.requested_at > limit
        });
        for id in late {
            let why = "a fork of the runner did not connect".to_owned();
            let Some(mut fork) = self.environments.remove(id) else { continue };
            debug!(environment = id, ?limit, "the fork did not connect in time");
            fork.kill();
            let at = self.sessions.in_environment(id);
            if fork.state != StateKey::FRESH {
                if let Some(parent) = fork.parent {
                    self.fork_refused(parent, at, &why);
                }
                continue;
            }
            if let Some(at) = at {
                self.sessions[at].environment = None;
            }
            let note = format!("fresh environments are new processes, which takes longer: {why}");
            self.refuse_forks(why, note);
        }
    }

    /// An agent that does not answer a query hangs, possibly in a `__repr__` of the project.
    fn check_queries(&mut self, now: Instant) {
        let is_late = |one: &&mut Environment| one.query_since.is_some_and(|since| now - since > QUERY);
        for environment in self.environments.iter_mut().filter(is_late) {
            environment.query_since = None;
            environment.kill();
            if let Some(at) = self.sessions.in_environment(environment.id) {
                let why = format!("the state that tests leave could not be compared within {} s", QUERY.as_secs());
                self.sessions[at].work.stop(why);
            }
        }
    }

    /// A connection that a test has passed to another process does not close. No more messages
    /// arrive on it.
    fn check_deferred_connections(&mut self, now: Instant) {
        let is_late = |one: &Environment| one.deferring_since.is_some_and(|since| now - since > LAST_MESSAGES);
        for id in self.environments.ids_where(is_late) {
            if let Some(environment) = self.environments.get_mut(id) {
                environment.connection = None;
                environment.connections = u32::MAX;
            }
            self.handle_deferred(id);
        }
    }

    fn check_attempts(&mut self, now: Instant) {
        let launch = self.starter.launch();
        let Some(limit) = launch.timeout else { return };
        for placed in self.sessions.running_mut() {
            let Some(environment) = placed.environment.and_then(|id| self.environments.get_mut(id)) else { continue };
            let ActiveSession { span, running, .. } = &mut placed.work;
            for attempt in running.iter_mut() {
                let worker = attempt.process.map(|process| environment.worker(process));
                // The agent enforces the limit in processes that it has started itself.
                if worker.is_some_and(|worker| worker.is_none()) {
                    continue;
                }
                let worker = worker.flatten();
                match &mut attempt.overdue {
                    None if now - attempt.began > limit => {
                        debug!(parent: &*span, test = ?attempt.test.as_str(), ?limit, "attempt timed out");
                        match worker {
                            Some(worker) => worker.request_stacks(),
                            None => environment.request_stacks(),
                        }
                        attempt.overdue = Some(Overdue { since: now, is_killed: false, stacks: String::new() });
                    }
                    Some(overdue) if !overdue.is_killed && now - overdue.since > STACKS => {
                        let file = environment.stack_file(attempt.process);
                        overdue.stacks = read_stacks(self.starter.run_dir(), &file, launch.output_limit);
                        overdue.is_killed = true;
                        match worker {
                            Some(worker) => worker.kill(),
                            None => environment.kill(),
                        }
                    }
                    _ => {}
                }
            }
        }
    }

    /// When the budget is exhausted, running sessions end with their environments, and those that
    /// have not listed their tests end too. Only a runner that writes reports may go on.
    fn check_budget(&mut self, now: Instant) {
        if self.stop.exhaust(now) {
            let busy: Vec<u32> = self.sessions.running().filter_map(|placed| placed.environment).collect();
            let reports = self.launch().suite;
            let is_late = |one: &&mut Environment| {
                !reports || one.role != Role::Suite || one.phase == EnvironmentPhase::Starting || busy.contains(&one.id)
            };
            self.environments.iter_mut().filter(is_late).for_each(Environment::kill);
        }
    }
}
