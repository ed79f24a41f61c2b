//! A worker of the pool whose orders are actions. It reads orders and writes events as a worker on
//! a shared directory does; the events of an order come back with its action.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use prost::Message;
use tracing::debug;
use unflake_model::{Event, World, WorldId};

use super::client::ReapiClient;
use super::execution::{ActionEnd, Watcher, execute, is_executing};
use super::protocol::{Action, ActionResult, Command, Digest, Seconds};
use super::store::{Blobs, download, upload};
use super::tree::{EVENTS, JOB, ORDERS, TreeBuilder};
use crate::files::{BEAT, WorkerFiles, write_whole};
use crate::frames::{FrameReader, FrameWriter};
use crate::messages::{FromWorker, ToWorker};
use crate::worker::EventLog;

const TICK: Duration = Duration::from_millis(15);
/// After so many actions in a row that could not run sessions, no more are started.
const MAX_FAILURES: u32 = 4;
/// So much of what an action printed is shown.
const PRINTED: usize = 300;

/// What all actions of a run have in common.
pub(super) struct ActionMaker {
    pub(super) client: Arc<ReapiClient>,
    pub(super) address: String,
    pub(super) batch: usize,
    pub(super) inputs: Blobs,
    pub(super) tree: TreeBuilder,
    pub(super) job: Vec<u8>,
    pub(super) command: Command,
    pub(super) timeout: Option<Duration>,
    pub(super) progress: Progress,
}

/// What is known of all actions of the run.
pub(super) struct Progress {
    /// When an action was last seen on a worker.
    moved: Mutex<Instant>,
    /// How many actions in a row could not run sessions.
    failures: AtomicU32,
}

impl Default for Progress {
    fn default() -> Self {
        Self { moved: Mutex::new(Instant::now()), failures: AtomicU32::new(0) }
    }
}

impl ActionMaker {
    /// Stores the action for an order. Only what is not the same for all actions is sent.
    async fn action(&self, orders: Vec<u8>) -> io::Result<Digest> {
        let (mut blobs, mut tree) = (Blobs::default(), self.tree.clone());
        tree.add(ORDERS, blobs.add_bytes(orders));
        tree.add(JOB, blobs.add_bytes(self.job.clone()));
        let action = Action {
            command_digest: Some(blobs.add_bytes(self.command.encode_to_vec())),
            input_root_digest: Some(tree.store(&mut blobs)),
            timeout: self.timeout.map(|time| Seconds { seconds: time.as_secs() as i64 }),
            do_not_cache: true,
            platform: self.command.platform.clone(),
        };
        let action = blobs.add_bytes(action.encode_to_vec());
        upload(&self.client, &blobs, self.batch).await?;
        Ok(action)
    }
}

/// One worker of the pool.
pub(super) struct OrderTask {
    maker: Arc<ActionMaker>,
    files: WorkerFiles,
    is_stopped: Arc<AtomicBool>,
    orders: FrameReader<ToWorker>,
    events: EventLog,
}

/// Why a worker takes no more orders.
enum TaskEnd {
    Ordered,
    Lost(String),
    Unusable(String),
}

impl OrderTask {
    pub(super) fn new(maker: Arc<ActionMaker>, files: WorkerFiles, is_stopped: Arc<AtomicBool>) -> Self {
        let (orders, events) = (FrameReader::new(&files.orders()), EventLog::new(&files.events()));
        Self { maker, files, is_stopped, orders, events }
    }

    pub(super) async fn serve(mut self) {
        let beat = tokio::spawn(beat(self.events.clone()));
        let last = match self.run().await {
            Ok(TaskEnd::Ordered) => FromWorker::Bye,
            Ok(TaskEnd::Lost(why)) => FromWorker::Failed { why },
            Ok(TaskEnd::Unusable(why)) => FromWorker::Unusable { why },
            Err(error) => FromWorker::Failed { why: error.to_string() },
        };
        beat.abort();
        if let Err(error) = self.events.tell(&last) {
            debug!(%error, "the end of a worker cannot be written");
        }
    }

    async fn run(&mut self) -> io::Result<TaskEnd> {
        self.files.create()?;
        let machine = self.maker.address.clone();
        self.events.tell(&FromWorker::Hello { machine, slots: 1 })?;
        self.events.tell(&FromWorker::Ready { fetched: 0, notes: Vec::new() })?;
        loop {
            for frame in self.orders.read()? {
                match frame.message {
                    ToWorker::End => return Ok(TaskEnd::Ordered),
                    ToWorker::Stop { .. } => {}
                    order @ ToWorker::Run { .. } => {
                        if let Some(end) = self.run_order(&order).await? {
                            return Ok(end);
                        }
                    }
                }
            }
            if self.is_stopped.load(Ordering::Relaxed) {
                return Ok(TaskEnd::Ordered);
            }
            tokio::time::sleep(TICK).await;
        }
    }

