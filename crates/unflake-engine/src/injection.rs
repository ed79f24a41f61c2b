//! Injects agents into a runner with environment variables alone, whatever command starts it.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::{env, fs, io, process};

use unflake_model::{Granularity, Layer};
use unflake_protocol::{InjectedAgent, PrependedVariable, variables};

use crate::launch::Tracing;

/// An agent whose files are unpacked.
#[derive(Clone, Debug)]
pub(crate) struct UnpackedAgent {
    directory: PathBuf,
    prepend: &'static [PrependedVariable],
}

/// The settings of one runner process.
pub(crate) struct Injection<'a> {
    pub(crate) agents: &'a [UnpackedAgent],
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
        for agent in self.agents {
            for variable in agent.prepend {
                let old = env::var(variable.name).ok();
                changed.push((variable.name.to_owned(), variable.prepended(&agent.directory, old.as_deref())));
                restore.insert(variable.name.to_owned(), old);
            }
        }

        let text = |path: &Path| path.to_string_lossy().into_owned();
        let settings = [
            (variables::SOCKET, Some(text(self.socket))),
            (variables::ENVIRONMENT, Some(self.environment.to_string())),
            (variables::SIDE, Some(text(self.side))),
            (variables::REPORTS, Some(if self.reports { "yes" } else { "no" }.to_owned())),
            (variables::OUTPUT_LIMIT, Some(self.output_limit.to_string())),
            (variables::ONLY, self.only.map(text)),
            (variables::TRACED, self.traced.map(|tracing| tracing.word().to_owned())),
            (variables::LAYERS, layer_names(self.layers)),
            (variables::FILTER, self.filter.then(|| "yes".to_owned())),
            (variables::CACHE, self.cache.map(text)),
            (variables::DEPENDENCIES, self.depends.map(|by| by.word().to_owned())),
            (variables::RESTORE, Some(serde_json::to_string(&restore).expect("a map of strings is JSON"))),
        ];
        changed.extend(settings.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
        changed
    }
}

/// The layers that an agent records. The verdict is reported anyway.
fn layer_names(layers: &[Layer]) -> Option<String> {
    let names: Vec<_> = layers.iter().filter(|layer| **layer != Layer::Verdict).map(|layer| layer.word()).collect();
    (!names.is_empty()).then(|| names.join(","))
}

/// Unpacks the files of an agent below `cache`, so that what a runner compiles from them stays
/// between runs, or below `otherwise` if `cache` cannot be written. Several unflake processes may
/// do so at once.
pub(crate) fn unpack(agent: &InjectedAgent, cache: Option<&Path>, otherwise: &Path) -> io::Result<UnpackedAgent> {
    let mut hasher = DefaultHasher::new();
    agent.files.hash(&mut hasher);
    let name = format!("{}-{:016x}/{}", agent.name, hasher.finish(), agent.directory);
    let cached = cache.and_then(|cache| unpack_into(agent, &cache.join(&name)).ok());
    let directory = match cached {
        Some(directory) => directory,
        None => unpack_into(agent, &otherwise.join(name))?,
    };
    Ok(UnpackedAgent { directory, prepend: agent.prepend })
}

fn unpack_into(agent: &InjectedAgent, directory: &Path) -> io::Result<PathBuf> {
    for (name, content) in agent.files {
        let path = directory.join(name);
        if fs::read(&path).is_ok_and(|there| there == *content) {
            continue;
        }
        let parent = path.parent().unwrap_or(directory);
        fs::create_dir_all(parent)?;
        // A rename, so that no other process loads half a file.
        let unfinished = parent.join(format!(".{}-{}", process::id(), path.file_name().unwrap().to_string_lossy()));
        fs::write(&unfinished, content)?;
        fs::rename(&unfinished, &path)?;
    }
    Ok(directory.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const AGENT: InjectedAgent = InjectedAgent {
        name: "made-up",
        directory: "lib",
        files: &[("agent/main.x", b"whole"), ("agent/deep/more.x", b"more")],
        prepend: &[PrependedVariable { name: "X_PATH", value: "{agent}/agent", separator: ":" }],
    };

    #[test]
    fn a_damaged_file_is_unpacked_again() {
        let place = tempfile::tempdir().unwrap();
        let there = unpack(&AGENT, Some(place.path()), place.path()).unwrap().directory;
        let file = there.join("agent/main.x");
        fs::write(&file, "half a fi").unwrap();
        assert_eq!(unpack(&AGENT, Some(place.path()), place.path()).unwrap().directory, there);
        assert_eq!(fs::read(file).unwrap(), b"whole");
        assert_eq!(fs::read(there.join("agent/deep/more.x")).unwrap(), b"more");
    }

    #[test]
    fn a_value_goes_in_front_of_an_older_one() {
        let prepended = |old| AGENT.prepend[0].prepended(Path::new("/a"), old);
        assert_eq!((prepended(None).as_str(), prepended(Some("")).as_str()), ("/a/agent", "/a/agent"));
        assert_eq!(prepended(Some("/b")), "/a/agent:/b");
    }
}
