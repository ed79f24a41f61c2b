//! Other machines for the sessions of a command, and the process that runs there.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use unflake_cluster::{ClusterError, ClusterSettings, InputPaths, ReapiServer, Slurm};
use unflake_engine::{Launch, RemoteMachines};
use unflake_runners::RunnerOptions;

use crate::args::internal::EngineWorkerArgs;
use crate::config::project;
use crate::config::settings::{EngineChoice, SettingSource, Settings};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::hash;
use crate::launch::{self, DEFAULT_LIMITS};

/// So many sessions run at once on a cluster where the user gives no number.
const MOST_JOBS: usize = 64;
/// The same for a server that does not say how many workers it has.
const JOBS_OF_SERVER: usize = 8;
/// A wait without a limit.
const NO_LIMIT: Duration = Duration::from_secs(u32::MAX as u64);

/// The machines that a command has connected with. Sessions of all its engines share workers.
#[derive(Debug, Default)]
pub(crate) struct Machines(Mutex<Option<Arc<dyn RemoteMachines>>>);

impl Machines {
    /// A launch whose fresh sessions run where the settings say.
    pub(crate) fn launch(&self, settings: &Settings, here: &Path) -> Launch {
        let launch = launch::launch(settings);
        if settings.engine.value == EngineChoice::Local {
            return launch;
        }
        let mut open = self.0.lock().expect("no thread panics while it has the lock");
        if open.is_none() {
            *open = pool(settings, here);
        }
        // What cannot leave this machine runs as usual.
        Launch { remote: open.clone(), jobs: launch.jobs.min(cores()), ..launch }
    }
}

pub(crate) fn slurm(settings: &Settings) -> Slurm {
    Slurm { options: settings.engine_options.value.clone() }
}

/// The server of the Remote Execution API. None: another engine was chosen.
pub(crate) fn reapi(settings: &Settings) -> Option<Result<ReapiServer, ClusterError>> {
    let EngineChoice::Reapi(address) = &settings.engine.value else { return None };
    let variables =
        env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    Some(ReapiServer::new(address, &settings.engine_options.value, variables))
}

/// Whether the options of the engine can be right.
pub(crate) fn check(settings: &Settings) -> Result<(), CommandError> {
    match reapi(settings) {
        Some(Err(error)) => Err(CommandError::usage(error.to_string())),
        _ => Ok(()),
    }
}

/// How many sessions run at once, by the settings or by what the cluster has.
pub(crate) fn jobs(settings: &Settings) -> usize {
    match (&settings.engine.value, &settings.jobs.from) {
        (EngineChoice::Reapi(_), SettingSource::Default) => JOBS_OF_SERVER,
        (EngineChoice::Slurm, SettingSource::Default) => match slurm(settings).state() {
            Ok(state) if state.processors > 0 => MOST_JOBS.min(state.processors as usize),
            _ => settings.jobs.value,
        },
        _ => settings.jobs.value,
    }
}

/// The machines of the chosen engine, if its options are right.
fn pool(settings: &Settings, here: &Path) -> Option<Arc<dyn RemoteMachines>> {
    let pool = match reapi(settings) {
        Some(server) => server.ok()?.pool(cluster_settings(settings, here, 1)),
        None => {
            let slurm = slurm(settings);
            let cluster = cluster_settings(settings, here, slurm.slots());
            slurm.pool(cluster)
        }
    };
    Some(Arc::new(pool))
}

fn cluster_settings(settings: &Settings, here: &Path, slots: usize) -> ClusterSettings {
    let project = project::find(here);
    let cache = launch::cache();
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let shared = settings.engine_directory.value.as_ref().map(|path| project.join(path));
    let shared = shared.or_else(|| Some(cache.as_ref()?.join("cluster"))).unwrap_or_else(|| project.join(".unflake"));
    let below = |paths: &[String]| paths.iter().map(|path| project.join(path)).collect::<Vec<PathBuf>>();
    let of_runner = settings.runner().inputs(&settings.command.value);
    let store = &settings.store.value;
    let excluded = (!store.is_server()).then(|| store.dir.clone()).into_iter().chain([shared.clone()]);
    let inputs = InputPaths {
        others: [of_runner, below(&settings.engine_inputs.value)].concat(),
        shared: below(&settings.engine_shared.value),
        derived: unflake_runners::project_files()
            .flat_map(|files| files.derived)
            .map(|name| (*name).to_owned())
            .collect(),
        excluded: excluded.collect(),
        project: project.clone(),
    };
    let options = settings.given_runner_options().into_iter().map(|(name, value, _)| format!("{name}={value}"));
    ClusterSettings {
        node_directory: settings.engine_node_directory.value.as_ref().map(|path| project.join(path)),
        inputs,
        directory: here.to_owned(),
        options: options.collect(),
        program: env::current_exe().unwrap_or_else(|_| "unflake".into()),
        digests: cache.map(|cache| cache.join("digests").join(hash::hex(text(&project).as_bytes()))),
        wrapper: settings.engine_wrapper.value.clone(),
        workers: settings.jobs.value.div_ceil(slots),
        slots,
        wait: settings.engine_wait.value.unwrap_or(NO_LIMIT),
        shared,
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, |cores| cores.get())
}

/// The process on another machine.
pub(crate) fn work(args: &EngineWorkerArgs) -> Result<Exit, CommandError> {
    let base = |command: Vec<String>, options: &[String]| {
        let options = RunnerOptions::parse(options);
        launch::base(command, &options, DEFAULT_LIMITS)
    };
    unflake_cluster::work(&args.run, args.number, &base).map_err(CommandError::runner)?;
    Ok(Exit::Success)
}
