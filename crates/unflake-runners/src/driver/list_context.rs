//! What a runner gets to list its tests with.

use std::path::{Path, PathBuf};

use crate::driver::trace_recorder::TraceRecorder;
use crate::options::RunnerOptions;
use crate::process::spec::EnvChanges;

pub(crate) struct ListContext<'a> {
    /// The user's command.
    pub(crate) command: &'a [String],
    pub(crate) options: &'a RunnerOptions,
    /// The directory of the user's command.
    pub(crate) here: PathBuf,
    /// Makes the environment of the project's processes what it was before unflake.
    pub(crate) env_changes: &'a EnvChanges,
    /// A directory for files that are removed with the run.
    pub(crate) run_dir: &'a Path,
    /// A directory for files that stay from run to run.
    pub(crate) cache: &'a Path,
    /// A directory that the drivers of other worlds share. None: there are no other worlds.
    pub(crate) shared: Option<&'a Path>,
    /// Whether tests run in a world that is not the driver's own.
    pub(crate) in_other_world: bool,
    /// Whether random numbers follow from a seed in that world, or in the worlds of orders.
    pub(crate) is_seeded: bool,
    /// Records the lines of tests, where unflake asks for them.
    pub(crate) tracing: Option<&'a TraceRecorder>,
    /// The layers to report, joined by commas.
    pub(crate) layers: Option<&'a str>,
    /// Whether assertions may be let fail.
    pub(crate) filter: bool,
}

impl ListContext<'_> {
    pub(crate) fn wants_layer(&self, layer: &str) -> bool {
        self.layers.is_some_and(|layers| layers.split(',').any(|one| one == layer))
    }

    /// A context for tests of this crate: nothing is traced, observed or shared.
    #[cfg(test)]
    pub(crate) fn for_test<'a>(
        run_dir: &'a Path,
        command: &'a [String],
        options: &'a RunnerOptions,
        env_changes: &'a EnvChanges,
    ) -> ListContext<'a> {
        ListContext {
            command,
            options,
            here: PathBuf::new(),
            env_changes,
            run_dir,
            cache: run_dir,
            shared: None,
            in_other_world: false,
            is_seeded: false,
            tracing: None,
            layers: None,
            filter: false,
        }
    }
}
