//! The `-javaagent` option of a JVM: which lines, values, layers and assertions the agent observes, and
//! whether it seeds random numbers.

use std::fs;
use std::path::{Path, PathBuf};

use crate::driver::list_context::ListContext;
use crate::driver::suite::ListError;
use crate::jvm::assertions::Assertions;

/// The option for an agent with these tasks, each a name and a file with details.
pub(crate) fn agent_option(agent: &Path, wanted: &[(&str, &Path)]) -> Option<String> {
    let wanted: Vec<String> = wanted.iter().map(|(name, file)| format!("{name}={}", file.display())).collect();
    (!wanted.is_empty()).then(|| format!("-javaagent:{}={}", agent.display(), wanted.join(":")))
}

/// The option for everything that a run observes. Details go into files with this number.
pub(crate) fn observing(
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
    let root_lines: String = roots.iter().map(|root| format!("{}\n", root.display())).collect();
    let mut wanted = Vec::new();
    if let Some(tracing) = context.tracing {
        let name = if tracing.values { "values" } else { "lines" };
        wanted.push((name, put(name, root_lines.clone())?));
    }
    if let Some(layers) = context.layers {
        let filters = assertions.is_some_and(|assertions| assertions.may_be_let_fail);
        let filter = if filters { ",filter" } else { "" };
        let (run_dir, root) = (context.run_dir.display(), context.here.display());
        wanted.push(("layers", put("layers", format!("{layers}{filter}\n{run_dir}\n{root}\n{root_lines}"))?));
    }
    if context.is_seeded {
        wanted.push(("seeds", put("seeds", String::new())?));
    }
    if let Some(assertions) = assertions {
        assertions.read(roots);
        put("layers.sites", assertions.table())?;
    }
    Ok(agent_option(agent, &wanted.iter().map(|(name, file)| (*name, file.as_path())).collect::<Vec<_>>()))
}
