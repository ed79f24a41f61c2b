//! The Remote Execution API v2: each order of sessions is one action of a server that speaks it.
//!
//! An action shares no directory with the run and cannot exchange messages while it runs. So a
//! worker of the pool is here a task of this process, which makes an action of each order that the
//! pool gives it (`orders.rs`), and hands on the events that the action brings back. What is sent is
//! a tree of files by their hashes (`store.rs`, `tree.rs`).

mod client;
mod execution;
mod options;
mod orders;
mod protocol;
mod store;
mod tree;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{fs, io};

use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;
use tracing::{debug, info};

pub use options::ReapiServer;

use crate::files::RunFiles;
use crate::inputs::{DigestCache, SentInputs, files_to_send};
use crate::pool::{ClusterError, ClusterSettings, JobState, JobSystem, MachinePool, SubmitError};
use crate::reapi::client::ReapiClient;
use crate::reapi::orders::{ActionMaker, OrderTask};
use crate::reapi::protocol::{ActionCommand, Platform, named_values};
use crate::reapi::store::{Blobs, batch_size, upload};
use crate::reapi::tree::{EVENTS, PROGRAM, RUN, TreeBuilder};

/// An action takes about as long to start as a second of tests: it gets more of them.
const ORDER_TIME: Duration = Duration::from_secs(20);
/// How long a call at the end of a run may take.
const GOODBYE: Duration = Duration::from_secs(5);

/// What a server can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReapiState {
    /// The newest version of the API that it speaks, such as `2.2`.
    pub version: String,
}

impl ReapiServer {
    /// The machines behind the server.
    pub fn pool(self, settings: ClusterSettings) -> MachinePool {
        MachinePool::start(settings, Box::new(Reapi { server: self, open: None, tasks: HashMap::new() }))
    }

    /// Asks the server what it can do.
    pub fn state(&self) -> Result<ReapiState, ClusterError> {
        let runtime = runtime().map_err(|error| ClusterError(error.to_string()))?;
        let capabilities = runtime.block_on(async {
            let client = ReapiClient::new(self, Duration::ZERO)?;
            client.capabilities().await.map_err(ClusterError)
        })?;
        let version = capabilities.high_api_version.unwrap_or_default();
        Ok(ReapiState { version: format!("{}.{}", version.major, version.minor) })
    }
}

/// A server as the pool sees it.
struct Reapi {
    server: ReapiServer,
    open: Option<OpenServer>,
    tasks: HashMap<String, RunningTask>,
}

/// The connection, and what is the same for all actions.
struct OpenServer {
    runtime: Runtime,
    client: Arc<ReapiClient>,
    batch: usize,
    inputs: Blobs,
    tree: TreeBuilder,
    wrapper: Vec<String>,
    maker: Option<Arc<ActionMaker>>,
}

struct RunningTask {
    task: JoinHandle<()>,
    is_stopped: Arc<AtomicBool>,
}

fn runtime() -> io::Result<Runtime> {
    Builder::new_multi_thread().worker_threads(2).thread_name("reapi").enable_all().build()
}

impl Reapi {
    fn connect(&self, settings: &ClusterSettings) -> Result<OpenServer, String> {
        let runtime = runtime().map_err(|error| error.to_string())?;
        let (client, capabilities) = runtime.block_on(async {
            let client = ReapiClient::new(&self.server, settings.wait).map_err(|error| error.0)?;
            let capabilities = client.capabilities().await?;
            Ok::<_, String>((client, capabilities))
        })?;
        info!(address = self.server.address, ?capabilities, "connected with a server");
        Ok(OpenServer {
            runtime,
            client: Arc::new(client),
            batch: batch_size(capabilities.cache.map(|cache| cache.max_batch_total_size_bytes)),
            inputs: Blobs::default(),
            tree: TreeBuilder::default(),
            wrapper: settings.wrapper.clone(),
            maker: None,
        })
    }
}

