//! The workers of a run, for all engines of one unflake process. Workers start when there are
//! sessions for them, and end when there have been none for a while, or with the run.

mod assignment;
mod jobs;
mod link;
mod service;

use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use unflake_engine::{RemoteLaunch, RemoteMachines, RemoteReporter, RemoteSessions};
use unflake_model::Session;

pub(crate) use jobs::{JobState, JobSystem, SubmitError};

use crate::inputs::InputPaths;
use crate::pool::service::PoolService;

/// How to use a cluster.
#[derive(Clone, Debug)]
pub struct ClusterSettings {
    /// A directory that all machines see under the same path.
    pub shared: PathBuf,
    /// Where a machine keeps inputs. None: the usual place.
    pub node_directory: Option<PathBuf>,
    pub inputs: InputPaths,
    /// The working directory of the test command.
    pub directory: PathBuf,
    /// Settings of the runner, `name=value`.
    pub options: Vec<String>,
    /// The program that the workers are, and where the hashes of files are kept.
    pub program: PathBuf,
    pub digests: Option<PathBuf>,
    /// Words in front of the command of a worker, such as those that start a container.
    pub wrapper: Vec<String>,
    /// How many workers may run at once, and how many sessions each runs at once.
    pub workers: usize,
    pub slots: usize,
    /// How long to wait for a machine before sessions run on this one.
    pub wait: Duration,
}

/// A cluster that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ClusterError(pub String);

/// Machines of a cluster. Dropped: everything that runs there ends.
pub struct MachinePool {
    orders: Sender<PoolOrder>,
    engines: AtomicU64,
    thread: Option<JoinHandle<()>>,
}

/// What engines want of the pool.
enum PoolOrder {
    Connect { owner: u64, launch: Box<RemoteLaunch>, reports: RemoteReporter },
    Run { owner: u64, sessions: Vec<Session> },
    Stop { owner: u64 },
    Disconnect { owner: u64 },
    Close,
}

impl MachinePool {
    pub(crate) fn start(settings: ClusterSettings, system: Box<dyn JobSystem>) -> Self {
        let (orders, received) = channel();
        let thread = thread::spawn(move || PoolService::new(settings).serve(system, &received));
        Self { orders, engines: AtomicU64::new(0), thread: Some(thread) }
    }
}

impl fmt::Debug for MachinePool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MachinePool")
    }
}

impl RemoteMachines for MachinePool {
    fn connect(&self, launch: RemoteLaunch, reports: RemoteReporter) -> Box<dyn RemoteSessions> {
        let owner = self.engines.fetch_add(1, Ordering::Relaxed);
        let _ = self.orders.send(PoolOrder::Connect { owner, launch: Box::new(launch), reports });
        Box::new(PoolConnection { owner, orders: self.orders.clone() })
    }
}

impl Drop for MachinePool {
    fn drop(&mut self) {
        let _ = self.orders.send(PoolOrder::Close);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The sessions of one engine.
struct PoolConnection {
    owner: u64,
    orders: Sender<PoolOrder>,
}

impl RemoteSessions for PoolConnection {
    fn send(&mut self, sessions: Vec<Session>) {
        let _ = self.orders.send(PoolOrder::Run { owner: self.owner, sessions });
    }

    fn stop(&mut self) {
        let _ = self.orders.send(PoolOrder::Stop { owner: self.owner });
    }
}

impl Drop for PoolConnection {
    fn drop(&mut self) {
        let _ = self.orders.send(PoolOrder::Disconnect { owner: self.owner });
    }
}
