//! The thread of the pool: starts workers, gives them sessions, and passes on what comes back.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};
use std::{fs, io};

use tracing::{debug, info};
use unflake_engine::{RemoteLaunch, RemoteReport, RemoteReporter};

use super::assignment::{Assignment, FinishedSession};
use super::jobs::{JobAnswer, JobCommand, JobState, JobSystem, JobThread};
use super::link::{WorkerLink, WorkerPhase};
use super::{ClusterSettings, PoolOrder};
use crate::files::{BEAT, RunFiles, SILENCE, abandoned_runs, private_dir, write_whole};
use crate::inputs::{DigestCache, tidy_up};
use crate::messages::{CLUSTER_VERSION, FromWorker, JobFile, ToWorker};
use crate::slurm::start_script;

const TICK: Duration = Duration::from_millis(10);
/// While nothing runs.
const IDLE_TICK: Duration = Duration::from_millis(250);
const QUERY: Duration = Duration::from_secs(1);
/// How long a worker without sessions stays.
const LINGER: Duration = Duration::from_secs(30);
/// How long workers may take to end.
const ENDING: Duration = Duration::from_secs(3);
/// After this many workers in a row that could not work, no more are started.
const MAX_FAILURES: u32 = 4;
/// How often to try again what the cluster refused for now.
const SUBMIT_AGAIN: Duration = Duration::from_secs(3);
/// The number of a process that no worker has.
const NO_WORKER: u64 = u64::MAX;

pub(super) struct PoolService {
    settings: ClusterSettings,
    began: Instant,
    engines: BTreeMap<u64, ConnectedEngine>,
    sessions: Assignment,
    workers: BTreeMap<u32, WorkerLink>,
    next_worker: u32,
    next_order: u64,
    beats: (u64, Instant),
    queried: Option<Instant>,
    is_query_pending: bool,
    submitting: u32,
    refused_at: Option<Instant>,
    /// Why jobs cannot be started now, or did not become workers.
    last_trouble: Option<String>,
    failures: u32,
    /// Since when sessions wait though no worker is ready.
    waiting_since: Option<Instant>,
    /// Why nothing runs on the cluster any more.
    unusable: Option<String>,
    notes: HashSet<String>,
}

struct ConnectedEngine {
    launch: RemoteLaunch,
    reports: RemoteReporter,
}

impl PoolService {
    pub(super) fn new(settings: ClusterSettings) -> Self {
        let now = Instant::now();
        Self {
            settings,
            began: now,
            engines: BTreeMap::new(),
            sessions: Assignment::default(),
            workers: BTreeMap::new(),
            next_worker: 0,
            next_order: 0,
            beats: (0, now),
            queried: None,
            is_query_pending: false,
            submitting: 0,
            refused_at: None,
            last_trouble: None,
            failures: 0,
            waiting_since: None,
            unusable: None,
            notes: HashSet::new(),
        }
    }

    /// Serves engines until the pool is closed.
    pub(super) fn serve(mut self, system: Box<dyn JobSystem>, orders: &Receiver<PoolOrder>) {
        let mut system = Some(system);
        let mut open: Option<(RunFiles, JobThread)> = None;
        loop {
            let tick = if self.sessions.is_empty() { IDLE_TICK } else { TICK };
            let order = match orders.recv_timeout(tick) {
                Ok(PoolOrder::Close) | Err(RecvTimeoutError::Disconnected) => break,
                Ok(order) => Some(order),
                Err(RecvTimeoutError::Timeout) => None,
            };
            if let Some(order) = order {
                self.take(order);
            }
            if let Some(mut system) = (self.sessions.waiting() > 0).then(|| system.take()).flatten() {
                match self.set_up(&mut *system) {
                    Ok(run) => open = Some((run.clone(), JobThread::start(system, run))),
                    Err(error) => self.give_up(&format!("the inputs could not be sent: {error}")),
                }
            }
            if let Some((run, jobs)) = &open {
                self.turn(run, jobs);
            }
        }
        if let Some((run, jobs)) = open {
            self.close(&run, &jobs);
            drop(jobs);
            run.remove();
        }
    }

