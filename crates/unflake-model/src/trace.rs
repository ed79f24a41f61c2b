//! Traces of runs, as techniques see them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::Cause;

/// The number of a trace, in order of arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TraceId(pub u32);

/// The number of a source line; equal in all traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LineId(pub u32);

/// A line of the project's code.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SourceLine {
    /// Relative to the project root.
    pub file: String,
    pub line: u32,
    /// Qualified name of its function.
    pub function: String,
}

/// The lines that one thread, task or process executed, in order. Between thread traces there is no order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadTrace {
    /// How it was started: equal for the same thread in another run.
    pub key: String,
    /// Its display name.
    pub name: String,
    /// Recorded lines.
    pub events: u64,
    /// Start time after the first thread of the trace, in nanoseconds.
    pub began: u64,
    /// Why it stops before the end.
    pub truncated: Option<String>,
}

/// The value of a name after a line had run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedValue {
    /// Lines executed by then, this one included.
    pub at: u64,
    pub line: LineId,
    /// The name of a variable, or `returns` for a return value.
    pub name: Arc<str>,
    /// Short; equal values have equal texts. Numbers are written as numbers.
    pub text: Arc<str>,
}

/// Something a line calls or reads that may differ between runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NondeterministicCall {
    pub line: LineId,
    /// The kind of nondeterminism.
    pub cause: Cause,
    /// Its name, such as `random.random`.
    pub what: String,
}

/// Traces to compare. They may be larger than memory.
pub trait Traces {
    fn strands(&self, trace: TraceId) -> &[ThreadTrace];

    /// The length of the common prefix of two thread traces, each named by its trace and its index in
    /// [`Traces::strands`].
    fn common(&self, one: (TraceId, usize), other: (TraceId, usize)) -> u64;

    /// At most this many lines of a thread trace, starting at index `from`.
    fn lines(&self, strand: (TraceId, usize), from: u64, most: usize) -> Vec<LineId>;

    fn line(&self, id: LineId) -> SourceLine;

    /// In the order of observation.
    fn values(&self, strand: (TraceId, usize)) -> Vec<ObservedValue>;

    /// Over all traces.
    fn reaches(&self) -> &[NondeterministicCall];

    /// What happened but is not in the traces.
    fn gaps(&self) -> &[String];
}
