//! The interface of a technique: it requests sessions, observes what happens and concludes
//! findings.

use unflake_model::{
    Coverage, Event, Fact, FactId, Finding, Gap, Layer, LayerFacts, LineId, NondeterministicCall, ObservedValue,
    OutputId, Session, SourceLine, SuppressedNoise, ThreadTrace, TraceId, Traces,
};

/// A technique in progress.
///
/// The run loop drives it: it runs the sessions of a batch, passes every observation to
/// [`observe`](Self::observe) and then asks for the next batch, until there is none.
pub trait Technique {
    /// Takes note of an observation. Called for every one, in the order in which they happened.
    fn observe(&mut self, event: &Event, recordings: Recordings<'_>);

    /// The sessions to run next; none ends the run. Called when all earlier sessions have ended.
    fn next_sessions(&mut self, recordings: Recordings<'_>) -> Vec<Session>;

    /// The findings so far. Callable at any time, so that an interrupted run reports what it knows.
    fn findings(&self, recordings: Recordings<'_>) -> Vec<Finding>;

    /// What has been tried so far: what a search without findings is worth. None: it is no search.
    fn coverage(&self) -> Option<Coverage> {
        None
    }
}

/// A read-only view of what was recorded beside the attempts of a run.
///
/// An observation is recorded before a technique observes it.
#[derive(Clone, Copy)]
pub struct Recordings<'a> {
    /// Numbered in the order of `Event::TraceRecorded`.
    pub traces: &'a dyn Traces,
    /// By attempt, numbered in the order of `Event::AttemptEnded`.
    pub layers: &'a dyn LayerFacts,
}

impl Recordings<'_> {
    /// The view of a run that records nothing.
    pub const EMPTY: Recordings<'static> = Recordings { traces: &NoRecordings, layers: &NoRecordings };
}

struct NoRecordings;

impl Traces for NoRecordings {
    fn strands(&self, _: TraceId) -> &[ThreadTrace] {
        &[]
    }

    fn common(&self, _: (TraceId, usize), _: (TraceId, usize)) -> u64 {
        0
    }

    fn lines(&self, _: (TraceId, usize), _: u64, _: usize) -> Vec<LineId> {
        Vec::new()
    }

    fn line(&self, _: LineId) -> SourceLine {
        unreachable!("no line was recorded")
    }

    fn values(&self, _: (TraceId, usize)) -> Vec<ObservedValue> {
        Vec::new()
    }

    fn reaches(&self) -> &[NondeterministicCall] {
        &[]
    }

    fn gaps(&self) -> &[String] {
        &[]
    }
}

impl LayerFacts for NoRecordings {
    fn output(&self, _: usize, _: Layer) -> Option<OutputId> {
        None
    }

    fn facts(&self, _: OutputId) -> &[FactId] {
        &[]
    }

    fn fact(&self, _: FactId) -> Fact {
        unreachable!("no fact was recorded")
    }

    fn unit(&self, _: FactId) -> u32 {
        unreachable!("no fact was recorded")
    }

    fn is_order(&self, _: FactId) -> bool {
        false
    }

    fn support(&self, _: FactId) -> Option<u32> {
        None
    }

    fn gaps(&self) -> Vec<Gap> {
        Vec::new()
    }

    fn hidden(&self) -> Vec<SuppressedNoise> {
        Vec::new()
    }
}