    /// Runs an order as an action. Returns why it takes no more of them.
    async fn run_order(&mut self, order: &ToWorker) -> io::Result<Option<TaskEnd>> {
        let ToWorker::Run { number, owner, .. } = order else { return Ok(None) };
        let (number, owner) = (*number, *owner);
        let mut is_sent_again = false;
        let maker = self.maker.clone();
        loop {
            let action = match maker.action(FrameWriter::bytes(order)?).await {
                Ok(action) => action,
                Err(error) => return Ok(Some(TaskEnd::Unusable(error.to_string()))),
            };
            debug!(number, hash = action.hash, "an action is executed");
            let mut watcher = OrderWatcher { queued: Instant::now(), owner, end: None, task: self };
            let ended = execute(&maker.client, &action, &mut watcher).await;
            let end = watcher.end;
            match ended {
                ActionEnd::Ran(result) => return self.take_result(number, result).await,
                ActionEnd::Stopped => {
                    if end.is_some() {
                        return Ok(end);
                    }
                    self.events.tell(&FromWorker::Done { number })?;
                    return Ok(None);
                }
                ActionEnd::Lost(why) => return Ok(Some(TaskEnd::Lost(why))),
                ActionEnd::Refused(why) => return Ok(Some(TaskEnd::Unusable(why))),
                ActionEnd::InputsMissing(why) if is_sent_again => return Ok(Some(TaskEnd::Unusable(why))),
                ActionEnd::InputsMissing(why) => {
                    debug!(why, "inputs are sent again");
                    is_sent_again = true;
                    if let Err(error) = upload(&maker.client, &maker.inputs, maker.batch).await {
                        return Ok(Some(TaskEnd::Unusable(error.to_string())));
                    }
                }
            }
        }
    }

    /// Hands on what an action brought back.
    async fn take_result(&mut self, number: u64, result: ActionResult) -> io::Result<Option<TaskEnd>> {
        let maker = self.maker.clone();
        let named = result.execution_metadata.as_ref().map(|data| data.worker.clone());
        let name = named.filter(|name| !name.is_empty());
        let events = result.output_files.iter().find(|file| file.path == EVENTS);
        let content = match events {
            Some(file) if !file.contents.is_empty() => Ok(file.contents.clone()),
            Some(file) => download(&maker.client, &file.digest.clone().unwrap_or_default()).await,
            None => Ok(Vec::new()),
        };
        let content = match content {
            Ok(content) => content,
            Err(why) => return Ok(Some(TaskEnd::Lost(why))),
        };
        let came_back = self.hand_on(content, name)?;
        match came_back {
            CameBack { order: Some(done), .. } if done == number => {
                maker.progress.failures.store(0, Ordering::Relaxed);
                Ok(None)
            }
            CameBack { why, is_ready, .. } => {
                let why = match why {
                    Some(why) => why,
                    None => {
                        format!("the action ended with exit code {}{}", result.exit_code, self.printed(&result).await)
                    }
                };
                let failures = match is_ready {
                    true => 0,
                    false => maker.progress.failures.fetch_add(1, Ordering::Relaxed) + 1,
                };
                let is_last = failures >= MAX_FAILURES;
                Ok(Some(if is_last { TaskEnd::Unusable(why) } else { TaskEnd::Lost(why) }))
            }
        }
    }

    /// The last line that an action wrote to its standard error.
    async fn printed(&self, result: &ActionResult) -> String {
        let bytes = match &result.stderr_digest {
            Some(digest) if result.stderr_raw.is_empty() => {
                download(&self.maker.client, digest).await.unwrap_or_default()
            }
            _ => result.stderr_raw.clone(),
        };
        let text = String::from_utf8_lossy(&bytes);
        let line: String = text.trim().lines().last().unwrap_or_default().chars().take(PRINTED).collect();
        if line.is_empty() { line } else { format!(": {line}") }
    }

