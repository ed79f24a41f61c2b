//! From settings to a launch: how the engine starts the user's command.

use std::env;
use std::path::PathBuf;

use unflake_engine::Launch;

use crate::config::settings::Settings;

/// A launch of the whole suite without tracing or limits on time. Commands change what they need.
pub(crate) fn launch(settings: &Settings) -> Launch {
    let myself = env::current_exe().map(|path| path.to_string_lossy().into_owned()).unwrap_or("unflake".to_owned());
    Launch {
        command: settings.command.value.clone(),
        keeper: vec![myself.clone(), "keep".to_owned()],
        driver: driver(settings, myself),
        cache: cache(),
        suite: true,
        time: None,
        traced: None,
        layers: Vec::new(),
        filter: false,
        depends: None,
        directory: None,
        jobs: settings.jobs.value,
        timeout: settings.timeout.value,
        output_limit: settings.output_limit.value,
    }
}

/// The words in front of the command where unflake's own driver starts it. None: an agent goes into
/// the runner.
fn driver(settings: &Settings, myself: String) -> Option<Vec<String>> {
    let mut words = vec![myself, "drive".to_owned()];
    if let (Some(results), Some(one_test)) = (&settings.results.value, &settings.one_test.value) {
        // Joined with `=`: the values may begin with a dash.
        words.extend([format!("--results={results}"), format!("--one-test={one_test}")]);
    } else if let Some(file) = &settings.classpath_file.value {
        words.push(format!("--classpath-file={file}"));
        words.extend(settings.test_classes.value.iter().map(|directory| format!("--test-classes={directory}")));
    } else if !unflake_runners::drives(&settings.command.value) {
        return None;
    }
    words.push("--".to_owned());
    Some(words)
}

/// The directory for files that are kept from run to run, such as agents.
fn cache() -> Option<PathBuf> {
    let cache = env::var_os("XDG_CACHE_HOME").filter(|cache| !cache.is_empty()).map(PathBuf::from);
    cache.or_else(|| env::home_dir().map(|home| home.join(".cache"))).map(|cache| cache.join("unflake"))
}
