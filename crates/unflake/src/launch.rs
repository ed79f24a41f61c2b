//! From settings to a launch: how the engine starts the user's command.

use std::env;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use unflake_engine::Launch;
use unflake_model::PrivatePart;
use unflake_runners::RunnerOptions;
use unflake_worlds::PrivateRequest;

use crate::config::project;
use crate::config::settings::Settings;
use crate::diagnostics;

/// The first argument of a child process of unflake that starts a runner and waits for it.
pub(crate) const SUPERVISE: &str = "supervise";

/// Limits of a launch.
pub(crate) struct LaunchLimits {
    jobs: usize,
    timeout: Option<Duration>,
    output_limit: usize,
}

/// Limits for a launch that gets its own from elsewhere.
pub(crate) const DEFAULT_LIMITS: LaunchLimits = LaunchLimits { jobs: 1, timeout: None, output_limit: 65536 };

/// A launch of the whole suite without tracing or limits on time. Commands change what they need.
pub(crate) fn launch(settings: &Settings) -> Launch {
    let limits = LaunchLimits {
        jobs: settings.jobs.value,
        timeout: settings.timeout.value,
        output_limit: settings.output_limit.value,
    };
    base(settings.command.value.clone(), &settings.runner_options(), limits)
}

/// The same, from what decides how a command starts.
pub(crate) fn base(command: Vec<String>, options: &RunnerOptions, limits: LaunchLimits) -> Launch {
    let runner = unflake_runners::select(&command, options);
    let myself = env::current_exe().map(|path| path.to_string_lossy().into_owned()).unwrap_or("unflake".to_owned());
    let agents = runner.agents();
    Launch {
        supervisor: vec![myself.clone(), SUPERVISE.to_owned()],
        driver: agents.is_empty().then(|| driver(options, myself)),
        agents,
        caches: runner.caches(),
        command,
        explain_missed_agent: unflake_runners::explain_missed_agent,
        cache: cache(),
        spread: false,
        suite: true,
        began: Instant::now(),
        time: None,
        traced: None,
        layers: Vec::new(),
        filter: false,
        depends: None,
        installed: false,
        builds: None,
        directory: None,
        remote: None,
        machine: None,
        private: None,
        session_seeds: None,
        jobs: limits.jobs,
        timeout: limits.timeout,
        output_limit: limits.output_limit,
    }
}

/// What is private in the worlds of runs side by side. None: nothing.
pub(crate) fn private(settings: &Settings, here: &Path) -> Option<PrivateRequest> {
    let project = project::find(here);
    let keep = settings.private_keep.value.iter().filter_map(|path| project.join(path).canonicalize().ok()).collect();
    let parts = settings.private.value.clone();
    // Results that are read from files of the project must be written there.
    (!parts.is_none() && settings.results.value.is_none()).then_some(PrivateRequest { parts, project, keep })
}

/// The same without the network: what needs a service of this machine or another one reaches it.
pub(crate) fn private_files(settings: &Settings, here: &Path) -> Option<PrivateRequest> {
    let request = private(settings, here)?;
    let parts = request.parts.without(PrivatePart::Network);
    (!parts.is_none()).then_some(PrivateRequest { parts, ..request })
}

/// The words in front of the command where unflake's own driver starts it.
fn driver(options: &RunnerOptions, myself: String) -> Vec<String> {
    let words = [myself, "drive".to_owned()].into_iter();
    words.chain(diagnostics::arguments_of_children()).chain(options.arguments()).chain(["--".to_owned()]).collect()
}

/// The directory for files that are kept from run to run, such as agents.
pub(crate) fn cache() -> Option<PathBuf> {
    let cache = env::var_os("XDG_CACHE_HOME").filter(|cache| !cache.is_empty()).map(PathBuf::from);
    cache.or_else(|| env::home_dir().map(|home| home.join(".cache"))).map(|cache| cache.join("unflake"))
}
