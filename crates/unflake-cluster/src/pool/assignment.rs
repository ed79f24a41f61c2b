//! Which sessions wait, which run on which worker, and what has come back of each.
//!
//! A session counts when its end has arrived, and once: the events of one that a worker did not
//! finish are dropped, and it runs again elsewhere. Pure: no files, no clock, no processes.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::time::Duration;

use unflake_model::{EnvironmentId, Event, Session, SessionId, World, WorldId};

/// A session that so many workers died of is given up.
const MAX_SUSPICIONS: u32 = 3;
/// One that so many workers were lost with is given up, too.
const MAX_LOSSES: u32 = 8;
/// How long a session takes as long as none has ended.
const UNKNOWN: Duration = Duration::from_secs(1);
/// After so many losses a session runs alone, whether or not it was seen to run: others shall not be
/// lost with it.
const LOSSES_WITH_OTHERS: u32 = 2;
/// A session that runs so much longer than usual may be on a slow machine.
const SLOW_FACTOR: u32 = 4;
const SLOW_AT_LEAST: Duration = Duration::from_secs(20);

/// A session of one engine.
type TaskKey = (u64, SessionId);

#[derive(Clone, Debug)]
struct Task {
    owner: u64,
    session: Session,
    /// Workers that were lost while they had it.
    losses: u32,
    /// Of these, while it ran.
    suspicions: u32,
}

impl Task {
    fn key(&self) -> TaskKey {
        (self.owner, self.session.id)
    }
}

/// What a worker has.
#[derive(Default)]
struct WorkerLoad {
    tasks: Vec<Task>,
    /// Events of sessions that have not ended.
    events: HashMap<TaskKey, Vec<Event>>,
    /// Events that belong to the next attempt of an environment.
    before_attempt: HashMap<(u64, EnvironmentId), Vec<Event>>,
    /// Events that belong to the next session that ends.
    before_end: Vec<Event>,
    since: Duration,
}

/// A session that counts: all its events, the end last.
#[derive(Debug, PartialEq)]
pub(super) struct FinishedSession {
    pub(super) owner: u64,
    /// None: no worker finished it.
    pub(super) worker: Option<u32>,
    pub(super) events: Vec<Event>,
}

#[derive(Default)]
pub(super) struct Assignment {
    waiting: VecDeque<Task>,
    running: BTreeMap<u32, WorkerLoad>,
    worlds: HashMap<WorldId, World>,
    /// Sessions that run on several workers.
    doubled: HashSet<TaskKey>,
    /// How long sessions took, on average.
    usual: (Duration, u32),
    /// For how long a worker shall have enough. None: for as long as one session takes.
    order_time: Option<Duration>,
}

impl Task {
    /// What a worker may have died of.
    fn is_suspect(&self) -> bool {
        self.suspicions > 0 || self.losses >= LOSSES_WITH_OTHERS
    }
}

impl Assignment {
    pub(super) fn set_order_time(&mut self, time: Duration) {
        self.order_time = Some(time);
    }

    pub(super) fn add(&mut self, owner: u64, sessions: Vec<Session>) {
        let task = |session| Task { owner, session, losses: 0, suspicions: 0 };
        self.waiting.extend(sessions.into_iter().map(task));
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.running.values().all(|load| load.tasks.is_empty())
    }

    pub(super) fn is_busy(&self, worker: u32) -> bool {
        self.running.get(&worker).is_some_and(|load| !load.tasks.is_empty())
    }

    /// The next sessions for a worker that has none, all of one engine. `slots`: how many it runs at
    /// once; `workers`: how many take sessions. Batches become smaller towards the end, so that all
    /// workers end at about the same time.
    pub(super) fn next_batch(
        &mut self,
        worker: u32,
        slots: usize,
        workers: usize,
        now: Duration,
    ) -> Option<(u64, Vec<Session>)> {
        if self.is_busy(worker) {
            return None;
        }
        let first = self.waiting.pop_front().or_else(|| self.slow_task(now))?;
        let owner = first.owner;
        let mut batch = vec![first];
        // What a worker may have died of runs alone.
        if !batch[0].is_suspect() {
            let fair = self.waiting.len().div_ceil(2 * workers.max(1));
            let share = fair.min(self.in_one_order()).max(slots);
            while batch.len() < share
                && let Some(next) = self.waiting.front()
                && next.owner == owner
                && !next.is_suspect()
            {
                batch.extend(self.waiting.pop_front());
            }
        }
        let sessions = batch.iter().map(|task| task.session.clone()).collect();
        self.running.insert(worker, WorkerLoad { tasks: batch, since: now, ..WorkerLoad::default() });
        Some((owner, sessions))
    }

