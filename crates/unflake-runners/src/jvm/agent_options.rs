//! What an agent in a JVM is told before anything else is loaded: which lines, values, layers and assertions to look at.

use std::fs;
use std::path::{Path, PathBuf};

use crate::driver::orders::Workshop;
use crate::driver::suite::CannotList;

/// Has the agent called before anything else, to do these things: each a name, and a file that says more.
pub(crate) fn hook(agent: &Path, wanted: &[(&str, &Path)]) -> Option<String> {
    let wanted: Vec<String> = wanted.iter().map(|(name, file)| format!("{name}={}", file.display())).collect();
    (!wanted.is_empty()).then(|| format!("-javaagent:{}={}", agent.display(), wanted.join(":")))
}

/// The option that has it look at all that a run wants to know of its tests. What is to be said of it goes into files of this number.
pub(crate) fn looks(
    agent: &Path,
    number: &str,
    roots: &[PathBuf],
    workshop: &Workshop<'_>,
) -> Result<Option<String>, CannotList> {
    let put = |name: &str, text: String| {
        let file = workshop.side.join(format!("{number}.{name}"));
        let written = fs::write(&file, text).map(|()| file.clone());
        written.map_err(|error| CannotList::usage(format!("{}: {error}", file.display())))
    };
    let roots_told: String = roots.iter().map(|root| format!("{}\n", root.display())).collect();
    let mut wanted = Vec::new();
    if let Some(tracing) = workshop.tracing {
        let name = if tracing.values { "values" } else { "lines" };
        wanted.push((name, put(name, roots_told.clone())?));
    }
    if let Some(layers) = workshop.layers {
        let filters = workshop.assertions.as_ref().is_some_and(|assertions| assertions.may_be_let_fail);
        let filter = if filters { ",filter" } else { "" };
        let (side, root) = (workshop.side.display(), workshop.here.display());
        wanted.push(("layers", put("layers", format!("{layers}{filter}\n{side}\n{root}\n{roots_told}"))?));
    }
    if let Some(assertions) = &workshop.assertions {
        assertions.read(roots);
        put("layers.sites", assertions.table())?;
    }
    Ok(hook(agent, &wanted.iter().map(|(name, file)| (*name, file.as_path())).collect::<Vec<_>>()))
}