    fn take(&mut self, order: PoolOrder) {
        match order {
            PoolOrder::Connect { owner, launch, reports } => {
                self.engines.insert(owner, ConnectedEngine { launch: *launch, reports });
            }
            PoolOrder::Run { owner, sessions } => match (&self.unusable, self.engines.get(&owner)) {
                (Some(why), Some(engine)) => {
                    let sessions = sessions.iter().map(|session| session.id).collect();
                    engine.reports.report(RemoteReport::Refused { sessions, why: why.clone() });
                }
                _ => self.sessions.add(owner, sessions),
            },
            PoolOrder::Stop { owner } => self.stop(owner),
            PoolOrder::Disconnect { owner } => {
                self.stop(owner);
                self.engines.remove(&owner);
            }
            PoolOrder::Close => {}
        }
    }

    fn stop(&mut self, owner: u64) {
        for number in self.sessions.stop(owner) {
            if let Some(worker) = self.workers.get_mut(&number)
                && let Err(error) = worker.tell(&ToWorker::Stop { owner })
            {
                debug!(%error, number, "a worker cannot be stopped");
            }
        }
    }

    /// Sends the inputs, and writes what workers start from.
    fn set_up(&mut self, system: &mut dyn JobSystem) -> io::Result<RunFiles> {
        let began = Instant::now();
        private_dir(&self.settings.shared)?;
        tidy_up(&self.settings.shared);
        let mut digests = DigestCache::open(self.settings.digests.clone());
        let sent = system.send_inputs(&self.settings, &mut digests)?;
        self.sessions.set_order_time(system.order_time());
        digests.save();
        let run = RunFiles::create(&self.settings.shared)?;
        let job = JobFile {
            version: CLUSTER_VERSION,
            inputs: sent.inputs.clone(),
            directory: self.settings.directory.clone(),
            options: self.settings.options.clone(),
            node_directory: self.settings.node_directory.clone(),
            has_one_order: system.has_one_order(),
        };
        write_whole(&run.job(), &serde_json::to_vec(&job)?, 0o600)?;
        write_whole(&run.script(), start_script(&self.settings.wrapper, &sent.program, run.path()).as_bytes(), 0o700)?;
        self.beat(&run);
        let seconds = began.elapsed().as_secs_f64();
        info!(seconds, files = sent.files, bytes = sent.bytes, moved = sent.moved, "the inputs are sent");
        let (bytes, moved) = (megabytes(sent.bytes), megabytes(sent.moved));
        self.note(format!("inputs: {} files, {bytes}, of which {moved} were sent ({seconds:.1} s)", sent.files));
        Ok(run)
    }

    fn turn(&mut self, run: &RunFiles, jobs: &JobThread) {
        if self.beats.1.elapsed() >= BEAT {
            self.beat(run);
        }
        while let Ok(answer) = jobs.answers.try_recv() {
            self.on_answer(answer, run, jobs);
        }
        for number in self.workers.keys().copied().collect::<Vec<_>>() {
            self.read(number, false, jobs);
        }
        self.check_silent(jobs);
        self.assign();
        self.start_workers(jobs);
        self.query(jobs);
        self.end_idle();
        self.check_waiting();
    }

    fn beat(&mut self, run: &RunFiles) {
        self.beats = (self.beats.0 + 1, Instant::now());
        if let Err(error) = write_whole(&run.beat(), self.beats.0.to_string().as_bytes(), 0o600) {
            debug!(%error, "the beat cannot be written");
        }
    }

    /// Reads what a worker has said.
    fn read(&mut self, number: u32, at_once: bool, jobs: &JobThread) {
        let Some(worker) = self.workers.get_mut(&number).filter(|worker| worker.phase != WorkerPhase::Gone) else {
            return;
        };
        match worker.messages(at_once) {
            Ok(messages) => messages.into_iter().for_each(|message| self.on_message(number, message)),
            Err(error) => {
                let job = worker.job.clone();
                jobs.order(JobCommand::Cancel(vec![job]));
                self.lose(number, &format!("its events cannot be read: {error}"));
            }
        }
    }