    /// How many sessions a worker runs in the time that makes an order worth its delay.
    fn in_one_order(&self) -> usize {
        let (total, count) = self.usual;
        let nanoseconds = total.checked_div(count).unwrap_or(UNKNOWN).as_nanos().max(1);
        (self.order_time.unwrap_or(UNKNOWN).as_nanos() / nanoseconds) as usize
    }

    /// A session that has run for much longer than usual, once: it may run on a slow machine.
    fn slow_task(&mut self, now: Duration) -> Option<Task> {
        let (total, count) = self.usual;
        let usual = total.checked_div(count).unwrap_or_default();
        let limit = (usual * SLOW_FACTOR).max(SLOW_AT_LEAST) + self.order_time.unwrap_or_default();
        let slow = self.running.values().filter(|load| count > 0 && now.saturating_sub(load.since) > limit);
        let task = slow.flat_map(|load| &load.tasks).find(|task| !self.doubled.contains(&task.key()))?.clone();
        self.doubled.insert(task.key());
        Some(task)
    }

    /// An event of a worker. Returns the session that is complete with it.
    pub(super) fn event(&mut self, worker: u32, owner: u64, event: Event, now: Duration) -> Option<FinishedSession> {
        let load = self.running.entry(worker).or_default();
        let session = match &event {
            Event::WorldEntered(world) => {
                self.worlds.insert(world.id(), world.clone());
                return None;
            }
            Event::TraceRecorded { environment, .. } | Event::LayersRecorded { environment, .. } => {
                load.before_attempt.entry((owner, *environment)).or_default().push(event);
                return None;
            }
            Event::AttemptStarted { session, .. }
            | Event::DependenciesRecorded { session, .. }
            | Event::ThreadsDelayed { session, .. }
            | Event::StateLeaked { session, .. }
            | Event::RestoreFailed { session, .. }
            | Event::SessionEnded { session, .. } => *session,
            Event::AttemptEnded(attempt) => attempt.session,
            _ => {
                load.before_end.push(event);
                return None;
            }
        };
        let events = load.events.entry((owner, session)).or_default();
        if let Event::AttemptEnded(attempt) = &event {
            let key = (owner, attempt.environment);
            events.extend(load.before_attempt.remove(&key).into_iter().flatten());
        }
        let is_end = matches!(event, Event::SessionEnded { .. });
        events.push(event);
        if is_end { self.ended(worker, (owner, session), now) } else { None }
    }

    fn ended(&mut self, worker: u32, key: TaskKey, now: Duration) -> Option<FinishedSession> {
        let load = self.running.get_mut(&worker)?;
        let events = load.events.remove(&key).unwrap_or_default();
        let before = std::mem::take(&mut load.before_end);
        let at = load.tasks.iter().position(|task| task.key() == key)?;
        load.tasks.remove(at);
        self.usual = (self.usual.0 + now.saturating_sub(load.since), self.usual.1 + 1);
        load.since = now;
        // The first result counts.
        self.running.values_mut().for_each(|load| load.tasks.retain(|task| task.key() != key));
        self.waiting.retain(|task| task.key() != key);
        let worlds: HashSet<WorldId> = events.iter().filter_map(world_of).collect();
        let worlds = worlds.iter().filter_map(|id| self.worlds.get(id)).cloned().map(Event::WorldEntered);
        let events = worlds.chain(before).chain(events).collect();
        Some(FinishedSession { owner: key.0, worker: Some(worker), events })
    }

    /// A worker has done its order. What it has not finished counts as lost.
    pub(super) fn done(&mut self, worker: u32, why: &str) -> Vec<FinishedSession> {
        self.lost(worker, why)
    }

    /// A worker is gone. Its sessions run again elsewhere; those that were lost too often end, with
    /// the reason.
    pub(super) fn lost(&mut self, worker: u32, why: &str) -> Vec<FinishedSession> {
        let Some(load) = self.running.remove(&worker) else { return Vec::new() };
        let mut given_up = Vec::new();
        for mut task in load.tasks.into_iter().rev() {
            let key = task.key();
            self.doubled.remove(&key);
            let runs_elsewhere = self.running.values().any(|load| load.tasks.iter().any(|one| one.key() == key));
            if runs_elsewhere || self.waiting.iter().any(|one| one.key() == key) {
                continue;
            }
            task.losses += 1;
            task.suspicions += u32::from(load.events.contains_key(&key));
            if task.suspicions < MAX_SUSPICIONS && task.losses < MAX_LOSSES {
                self.waiting.push_front(task);
                continue;
            }
            let (owner, lost) = (task.owner, task.losses);
            let why = Some(format!("{lost} machines were lost while they ran it: {why}"));
            let events = vec![Event::SessionEnded { session: task.session.id, left: task.session.tests, why }];
            given_up.push(FinishedSession { owner, worker: None, events });
        }
        given_up
    }

