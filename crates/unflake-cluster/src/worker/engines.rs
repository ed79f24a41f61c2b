//! The engines of a worker: one for each launch that the run uses. Starting one takes as long as
//! listing the tests, so the last ones stay.

use tracing::debug;
use unflake_engine::{Engine, Launch, RemoteLaunch, SharedBuilds};
use unflake_model::Event;

use super::BaseLaunch;
use super::orders::StopSwitch;
use crate::messages::JobFile;

/// So many engines stay. Each has a process that has collected the tests.
const MAX_ENGINES: usize = 2;

pub(super) struct Engines<'a> {
    base: BaseLaunch<'a>,
    options: &'a [String],
    machine: String,
    slots: usize,
    builds: Option<SharedBuilds>,
    /// The last used last.
    open: Vec<(RemoteLaunch, Engine)>,
}

impl<'a> Engines<'a> {
    pub(super) fn new(base: BaseLaunch<'a>, job: &'a JobFile, machine: String, slots: usize) -> Self {
        Self { base, options: &job.options, machine, slots, builds: SharedBuilds::new().ok(), open: Vec::new() }
    }

    /// The engine for a launch, with its tests listed. The error is for the user.
    pub(super) fn engine(&mut self, launch: &RemoteLaunch, stop: &StopSwitch) -> Result<&mut Engine, String> {
        let at = self.open.iter().position(|(one, _)| one == launch);
        let entry = match at {
            Some(at) => self.open.remove(at),
            None => {
                if self.open.len() >= MAX_ENGINES {
                    close(self.open.remove(0).1);
                }
                (launch.clone(), self.start(launch, stop)?)
            }
        };
        stop.connect(entry.1.interrupter());
        self.open.push(entry);
        Ok(&mut self.open.last_mut().expect("it was just added").1)
    }

    fn start(&self, launch: &RemoteLaunch, stop: &StopSwitch) -> Result<Engine, String> {
        debug!(?launch, "starting an engine");
        let base = (self.base)(launch.command.clone(), self.options);
        let base = Launch { jobs: self.slots, machine: Some(self.machine.clone()), ..base };
        let mut engine = Engine::new(launch.on(base, self.builds.clone())).map_err(|error| error.to_string())?;
        stop.connect(engine.interrupter());
        let mut problem = None;
        let is_listed = engine.list(&mut |events| {
            for event in events {
                if let Event::Problem(reported) = event {
                    problem.get_or_insert_with(|| reported.text.lines().next().unwrap_or_default().to_owned());
                }
            }
        });
        if is_listed {
            return Ok(engine);
        }
        close(engine);
        let why = problem.unwrap_or_else(|| "the runner did not list its tests".to_owned());
        Err(if stop.is_stopped() { "stopped".to_owned() } else { format!("on {}: {why}", self.machine) })
    }

    /// An engine that was stopped runs nothing any more.
    pub(super) fn drop_stopped(&mut self) {
        let stopped: Vec<_> = self.open.extract_if(.., |(_, engine)| engine.is_stopped()).collect();
        stopped.into_iter().for_each(|(_, engine)| close(engine));
    }

    pub(super) fn close(self) {
        self.open.into_iter().for_each(|(_, engine)| close(engine));
    }
}

fn close(engine: Engine) {
    engine.close(0, &mut |_| {});
}
