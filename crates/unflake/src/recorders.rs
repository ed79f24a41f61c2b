//! Keeps what agents record beside attempts: traces, layers and assertion values.
//!
//! The files are gone when the run is over, so they are read as soon as an observation announces
//! them.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

use unflake_model::{EnvironmentId, Event};
use unflake_observe::{layers, trace};
use unflake_techniques::{AssertionPolicy, Recordings};

use crate::commands::filter::assertion_log;
use crate::commands::trace::TraceReader;

/// The recorders of a run. By default nothing is recorded.
#[derive(Default)]
pub(crate) struct Recorders {
    /// Traces kept for comparison, and the project whose lines they keep.
    pub(crate) traces: Option<(trace::TraceArchive, trace::Project)>,
    /// Traces read one by one.
    pub(crate) trace_reader: Option<TraceReader>,
    pub(crate) layers: Option<layers::LayerArchive>,
    /// Assertion logs whose attempt has not been observed yet.
    assertion_logs: HashMap<EnvironmentId, PathBuf>,
}

impl Recorders {
    pub(crate) fn of_layers(archive: layers::LayerArchive) -> Self {
        Self { layers: Some(archive), ..Self::default() }
    }

    pub(crate) fn of_traces(archive: trace::TraceArchive, project: trace::Project) -> Self {
        Self { traces: Some((archive, project)), ..Self::default() }
    }

    pub(crate) fn of_trace_reader(reader: TraceReader) -> Self {
        Self { trace_reader: Some(reader), ..Self::default() }
    }

    /// Records what the observation announces.
    pub(crate) fn record(&mut self, event: &Event) {
        if let Event::TraceRecorded { directory, .. } = event {
            if let Some(reader) = &mut self.trace_reader {
                reader.read(directory);
            }
            if let Some((archive, project)) = &mut self.traces {
                // The archive reports an unreadable trace as a gap.
                let _ = archive.add(directory, project);
                let _ = fs::remove_dir_all(directory);
            }
        }
        if let Some(layers) = &mut self.layers {
            layers.take(event);
        }
    }

    /// The observations as they count by the policy, which sees the assertion log of each attempt.
    pub(crate) fn judge(&mut self, batch: &[Event], policy: &mut dyn AssertionPolicy) -> Vec<Event> {
        let judge = |event: &Event| match event {
            Event::LayersRecorded { environment, file, .. } => {
                self.assertion_logs.insert(*environment, file.clone());
                event.clone()
            }
            Event::AttemptEnded(attempt) => {
                let log = self.assertion_logs.remove(&attempt.environment);
                let records = log.as_deref().map(assertion_log::records);
                log.map(fs::remove_file);
                Event::AttemptEnded(policy.judge(attempt, records))
            }
            other => other.clone(),
        };
        batch.iter().map(judge).collect()
    }

    pub(crate) fn view(&self) -> Recordings<'_> {
        let mut view = Recordings::EMPTY;
        if let Some((archive, _)) = &self.traces {
            view.traces = archive;
        }
        if let Some(archive) = &self.layers {
            view.layers = archive;
        }
        view
    }
}