    /// Forgets the sessions of an engine. Returns the workers that run some of them.
    pub(super) fn stop(&mut self, owner: u64) -> Vec<u32> {
        self.waiting.retain(|task| task.owner != owner);
        let mut workers = Vec::new();
        for (worker, load) in &mut self.running {
            let before = load.tasks.len();
            load.tasks.retain(|task| task.owner != owner);
            if load.tasks.len() < before {
                workers.push(*worker);
            }
        }
        workers
    }

    /// Takes out what waits, by engine.
    pub(super) fn take_waiting(&mut self) -> BTreeMap<u64, Vec<SessionId>> {
        let mut taken: BTreeMap<u64, Vec<SessionId>> = BTreeMap::new();
        for task in self.waiting.drain(..) {
            taken.entry(task.owner).or_default().push(task.session.id);
        }
        taken
    }
}

fn world_of(event: &Event) -> Option<WorldId> {
    match event {
        Event::AttemptEnded(attempt) => attempt.world,
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use unflake_model::{Attempt, Isolation, Outcome, Purpose, Timestamp};

    use super::*;

    const NOW: Duration = Duration::from_secs(1);

    fn sessions(ids: std::ops::Range<u32>) -> Vec<Session> {
        let session =
            |id| Session::fresh(SessionId(id), Purpose::Twice, Isolation::Fork, vec![format!("t{id}").as_str().into()]);
        ids.map(session).collect()
    }

    fn attempt(session: u32, world: &World) -> Event {
        Event::AttemptEnded(Attempt {
            test: format!("t{session}").as_str().into(),
            session: SessionId(session),
            purpose: Purpose::Twice,
            environment: EnvironmentId(session + 100),
            origin: Isolation::Fork,
            world: Some(world.id()),
            position: 0,
            run: 0,
            outcome: Outcome::Passed,
            started: Timestamp(0),
            seconds: 0.0,
            load: None,
            failure: None,
            stdout: String::new(),
            stderr: String::new(),
        })
    }

    fn end(session: u32) -> Event {
        Event::SessionEnded { session: SessionId(session), left: Vec::new(), why: None }
    }

    fn ids(batch: Option<(u64, Vec<Session>)>) -> Vec<u32> {
        batch.map_or(Vec::new(), |(_, sessions)| sessions.iter().map(|session| session.id.0).collect())
    }

    #[test]
    fn batches_become_smaller_and_use_all_slots() {
        let mut all = Assignment::default();
        all.add(1, sessions(0..18));
        assert_eq!(ids(all.next_batch(1, 1, 2, NOW)), [0], "how long they take is not known");
        assert_eq!(ids(all.next_batch(1, 1, 2, NOW)), [0; 0], "it has some");
        assert_eq!(ids(all.next_batch(2, 2, 2, NOW)), [1, 2]);
        let soon = NOW + Duration::from_millis(10);
        assert!(all.event(1, 1, end(0), soon).is_some());
        assert_eq!(ids(all.next_batch(1, 1, 2, soon)), [3, 4, 5, 6]);
        assert_eq!(ids(all.next_batch(3, 4, 4, soon)), [7, 8, 9, 10]);
        all.add(2, sessions(0..1));
        assert_eq!(ids(all.next_batch(4, 99, 1, soon)), [11, 12, 13, 14, 15, 16, 17], "one engine at a time");
    }

    #[test]
    fn a_session_counts_when_it_has_ended_with_its_worlds_first() {
        let mut all = Assignment::default();
        all.add(7, sessions(0..2));
        all.next_batch(1, 9, 1, NOW);
        let world = World { machine: Some("n1".to_owned()), ..World::default() };
        assert_eq!(all.event(1, 7, Event::WorldEntered(world.clone()), NOW), None);
        let trace = Event::TraceRecorded { test: "t1".into(), environment: EnvironmentId(101), directory: "d".into() };
        assert_eq!(all.event(1, 7, trace.clone(), NOW), None);
        assert_eq!(all.event(1, 7, attempt(0, &world), NOW), None);
        assert_eq!(all.event(1, 7, attempt(1, &world), NOW), None);
        let first = all.event(1, 7, end(0), NOW).unwrap();
        assert_eq!(first.events, [Event::WorldEntered(world.clone()), attempt(0, &world), end(0)]);
        let second = all.event(1, 7, end(1), NOW).unwrap();
        assert_eq!(second.events, [Event::WorldEntered(world.clone()), trace, attempt(1, &world), end(1)]);
        assert!(all.is_empty());
    }

    #[test]
    fn what_a_lost_worker_had_runs_again_and_the_suspect_alone() {
        let mut all = Assignment::default();
        let world = World::default();
        all.add(1, sessions(0..3));
        assert_eq!(ids(all.next_batch(1, 3, 1, NOW)), [0, 1, 2]);
        assert!(all.event(1, 1, end(0), NOW).is_some());
        assert!(all.event(1, 1, attempt(1, &world), NOW).is_none());
        assert_eq!(all.lost(1, "killed"), []);
        assert_eq!(ids(all.next_batch(2, 3, 1, NOW)), [1], "it ran when the worker died");
        assert_eq!(ids(all.next_batch(3, 3, 1, NOW)), [2]);
        assert!(all.event(1, 1, end(1), NOW).is_none(), "the lost worker does not count any more");
        let again = all.event(2, 1, end(1), NOW).unwrap();
        assert_eq!(again.events, [end(1)], "nothing of the lost attempt");
        assert!(all.event(3, 1, end(2), NOW).is_some());
        assert!(all.is_empty());
    }

    #[test]
    fn what_was_lost_twice_runs_alone() {
        let mut all = Assignment::default();
        all.set_order_time(Duration::from_secs(20));
        all.add(1, sessions(0..6));
        assert_eq!(ids(all.next_batch(1, 1, 1, NOW)), [0, 1, 2]);
        all.lost(1, "killed");
        assert_eq!(ids(all.next_batch(2, 1, 1, NOW)), [0, 1, 2], "which one it was is unknown");
        all.lost(2, "killed");
        assert_eq!(ids(all.next_batch(3, 1, 1, NOW)), [0]);
        assert_eq!(ids(all.next_batch(4, 1, 1, NOW)), [1]);
    }

    #[test]
    fn a_session_that_kills_its_workers_ends_with_the_reason() {
        let mut all = Assignment::default();
        all.add(1, sessions(0..1));
        for worker in 0..2 {
            all.next_batch(worker, 1, 1, NOW);
            all.event(worker, 1, attempt(0, &World::default()), NOW);
            assert_eq!(all.lost(worker, "out of memory"), []);
        }
        all.next_batch(2, 1, 1, NOW);
        all.event(2, 1, attempt(0, &World::default()), NOW);
        let given_up = all.lost(2, "out of memory");
        let Event::SessionEnded { left, why, .. } = &given_up[0].events[0] else { panic!("{given_up:?}") };
        assert_eq!((left.len(), why.as_deref()), (1, Some("3 machines were lost while they ran it: out of memory")));
        assert!(all.is_empty());
    }

    #[test]
    fn a_slow_session_runs_twice_and_counts_once() {
        let mut all = Assignment::default();
        all.add(1, sessions(0..2));
        all.next_batch(1, 2, 1, NOW);
        assert!(all.event(1, 1, end(0), NOW).is_some());
        assert_eq!(ids(all.next_batch(2, 1, 2, NOW)), [0; 0]);
        let later = NOW + Duration::from_secs(60);
        assert_eq!(ids(all.next_batch(2, 1, 2, later)), [1]);
        assert_eq!(ids(all.next_batch(3, 1, 2, later)), [0; 0], "not a third time");
        assert!(all.event(2, 1, end(1), later).is_some());
        assert!(all.event(1, 1, end(1), later).is_none());
        assert!(all.is_empty());
        assert_eq!(all.lost(1, "gone"), []);
        assert!(all.is_empty());
    }

    #[test]
    fn a_stopped_engine_is_forgotten() {
        let mut all = Assignment::default();
        all.add(1, sessions(0..2));
        all.add(2, sessions(0..1));
        all.next_batch(5, 1, 9, NOW);
        assert_eq!(all.stop(1), [5]);
        assert_eq!(all.take_waiting(), BTreeMap::from([(2, vec![SessionId(0)])]));
        assert!(all.event(5, 1, end(0), NOW).is_none());
        assert!(all.is_empty());
    }
}