    fn hand_on(&mut self, content: Vec<u8>, name: Option<String>) -> io::Result<CameBack> {
        let place: PathBuf = self.files.events().with_extension("action");
        write_whole(&place, &content, 0o600)?;
        let frames = FrameReader::<FromWorker>::new(&place).read();
        let _ = std::fs::remove_file(&place);
        let mut back = CameBack::default();
        let mut worlds = WorldNames { name, ids: HashMap::new() };
        // What is damaged has no end, and counts as lost.
        for mut frame in frames.unwrap_or_default() {
            match &mut frame.message {
                FromWorker::Hello { machine, .. } => {
                    let name = worlds.name.get_or_insert_with(|| machine.clone()).clone();
                    *machine = name;
                }
                FromWorker::Ready { .. } => back.is_ready = true,
                FromWorker::Event { event, .. } => worlds.rename(event),
                FromWorker::Done { number } => back.order = Some(*number),
                FromWorker::Failed { why } | FromWorker::Unusable { why } => {
                    back.why = Some(why.clone());
                    continue;
                }
                FromWorker::Beat | FromWorker::Bye => continue,
            }
            self.events.append(&frame.message, frame.files)?;
        }
        self.events.flush()?;
        Ok(back)
    }
}

/// Says that this worker is there, whatever it waits for.
async fn beat(events: EventLog) {
    while events.tell(&FromWorker::Beat).is_ok() {
        tokio::time::sleep(BEAT).await;
    }
}

/// What an action said besides events.
#[derive(Default)]
struct CameBack {
    /// The order that it has done.
    order: Option<u64>,
    is_ready: bool,
    why: Option<String>,
}

/// Gives worlds the name that the server has for a machine. The host name of a container says
/// nothing.
struct WorldNames {
    name: Option<String>,
    ids: HashMap<WorldId, WorldId>,
}

impl WorldNames {
    fn rename(&mut self, event: &mut Event) {
        match event {
            Event::WorldEntered(world) => {
                let before = world.id();
                let machine = self.name.clone().or_else(|| world.machine.clone());
                *world = World { machine, ..world.clone() };
                self.ids.insert(before, world.id());
            }
            Event::AttemptEnded(attempt) => {
                attempt.world = attempt.world.map(|id| self.ids.get(&id).copied().unwrap_or(id));
            }
            _ => {}
        }
    }
}

/// Looks after an order while its action runs.
struct OrderWatcher<'a> {
    task: &'a mut OrderTask,
    owner: u64,
    queued: Instant,
    end: Option<TaskEnd>,
}

impl Watcher for OrderWatcher<'_> {
    fn look(&mut self, stage: i32) -> Result<bool, String> {
        let text = |error: io::Error| error.to_string();
        for frame in self.task.orders.read().map_err(text)? {
            match frame.message {
                ToWorker::End => self.end = Some(TaskEnd::Ordered),
                ToWorker::Stop { owner } if owner == self.owner => return Ok(false),
                // The pool gives one order at a time.
                ToWorker::Stop { .. } | ToWorker::Run { .. } => {}
            }
        }
        if self.task.is_stopped.load(Ordering::Relaxed) {
            self.end = Some(TaskEnd::Ordered);
        }
        if self.end.is_some() {
            return Ok(false);
        }
        let wait = self.task.maker.client.patience;
        let mut moved = self.task.maker.progress.moved.lock().expect("no thread panics while it has the lock");
        if is_executing(stage) {
            *moved = Instant::now();
        } else if moved.elapsed() > wait && self.queued.elapsed() > wait {
            return Err(format!("no worker took an action for {} s", wait.as_secs()));
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use unflake_model::{Attempt, EnvironmentId, Isolation, Outcome, Purpose, SessionId, Timestamp};

    use super::*;

    fn attempt(world: &World) -> Event {
        Event::AttemptEnded(Attempt {
            test: "t".into(),
            session: SessionId(1),
            purpose: Purpose::Twice,
            environment: EnvironmentId(1),
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

    #[test]
    fn worlds_have_the_name_that_the_server_has_for_the_worker() {
        let on = |name: &str| World { machine: Some(name.to_owned()), ..World::default() };
        let renamed = |name: Option<&str>| {
            let mut worlds = WorldNames { name: name.map(str::to_owned), ids: HashMap::new() };
            let mut events = [Event::WorldEntered(on("container")), attempt(&on("container"))];
            events.iter_mut().for_each(|event| worlds.rename(event));
            events
        };
        assert_eq!(renamed(Some("w1")), [Event::WorldEntered(on("w1")), attempt(&on("w1"))]);
        assert_eq!(renamed(None), [Event::WorldEntered(on("container")), attempt(&on("container"))]);
    }
}
