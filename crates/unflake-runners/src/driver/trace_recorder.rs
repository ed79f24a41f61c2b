//! Records the lines that tests run through: where processes write their traces, and how those
//! become readable. Building programs that can be traced is each runner's own part.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use unflake_observe::trace::{Limits, Symboliser, TraceRuntime, TracedAttempt};

use crate::driver::delay_points;
use crate::process::spec::{EnvChanges, ProcessSpec};

pub(crate) struct TraceRecorder {
    pub(crate) runtime: TraceRuntime,
    symbolizer: Mutex<Symboliser>,
    /// For what is known of programs.
    symbols: PathBuf,
    /// Whether values of variables are wanted. Native code has none to report.
    pub(crate) values: bool,
    /// Whether traces are wanted. Otherwise programs that can be traced run only so that their threads
    /// can be delayed.
    pub(crate) records: bool,
}

impl TraceRecorder {
    /// `cache` keeps the runtime as long as programs that were built with it are to run.
    pub(crate) fn new(cache: &Path, values: bool, records: bool) -> Result<Self, String> {
        let runtime = TraceRuntime::lay_out(cache).map_err(|error| error.to_string())?;
        let symbols = cache.join("symbols");
        let symbolizer = Mutex::new(Symboliser::new(&symbols));
        Ok(Self { runtime, symbolizer, symbols, values, records })
    }

    /// The variables that delay the threads of a process at the points of its world.
    pub(crate) fn delays(&self, setting: Option<String>, spec: &ProcessSpec) -> EnvChanges {
        setting.and_then(|setting| delay_points::variable(&setting, spec, &self.symbols)).unwrap_or_default()
    }

    /// The variables that make a process write its trace into a directory.
    pub(crate) fn variables(&self, directory: &Path) -> EnvChanges {
        let text = |(name, value): (&str, OsString)| (name.to_owned(), Some(value.to_string_lossy().into_owned()));
        let variables = TraceRuntime::tracing(directory, Limits::default(), None).unwrap_or_default();
        variables.into_iter().map(text).collect()
    }

    /// Makes the trace of a process readable. None: the process wrote none.
    pub(crate) fn finish(&self, directory: &Path) -> Option<String> {
        if !self.records {
            let _ = std::fs::remove_dir_all(directory);
            return None;
        }
        let attempt = TracedAttempt::open(directory).ok().filter(|attempt| !attempt.processes.is_empty())?;
        delay_points::remember(&attempt, &self.symbols);
        let mut symbolizer = self.symbolizer.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        symbolizer.symbolise(&attempt).ok()?;
        Some(directory.to_string_lossy().into_owned())
    }
}