    fn on_message(&mut self, number: u32, message: FromWorker) {
        let Some(worker) = self.workers.get_mut(&number).filter(|worker| worker.phase != WorkerPhase::Gone) else {
            return;
        };
        match message {
            FromWorker::Hello { machine, slots } => {
                info!(number, machine, slots, "a worker has started");
                (worker.machine, worker.slots) = (machine, slots);
                if worker.phase == WorkerPhase::Waiting {
                    worker.phase = WorkerPhase::Preparing;
                }
            }
            FromWorker::Ready { fetched, notes } => {
                info!(number, fetched, "a worker is ready");
                worker.idle_since = Instant::now();
                if worker.phase == WorkerPhase::Preparing {
                    worker.phase = WorkerPhase::Ready;
                }
                self.failures = 0;
                notes.into_iter().for_each(|note| self.note(note));
            }
            FromWorker::Event { owner, event } => {
                if let unflake_model::Event::Note(note) = *event {
                    return self.note(note);
                }
                let finished = self.sessions.event(number, owner, *event, self.began.elapsed());
                self.pass_on(finished);
            }
            FromWorker::Done { number: order } => {
                if worker.order == Some(order) {
                    (worker.order, worker.idle_since) = (None, Instant::now());
                    let unfinished = self.sessions.done(number, "the worker did not run it");
                    self.pass_on(unfinished);
                }
            }
            FromWorker::Beat => {}
            FromWorker::Failed { why } => self.lose(number, &why),
            FromWorker::Unusable { why } => {
                self.lose(number, &why);
                self.give_up(&why);
            }
            FromWorker::Bye => self.lose(number, "its worker ended"),
        }
    }

    fn pass_on(&mut self, finished: impl IntoIterator<Item = FinishedSession>) {
        for FinishedSession { owner, worker, events } in finished {
            let process = worker.map_or(NO_WORKER, u64::from);
            if let Some(engine) = self.engines.get(&owner) {
                engine.reports.report(RemoteReport::Session { process, events });
            }
        }
    }

    /// Tells every engine, once.
    fn note(&mut self, note: String) {
        if self.notes.insert(note.clone()) {
            self.engines.values().for_each(|engine| engine.reports.report(RemoteReport::Note(note.clone())));
        }
    }

    /// A worker is gone. Its sessions run elsewhere.
    fn lose(&mut self, number: u32, why: &str) {
        let Some(worker) = self.workers.get_mut(&number).filter(|worker| worker.phase != WorkerPhase::Gone) else {
            return;
        };
        let was = std::mem::replace(&mut worker.phase, WorkerPhase::Gone);
        let machine = if worker.machine.is_empty() { "a machine".to_owned() } else { worker.machine.clone() };
        info!(number, machine, why, ?was, "a worker is gone");
        if was == WorkerPhase::Ending {
            return;
        }
        if worker.order.is_none() && was == WorkerPhase::Ready {
            return;
        }
        let printed = worker.files.log_text();
        let why =
            if printed.is_empty() || why.contains(&printed) { why.to_owned() } else { format!("{why}: {printed}") };
        if was != WorkerPhase::Ready {
            self.failures += 1;
        }
        self.last_trouble = Some(format!("{machine}: {why}"));
        let had_sessions = self.sessions.is_busy(number);
        let given_up = self.sessions.lost(number, &why);
        self.pass_on(given_up);
        if had_sessions {
            self.note(format!("{machine} was lost ({why}); its sessions ran again"));
        }
    }

    /// A worker that says nothing any more is lost, whatever the cluster says of it.
    fn check_silent(&mut self, jobs: &JobThread) {
        let is_silent = |worker: &&WorkerLink| worker.phase == WorkerPhase::Ready && worker.heard.elapsed() > SILENCE;
        let silent: Vec<(u32, String)> =
            self.workers.values().filter(is_silent).map(|worker| (worker.number, worker.job.clone())).collect();
        for (number, job) in silent {
            jobs.order(JobCommand::Cancel(vec![job]));
            self.lose(number, &format!("no sign of life for {} s", SILENCE.as_secs()));
        }
    }

