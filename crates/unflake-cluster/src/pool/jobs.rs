//! The commands to a cluster, in a thread of their own: a cluster that does not answer delays no
//! results.

use std::collections::HashMap;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tracing::debug;

use super::ClusterSettings;
use crate::files::RunFiles;
use crate::inputs::{DigestCache, SentInputs, send};

/// A cluster that starts workers as its jobs.
pub(crate) trait JobSystem: Send {
    /// Sends the inputs. Files may change meanwhile: then it is done again.
    fn send_inputs(&mut self, settings: &ClusterSettings, digests: &mut DigestCache) -> io::Result<SentInputs> {
        let ClusterSettings { inputs, program, shared, .. } = settings;
        send(inputs, program, shared, digests).or_else(|error| {
            debug!(%error, "sending the inputs again");
            send(inputs, program, shared, digests)
        })
    }

    /// Starts workers `first` to `first + count - 1`. Returns the id of each job.
    fn submit(&mut self, run: &RunFiles, first: u32, count: u32) -> Result<Vec<String>, SubmitError>;

    /// The jobs that wait or run. Those that are missing have ended, for the given reason if it is
    /// known.
    fn states(&mut self, jobs: &[String]) -> Result<HashMap<String, JobState>, String>;

    /// Ends jobs. Those that have ended do not matter.
    fn cancel(&mut self, jobs: &[String]);

    /// Longer orders save nothing, and leave others without work.
    fn order_time(&self) -> Duration {
        Duration::from_secs(1)
    }

    /// Whether the process of a worker has one order, and no pool watches it.
    fn has_one_order(&self) -> bool {
        false
    }
}

/// Why no job was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SubmitError {
    pub(crate) why: String,
    /// It may be possible later.
    pub(crate) is_temporary: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum JobState {
    /// It waits, for this reason.
    Waiting(String),
    Running,
    /// It has ended, like this.
    Ended(String),
}

pub(super) enum JobCommand {
    Submit { first: u32, count: u32 },
    Query(Vec<String>),
    Cancel(Vec<String>),
}

pub(super) enum JobAnswer {
    Submitted { first: u32, count: u32, jobs: Result<Vec<String>, SubmitError> },
    States { asked: Vec<String>, states: Result<HashMap<String, JobState>, String> },
}

/// The thread with the cluster. Dropped: it ends after the last command.
pub(super) struct JobThread {
    commands: Option<Sender<JobCommand>>,
    pub(super) answers: Receiver<JobAnswer>,
    thread: Option<JoinHandle<()>>,
}

impl JobThread {
    pub(super) fn start(mut system: Box<dyn JobSystem>, run: RunFiles) -> Self {
        let (commands, received) = channel();
        let (to, answers) = channel();
        let thread = thread::spawn(move || {
            while let Ok(command) = received.recv() {
                let _ = match command {
                    JobCommand::Submit { first, count } => {
                        to.send(JobAnswer::Submitted { first, count, jobs: system.submit(&run, first, count) })
                    }
                    JobCommand::Query(asked) => {
                        let states = system.states(&asked);
                        to.send(JobAnswer::States { asked, states })
                    }
                    JobCommand::Cancel(jobs) => {
                        system.cancel(&jobs);
                        Ok(())
                    }
                };
            }
        });
        Self { commands: Some(commands), answers, thread: Some(thread) }
    }

    pub(super) fn order(&self, command: JobCommand) {
        let _ = self.commands.as_ref().map(|commands| commands.send(command));
    }
}

impl Drop for JobThread {
    fn drop(&mut self) {
        self.commands = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
