//! Bringing an agent into a runner: with environment variables alone, whatever command starts the runner.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::{env, fs, io, process};

use unflake_model::{Granularity, Layer};
use unflake_protocol::variables;

use crate::launch::Tracing;

/// The agent for pytest, as it travels inside the binary.
const PYTEST_AGENT: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/agent.rs"));

/// What one runner process is told.
pub(crate) struct Injection<'a> {
    pub(crate) agents: &'a Path,
    pub(crate) socket: &'a Path,
    pub(crate) side: &'a Path,
    pub(crate) environment: u32,
    pub(crate) reports: bool,
    pub(crate) output_limit: usize,
    pub(crate) only: Option<&'a Path>,
    pub(crate) traced: Option<Tracing>,
    pub(crate) layers: &'a [Layer],
    pub(crate) filter: bool,
    pub(crate) cache: Option<&'a Path>,
    pub(crate) depends: Option<Granularity>,
}

impl Injection<'_> {
    pub(crate) fn variables(&self) -> Vec<(String, String)> {
        let mut restore = BTreeMap::new();
        let mut changed = Vec::new();
        let mut put_first = |name: &str, value: &str, separator: &str| {
            let old = env::var(name).ok();
            let new = match old.as_deref() {
                Some(old) if !old.is_empty() => format!("{value}{separator}{old}"),
                _ => value.to_owned(),
            };
            changed.push((name.to_owned(), new));
            restore.insert(name.to_owned(), old);
        };
        put_first("PYTHONPATH", &self.agents.to_string_lossy(), ":");
        put_first("PYTEST_PLUGINS", "unflake_agent", ",");

        let text = |path: &Path| path.to_string_lossy().into_owned();
        let told = [
            (variables::SOCKET, Some(text(self.socket))),
            (variables::ENVIRONMENT, Some(self.environment.to_string())),
            (variables::SIDE, Some(text(self.side))),
            (variables::REPORTS, Some(if self.reports { "yes" } else { "no" }.to_owned())),
            (variables::OUTPUT_LIMIT, Some(self.output_limit.to_string())),
            (variables::ONLY, self.only.map(text)),
            (variables::TRACED, self.traced.map(|tracing| tracing.word().to_owned())),
            (variables::LAYERS, words(self.layers)),
            (variables::FILTER, self.filter.then(|| "yes".to_owned())),
            (variables::CACHE, self.cache.map(text)),
            (variables::DEPENDENCIES, self.depends.map(|by| by.word().to_owned())),
            (variables::RESTORE, Some(serde_json::to_string(&restore).expect("a map of strings is JSON"))),
        ];
        changed.extend(told.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
        changed
    }
}

/// The layers that an agent can show; how a test ended is told anyway.
fn words(layers: &[Layer]) -> Option<String> {
    let words: Vec<_> = layers.iter().filter(|layer| **layer != Layer::Verdict).map(|layer| layer.word()).collect();
    (!words.is_empty()).then(|| words.join(","))
}

/// Lays the agents out where Python can keep its compiled form of them from run to run: below `cache`, or below
/// `otherwise` where that cannot be written. Several unflakes may do so at once.
pub(crate) fn unpack(cache: Option<&Path>, otherwise: &Path) -> io::Result<PathBuf> {
    let mut hasher = DefaultHasher::new();
    PYTEST_AGENT.hash(&mut hasher);
    // Below a directory of this name nothing is taken for code of the project (Hypothesis draws constants from that).
    let name = format!("pytest-{:016x}/site-packages", hasher.finish());
    if let Some(cache) = cache
        && let Ok(there) = unpack_into(&cache.join(&name))
    {
        return Ok(there);
    }
    unpack_into(&otherwise.join(name))
}

fn unpack_into(directory: &Path) -> io::Result<PathBuf> {
    for (name, content) in PYTEST_AGENT {
        let path = directory.join(name);
        if fs::read(&path).is_ok_and(|there| there == *content) {
            continue;
        }
        let parent = path.parent().unwrap_or(directory);
        fs::create_dir_all(parent)?;
        // Never a moment in which another unflake could import half a file.
        let unfinished = parent.join(format!(".{}-{}", process::id(), path.file_name().unwrap().to_string_lossy()));
        fs::write(&unfinished, content)?;
        fs::rename(&unfinished, &path)?;
    }
    Ok(directory.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_copy_is_laid_out_anew() {
        let place = tempfile::tempdir().unwrap();
        let there = unpack(Some(place.path()), place.path()).unwrap();
        let file = there.join(PYTEST_AGENT[0].0);
        fs::write(&file, "half a fi").unwrap();
        assert_eq!(unpack(Some(place.path()), place.path()).unwrap(), there);
        assert_eq!(fs::read(file).unwrap(), PYTEST_AGENT[0].1);
    }
}