    fn assign(&mut self) {
        // Those that are about to start shall find something to do.
        let workers = self.workers.values().filter(|worker| worker.is_alive()).count() + self.submitting as usize;
        for worker in self.workers.values_mut().filter(|worker| worker.is_free()) {
            let batch = self.sessions.next_batch(worker.number, worker.slots, workers, self.began.elapsed());
            let Some((owner, sessions)) = batch else { continue };
            let Some(engine) = self.engines.get(&owner) else { continue };
            self.next_order += 1;
            debug!(worker = worker.number, sessions = sessions.len(), "sessions given to a worker");
            // A worker that cannot be reached is handled where its link ends.
            if let Err(error) = worker.run(self.next_order, owner, &engine.launch, sessions) {
                debug!(%error, "the order cannot be written");
            }
        }
    }

    /// Starts as many workers as there are sessions for.
    fn start_workers(&mut self, jobs: &JobThread) {
        let wanted = self.sessions.waiting().div_ceil(self.settings.slots.max(1)).min(self.settings.workers);
        let alive = self.workers.values().filter(|worker| worker.is_alive()).count() + self.submitting as usize;
        let may_submit = self.refused_at.is_none_or(|at| at.elapsed() > SUBMIT_AGAIN);
        if wanted > alive && self.submitting == 0 && may_submit && self.unusable.is_none() {
            let count = (wanted - alive) as u32;
            debug!(count, "starting workers");
            self.submitting = count;
            jobs.order(JobCommand::Submit { first: self.next_worker, count });
            self.next_worker += count;
        }
    }

    fn on_answer(&mut self, answer: JobAnswer, run: &RunFiles, jobs: &JobThread) {
        match answer {
            JobAnswer::Submitted { first, count, jobs: Ok(ids) } => {
                self.submitting = 0;
                self.refused_at = None;
                debug!(?ids, "jobs submitted");
                for (number, id) in (first..first + count).zip(ids) {
                    match WorkerLink::new(run, number, id.clone()) {
                        Ok(link) => drop(self.workers.insert(number, link)),
                        Err(error) => {
                            jobs.order(JobCommand::Cancel(vec![id]));
                            self.give_up(&format!("{} cannot be written: {error}", run.path().display()));
                        }
                    }
                }
                let known: Vec<&str> = self.workers.values().map(|worker| worker.job.as_str()).collect();
                if let Err(error) = write_whole(&run.jobs(), (known.join("\n") + "\n").as_bytes(), 0o600) {
                    debug!(%error, "the list of jobs is not kept");
                }
            }
            JobAnswer::Submitted { jobs: Err(error), .. } => {
                self.submitting = 0;
                debug!(error.why, error.is_temporary, "no job was started");
                self.refused_at = Some(Instant::now());
                self.last_trouble = Some(error.why.clone());
                if !error.is_temporary && !self.workers.values().any(WorkerLink::is_alive) {
                    self.give_up(&error.why);
                }
            }
            JobAnswer::States { asked, states: Ok(states) } => {
                self.is_query_pending = false;
                self.on_states(&asked, &states, jobs);
            }
            // What is known of workers otherwise still counts.
            JobAnswer::States { states: Err(why), .. } => {
                self.is_query_pending = false;
                debug!(why, "the cluster does not answer");
            }
        }
    }

    fn on_states(&mut self, asked: &[String], states: &HashMap<String, JobState>, jobs: &JobThread) {
        for job in asked {
            let Some(number) = self.workers.values().find(|one| one.job == *job).map(|one| one.number) else {
                continue;
            };
            match states.get(job) {
                Some(JobState::Running) => {}
                Some(JobState::Waiting(why)) => self.last_trouble = Some(format!("the job waits: {why}")),
                // A controller that was restarted may have forgotten jobs that go on.
                None if self.workers.get(&number).is_some_and(|worker| worker.is_beating()) => {}
                ended => {
                    // Its last events are there: it wrote them before its job ended.
                    self.read(number, true, jobs);
                    let how = match ended {
                        Some(JobState::Ended(how)) => how.as_str(),
                        _ => "its job ended",
                    };
                    self.lose(number, how);
                }
            }
        }
    }

