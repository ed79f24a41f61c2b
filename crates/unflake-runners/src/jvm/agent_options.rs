//! What an agent in a JVM is told before anything else is loaded: which lines, values, layers and assertions to look at.

use std::fs;
use std::path::{Path, PathBuf};

use crate::driver::list_context::ListContext;
use crate::driver::suite::ListError;
use crate::jvm::assertions::Assertions;

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
    context: &ListContext<'_>,
    assertions: Option<&Assertions>,
) -> Result<Option<String>, ListError> {
    let put = |name: &str, text: String| {
        let file = context.run_dir.join(format!("{number}.{name}"));
        let written = fs::write(&file, text).map(|()| file.clone());
        written.map_err(|error| ListError::usage(format!("{}: {error}", file.display())))
    };
    let roots_told: String = roots.iter().map(|root| format!("{}\n", root.display())).collect();
    let mut wanted = Vec::new();
    if let Some(tracing) = context.tracing {
        let name = if tracing.values { "values" } else { "lines" };
        wanted.push((name, put(name, roots_told.clone())?));
    }
    if let Some(layers) = context.layers {
        let filters = assertions.is_some_and(|assertions| assertions.may_be_let_fail);
        let filter = if filters { ",filter" } else { "" };
        let (run_dir, root) = (context.run_dir.display(), context.here.display());
        wanted.push(("layers", put("layers", format!("{layers}{filter}\n{run_dir}\n{root}\n{roots_told}"))?));
    }
    if let Some(assertions) = assertions {
        assertions.read(roots);
        put("layers.sites", assertions.table())?;
    }
    Ok(hook(agent, &wanted.iter().map(|(name, file)| (*name, file.as_path())).collect::<Vec<_>>()))
}
