//! Injects agents into a runner with environment variables alone, whatever command starts it.

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};

use unflake_model::{Granularity, Layer};
use unflake_protocol::{PrependedVariable, variables};

use crate::launch::Tracing;

/// An agent whose files are unpacked.
#[derive(Clone, Debug)]
pub(crate) struct UnpackedAgent {
    pub(crate) directory: PathBuf,
    pub(crate) prepend: &'static [PrependedVariable],
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
    pub(crate) installed: bool,
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
            (variables::INSTALLED, self.installed.then(|| "yes".to_owned())),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_goes_in_front_of_an_older_one() {
        let variable = PrependedVariable { name: "X_PATH", value: "{agent}/agent", separator: ":" };
        let prepended = |old| variable.prepended(Path::new("/a"), old);
        assert_eq!((prepended(None).as_str(), prepended(Some("")).as_str()), ("/a/agent", "/a/agent"));
        assert_eq!(prepended(Some("/b")), "/a/agent:/b");
    }
}