    fn query(&mut self, jobs: &JobThread) {
        if self.is_query_pending || self.queried.is_some_and(|at| at.elapsed() < QUERY) {
            return;
        }
        let alive = self.workers.values().filter(|worker| worker.phase != WorkerPhase::Gone);
        let ids: Vec<String> = alive.map(|worker| worker.job.clone()).collect();
        self.queried = Some(Instant::now());
        if !ids.is_empty() {
            self.is_query_pending = true;
            jobs.order(JobCommand::Query(ids));
        }
    }

    fn end_idle(&mut self) {
        if self.sessions.waiting() > 0 {
            return;
        }
        let is_idle = |worker: &&mut WorkerLink| worker.is_free() && worker.idle_since.elapsed() > LINGER;
        for worker in self.workers.values_mut().filter(is_idle) {
            debug!(worker = worker.number, "ending an idle worker");
            worker.phase = WorkerPhase::Ending;
            let _ = worker.tell(&ToWorker::End);
        }
    }

    /// Sessions do not wait for ever for a machine.
    fn check_waiting(&mut self) {
        let has_ready = self.workers.values().any(|worker| worker.phase == WorkerPhase::Ready);
        if self.sessions.waiting() == 0 || has_ready {
            self.waiting_since = None;
            return;
        }
        if let Some(why) = self.unusable.clone() {
            return self.give_up(&why);
        }
        let since = *self.waiting_since.get_or_insert_with(Instant::now);
        let trouble = self.last_trouble.clone().unwrap_or_else(|| "no machine has started a worker".to_owned());
        if self.failures >= MAX_FAILURES {
            self.give_up(&trouble);
        } else if since.elapsed() > self.settings.wait {
            let seconds = self.settings.wait.as_secs();
            self.give_up(&format!("no machine was free for {seconds} s ({trouble})"));
        }
    }

    /// Nothing more runs on the cluster: what waits goes back to the engines.
    fn give_up(&mut self, why: &str) {
        info!(why, "the cluster is not used any more");
        self.unusable = Some(why.to_owned());
        for (owner, sessions) in self.sessions.take_waiting() {
            if let Some(engine) = self.engines.get(&owner) {
                engine.reports.report(RemoteReport::Refused { sessions, why: why.to_owned() });
            }
        }
    }

    /// Ends all workers, and their jobs.
    fn close(&mut self, run: &RunFiles, jobs: &JobThread) {
        for worker in self.workers.values_mut().filter(|worker| worker.phase != WorkerPhase::Gone) {
            worker.phase = WorkerPhase::Ending;
            let _ = worker.tell(&ToWorker::End);
        }
        // Jobs that wait would start only to find nothing to do.
        let waiting = self.workers.values().filter(|worker| worker.machine.is_empty());
        let waiting: Vec<String> = waiting.map(|worker| worker.job.clone()).collect();
        jobs.order(JobCommand::Cancel(waiting));
        let since = Instant::now();
        let is_ending = |worker: &WorkerLink| worker.phase == WorkerPhase::Ending && !worker.machine.is_empty();
        while self.workers.values().any(is_ending) && since.elapsed() < ENDING {
            std::thread::sleep(TICK);
            for number in self.workers.keys().copied().collect::<Vec<_>>() {
                self.read(number, true, jobs);
            }
            if self.beats.1.elapsed() >= BEAT {
                self.beat(run);
            }
        }
        // A job that was submitted last has no worker here yet.
        while self.submitting > 0
            && let Ok(answer) = jobs.answers.recv_timeout(ENDING)
        {
            self.on_answer(answer, run, jobs);
        }
        let left = self.workers.values().filter(|worker| worker.phase != WorkerPhase::Gone);
        let left: Vec<String> = left.map(|worker| worker.job.clone()).collect();
        if !left.is_empty() {
            debug!(?left, "cancelling jobs that did not end");
            jobs.order(JobCommand::Cancel(left));
        }
        let abandoned = abandoned_runs(&self.settings.shared);
        for (run, ids) in abandoned {
            debug!(run = %run.path().display(), "removing the directory of a run that was killed");
            jobs.order(JobCommand::Cancel(ids));
            let _ = fs::remove_dir_all(run.path());
        }
    }
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}
