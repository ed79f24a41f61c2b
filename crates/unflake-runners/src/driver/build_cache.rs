//! Results of a build tool that the drivers of one run share.
//!
//! Each world that tests run in has a driver, and all drivers are outside of it: a build tool gets
//! the same command, directory and variables from each, and would return the same. So its result is
//! kept until the run ends, and so is the list of tests.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use tracing::debug;

use crate::driver::list_context::ListContext;
use crate::driver::suite::ListError;

/// Runs a build tool that writes its result into a directory; in another world, takes the result of
/// an earlier driver. The directory is shared: the caller must not write to it.
pub(crate) fn built(
    tool: &str,
    context: &ListContext<'_>,
    build: impl FnOnce(&Path) -> Result<(), ListError>,
) -> Result<PathBuf, ListError> {
    let key = hash(&(context.command, &context.here, variables(context)));
    let kept = context.shared.map(|shared| shared.join(format!("{tool}-{key:016x}")));
    if let Some(kept) = kept.as_ref().filter(|kept| context.in_other_world && kept.is_dir()) {
        debug!(tool, "reusing the build of another world");
        return Ok(kept.clone());
    }
    debug!(tool, command = ?context.command, "building");
    let own = context.run_dir.join(format!("{tool}-{}", std::process::id()));
    fs::create_dir_all(&own).map_err(|error| ListError::usage(format!("{}: {error}", own.display())))?;
    build(&own)?;
    // A rename, so that it is there as a whole or not at all. The second driver keeps its own.
    Ok(kept.filter(|kept| fs::rename(&own, kept).is_ok()).unwrap_or(own))
}

/// The environment that the build tool sees.
fn variables(context: &ListContext<'_>) -> BTreeMap<OsString, OsString> {
    let mut all: BTreeMap<OsString, OsString> = env::vars_os().collect();
    for (name, value) in context.env_changes {
        match value {
            Some(value) => all.insert(name.into(), value.into()),
            None => all.remove(&OsString::from(name)),
        };
    }
    all
}

/// The shared file for a value that follows from `key` alone.
pub(crate) fn path_for(name: &str, key: &impl Hash, context: &ListContext<'_>) -> Option<PathBuf> {
    Some(context.shared?.join(format!("{name}-{:016x}", hash(key))))
}

/// Writes a value for other drivers. Where that fails, they compute it themselves.
pub(crate) fn store(path: &Path, value: &impl Serialize) {
    let unfinished = path.with_extension(std::process::id().to_string());
    let bytes = serde_json::to_vec(value).unwrap_or_default();
    let _ = fs::write(&unfinished, bytes).and_then(|()| fs::rename(&unfinished, path));
}

/// The value that another driver has stored.
pub(crate) fn load<T: DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::RunnerOptions;
    use std::cell::Cell;

    #[test]
    fn a_tool_runs_again_only_for_other_inputs() {
        let run = tempfile::tempdir().unwrap();
        let [first, other] = ["first", "other"].map(|name| run.path().join(name));
        [&first, &other].into_iter().for_each(|place| fs::create_dir(place).unwrap());
        let started = Cell::new(0);
        let options = RunnerOptions::default();
        let build = |run_dir: &Path, in_other_world: bool, words: &str, variable: &str| {
            let env_changes = [("BUILD_TOOL_OPTIONS".to_owned(), Some(variable.to_owned()))].into();
            let command: Vec<String> = words.split(' ').map(str::to_owned).collect();
            let context = ListContext {
                shared: Some(&first),
                in_other_world,
                ..ListContext::for_test(run_dir, &command, &options, &env_changes)
            };
            let result = built("tool", &context, |directory| {
                started.set(started.get() + 1);
                fs::write(directory.join("words"), words).map_err(|error| ListError::usage(error.to_string()))
            });
            assert_eq!(fs::read_to_string(result.unwrap().join("words")).unwrap(), words);
            started.get()
        };
        assert_eq!(build(&first, false, "tool test", "a"), 1);
        assert_eq!(build(&other, true, "tool test", "a"), 1);
        assert_eq!(build(&other, true, "tool -o test", "a"), 2);
        assert_eq!(build(&other, true, "tool test", "b"), 3);
        // In unflake's own world the tool always runs.
        assert_eq!(build(&first, false, "tool test", "a"), 4);
    }

    #[test]
    fn a_stored_value_is_loaded_unless_it_is_incomplete() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("listed-1");
        assert_eq!(load::<Vec<String>>(&path), None);
        store(&path, &vec!["a".to_owned()]);
        assert_eq!(load::<Vec<String>>(&path), Some(vec!["a".to_owned()]));
        fs::write(&path, "[\"a").unwrap();
        assert_eq!(load::<Vec<String>>(&path), None);
    }
}
