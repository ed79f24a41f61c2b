//! The worker: a process on another machine that has the inputs of a run, takes sessions, runs them
//! with the local engine, and sends back the events.
//!
//! It ends when it is ordered to, when the unflake that uses it is silent, and when its job ends.

mod engines;
mod orders;
mod place;

use std::path::Path;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex};
use std::{fs, io, thread};

use tracing::{debug, info};
use unflake_engine::Launch;
use unflake_model::{Event, ProblemKind, Session};

use crate::files::{BEAT, RunFiles, contents, remove_work_dir};
use crate::frames::{FrameWriter, SentFile};
use crate::messages::{CLUSTER_VERSION, FromWorker, JobFile};
use crate::worker::engines::Engines;
use crate::worker::orders::{OrderQueue, WorkerOrder};

/// Makes a launch on this machine from the test command and the settings of its runner.
pub type BaseLaunch<'a> = &'a dyn Fn(Vec<String>, &[String]) -> Launch;

/// The events file, for several threads.
#[derive(Clone)]
pub(crate) struct EventLog(Arc<Mutex<FrameWriter>>);

impl EventLog {
    pub(crate) fn new(path: &Path) -> Self {
        Self(Arc::new(Mutex::new(FrameWriter::new(path))))
    }

    pub(crate) fn append(&self, message: &FromWorker, files: Vec<SentFile>) -> io::Result<()> {
        self.0.lock().expect("no thread panics while it writes").append(message, files)
    }

    pub(crate) fn flush(&self) -> io::Result<()> {
        self.0.lock().expect("no thread panics while it writes").flush()
    }

    pub(crate) fn tell(&self, message: &FromWorker) -> io::Result<()> {
        self.append(message, Vec::new())?;
        self.flush()
    }
}

/// The main function of worker `number` of the run with this directory. The process must have one
/// thread.
pub fn work(run: &Path, number: u32, base: BaseLaunch<'_>) -> Result<(), String> {
    // An action starts it with a path relative to its directory.
    let run = RunFiles::at(&run.canonicalize().unwrap_or_else(|_| run.to_owned()));
    let files = run.of_worker(number);
    let text = |what: &'static str| move |error: io::Error| format!("{what}: {error}");
    if !files.claim().map_err(text("the worker cannot be claimed"))? {
        info!(number, "another process is this worker already");
        return Ok(());
    }
    let log = EventLog::new(&files.events());
    let slots = slots();
    log.tell(&FromWorker::Hello { machine: machine(), slots }).map_err(text("no events can be written"))?;
    match prepare(&run, &log) {
        Ok((job, _lock, work)) => {
            let queue = match job.has_one_order {
                true => OrderQueue::complete(&files.orders()).map_err(text("orders cannot be read"))?,
                false => OrderQueue::start(&files.orders(), &run.beat()),
            };
            beat(log.clone());
            let mut engines = Engines::new(base, &job, machine(), slots);
            let ended = serve(&mut engines, &queue.orders, &log);
            engines.close();
            let _ = log.tell(&FromWorker::Bye);
            remove_work_dir(&work);
            ended.map_err(text("events cannot be written"))
        }
        Err(why) => {
            let _ = log.tell(&FromWorker::Failed { why: why.clone() });
            Err(why)
        }
    }
}

/// Fetches the inputs and enters the directory of the test command.
fn prepare(run: &RunFiles, log: &EventLog) -> Result<(JobFile, impl Drop + use<>, std::path::PathBuf), String> {
    let text = fs::read(run.job()).map_err(|error| format!("the job cannot be read: {error}"))?;
    let job: JobFile = serde_json::from_slice(&text).map_err(|error| format!("the job cannot be read: {error}"))?;
    if job.version != CLUSTER_VERSION {
        return Err(format!("the job has version {}, this unflake {CLUSTER_VERSION}", job.version));
    }
    let (ready, lock, work) = place::take_place(run, &job)?;
    log.tell(&ready).map_err(|error| format!("no events can be written: {error}"))?;
    Ok((job, lock, work))
}

/// Runs sessions until there are no more.
fn serve(engines: &mut Engines<'_>, orders: &Receiver<WorkerOrder>, log: &EventLog) -> io::Result<()> {
    while let Ok(order) = orders.recv() {
        let WorkerOrder::Run { number, owner, launch, sessions, stop } = order else { return Ok(()) };
        debug!(owner, sessions = sessions.len(), "sessions received");
        run_sessions(engines, owner, &launch, sessions, &stop, log)?;
        log.tell(&FromWorker::Done { number })?;
    }
    Ok(())
}

fn run_sessions(
    engines: &mut Engines<'_>,
    owner: u64,
    launch: &unflake_engine::RemoteLaunch,
    sessions: Vec<Session>,
    stop: &orders::StopSwitch,
    log: &EventLog,
) -> io::Result<()> {
    let mut written = Ok(());
    let mut send = |event: &Event| {
        let files = recorded_files(event).unwrap_or_else(|error| {
            debug!(%error, "the files of an event cannot be read");
            Vec::new()
        });
        let event = Box::new(event.clone());
        log.append(&FromWorker::Event { owner, event }, files)
    };
    match engines.engine(launch, stop) {
        // Another machine may be able to.
        Err(why) if !stop.is_stopped() => {
            log.tell(&FromWorker::Failed { why: why.clone() })?;
            Err(io::Error::other(why))
        }
        Err(_) => Ok(()),
        Ok(engine) => {
            engine.run(sessions, &mut |events| {
                let sent = events.iter().filter(|event| is_of_session(event)).try_for_each(&mut send);
                let sent = sent.and_then(|()| log.flush());
                if written.is_ok() {
                    written = sent;
                }
            });
            engines.drop_stopped();
            written
        }
    }
}

/// What belongs to sessions; the listing of this process does not.
fn is_of_session(event: &Event) -> bool {
    match event {
        Event::Problem(problem) => problem.kind == ProblemKind::Protocol,
        _ => !matches!(event, Event::EnvironmentStarted(_) | Event::TestsListed { .. }),
    }
}

/// The files that an event announces. They are removed here.
fn recorded_files(event: &Event) -> io::Result<Vec<SentFile>> {
    match event {
        Event::TraceRecorded { directory, .. } => {
            let files = contents(directory)?;
            fs::remove_dir_all(directory)?;
            Ok(files)
        }
        Event::LayersRecorded { file, .. } => {
            let files = contents(file)?;
            fs::remove_file(file)?;
            Ok(files)
        }
        _ => Ok(Vec::new()),
    }
}

/// Says that this process is alive, for as long as it is.
fn beat(log: EventLog) {
    thread::spawn(move || {
        while log.tell(&FromWorker::Beat).is_ok() {
            thread::sleep(BEAT);
        }
    });
}

/// The name of this machine.
fn machine() -> String {
    let of_job = std::env::var("SLURMD_NODENAME").ok().filter(|name| !name.is_empty());
    let of_system = || nix::unistd::gethostname().ok().and_then(|name| name.into_string().ok());
    of_job.or_else(of_system).unwrap_or_else(|| "unknown".to_owned())
}

/// How many sessions run at once here.
fn slots() -> usize {
    let given = std::env::var("SLURM_CPUS_PER_TASK").ok().and_then(|text| text.parse().ok());
    given.filter(|slots| *slots > 0).unwrap_or(1)
}
