use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::Cause;

/// Numbers the traces that one run of unflake took, in the order in which they came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TraceId(pub u32);

/// Numbers the lines of the project that traces went through: the same line has the same number in all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LineId(pub u32);

/// A line of the project's own code.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SourceLine {
    /// Relative to the project's root.
    pub file: String,
    pub line: u32,
    /// The function it belongs to, by its qualified name.
    pub function: String,
}

/// What one thread, task or process went through, one line after the other. Between strands there is no order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadTrace {
    /// How it came to be: the same for the same strand in another run.
    pub key: String,
    /// What people call it.
    pub name: String,
    /// How many lines it went through, as far as they were kept.
    pub events: u64,
    /// When it began, against the first strand of the trace; nanoseconds.
    pub began: u64,
    /// Why it stops before the end, in words.
    pub truncated: Option<String>,
}

/// What a name stood for after a line of a strand had run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedValue {
    /// How many lines the strand had gone through by then, this one included.
    pub at: u64,
    pub line: LineId,
    /// The name of a variable, or `returns` for what a function gave back.
    pub name: Arc<str>,
    /// Short; the same for equal values. Numbers are written as numbers.
    pub text: Arc<str>,
}

/// Something that a line reached for and that need not be the same in every run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NondeterministicCall {
    pub line: LineId,
    /// What it would make vary.
    pub cause: Cause,
    /// Its name, such as `random.random`.
    pub what: String,
}

/// Traces to be compared. They may be larger than memory: whoever has them keeps them as it likes.
pub trait Traces {
    fn strands(&self, trace: TraceId) -> &[ThreadTrace];

    /// How many lines two strands have in common from their beginning. Each is named by its trace and its place in
    /// [`Traces::strands`].
    fn common(&self, one: (TraceId, usize), other: (TraceId, usize)) -> u64;

    /// At most so many lines of a strand, from the one at `from`, the first being 0.
    fn lines(&self, strand: (TraceId, usize), from: u64, most: usize) -> Vec<LineId>;

    fn line(&self, id: LineId) -> SourceLine;

    /// In the order in which they were seen.
    fn values(&self, strand: (TraceId, usize)) -> Vec<ObservedValue>;

    /// Of all traces together.
    fn reaches(&self) -> &[NondeterministicCall];

    /// What is not in the traces although it happened, in words.
    fn gaps(&self) -> &[String];
}