impl JobSystem for Reapi {
    fn send_inputs(&mut self, settings: &ClusterSettings, digests: &mut DigestCache) -> io::Result<SentInputs> {
        if self.open.is_none() {
            self.open = Some(self.connect(settings).map_err(io::Error::other)?);
        }
        let Some(open) = &mut self.open else { return Err(io::Error::other("there is no connection")) };
        let (mut sent, found) = files_to_send(&settings.inputs, &settings.program, digests)?;
        let (mut blobs, mut inputs, mut tree) = (Blobs::default(), TreeBuilder::default(), TreeBuilder::default());
        for (path, hash, size) in found.files {
            let name = format!("files/{}/{hash}", &hash[..2]);
            inputs.add(&name, blobs.add_file(&hash, size, path));
        }
        for (hash, manifest) in found.manifests {
            inputs.add(&format!("trees/{hash}"), blobs.add_bytes(manifest));
        }
        let inputs = inputs.store(&mut blobs);
        let (path, hash, size) = found.program;
        tree.add(PROGRAM, blobs.add_file(&hash, size, path));
        tree.add_stored("inputs", inputs);
        sent.moved = open.runtime.block_on(upload(&open.client, &blobs, open.batch))?;
        (open.inputs, open.tree) = (blobs, tree);
        Ok(sent)
    }

    fn submit(&mut self, run: &RunFiles, first: u32, count: u32) -> Result<Vec<String>, SubmitError> {
        let refused = |why: String| SubmitError { why, is_temporary: false };
        let open = self.open.as_mut().ok_or_else(|| refused("there is no connection".to_owned()))?;
        let maker = match &open.maker {
            Some(maker) => maker.clone(),
            None => {
                let job = fs::read(run.job()).map_err(|error| refused(error.to_string()))?;
                let arguments = [format!("./{PROGRAM}"), "engine-worker".to_owned(), RUN.to_owned(), "0".to_owned()];
                let properties = named_values(&self.server.properties);
                let platform = (!properties.is_empty()).then_some(Platform { properties });
                let command = ActionCommand {
                    arguments: open.wrapper.iter().cloned().chain(arguments).collect(),
                    environment_variables: named_values(&self.server.environment),
                    output_files: vec![EVENTS.to_owned()],
                    output_paths: vec![EVENTS.to_owned()],
                    platform,
                };
                let maker = ActionMaker {
                    client: open.client.clone(),
                    address: self.server.address.clone(),
                    batch: open.batch,
                    inputs: open.inputs.clone(),
                    tree: open.tree.clone(),
                    job,
                    command,
                    timeout: self.server.timeout,
                    progress: orders::ActionProgress::default(),
                };
                open.maker.insert(Arc::new(maker)).clone()
            }
        };
        let start = |number: u32| {
            let id = number.to_string();
            let is_stopped = Arc::new(AtomicBool::new(false));
            let task = OrderTask::new(maker.clone(), run.of_worker(number), is_stopped.clone());
            let task = open.runtime.spawn(task.serve());
            self.tasks.insert(id.clone(), RunningTask { task, is_stopped });
            id
        };
        Ok((first..first + count).map(start).collect())
    }

    fn states(&mut self, jobs: &[String]) -> Result<HashMap<String, JobState>, String> {
        let state = |id: &String| {
            let task = self.tasks.get(id)?;
            let is_running = !task.task.is_finished();
            let state = if is_running { JobState::Running } else { JobState::Ended("its task ended".to_owned()) };
            Some((id.clone(), state))
        };
        Ok(jobs.iter().filter_map(state).collect())
    }

    fn cancel(&mut self, jobs: &[String]) {
        for task in jobs.iter().filter_map(|id| self.tasks.get(id)) {
            task.is_stopped.store(true, Ordering::Relaxed);
        }
    }

    fn order_time(&self) -> Duration {
        ORDER_TIME
    }

    fn has_one_order(&self) -> bool {
        true
    }
}

impl Drop for Reapi {
    fn drop(&mut self) {
        let Some(open) = self.open.take() else { return };
        let tasks = std::mem::take(&mut self.tasks);
        tasks.values().for_each(|task| task.is_stopped.store(true, Ordering::Relaxed));
        // Actions that run are cancelled.
        open.runtime.block_on(async {
            let all = async {
                for task in tasks.into_values() {
                    let _ = task.task.await;
                }
            };
            if tokio::time::timeout(GOODBYE, all).await.is_err() {
                debug!("actions were not cancelled in time");
            }
        });
        open.runtime.shutdown_background();
    }
}
