//! The types that crates of unflake exchange: session, attempt, event, finding, factor and others.
//!
//! Deliberately absent: input and output, clocks, processes, SQL, command-line parsing, and any knowledge of a
//! particular test runner or language.

mod amount;
mod assertion;
mod attempt;
mod cell;
mod change;
mod configuration;
mod day;
mod dependencies;
mod divergence;
mod event;
mod factor;
mod finding;
mod fingerprint;
mod influence;
mod layer;
mod moment;
mod outcome;
mod quarantine;
mod session;
mod test;
mod trace;
mod world;

pub use amount::{Amount, Size};
pub use assertion::{
    Assertion, AssertionKey, AssertionOutcome, AssertionRecord, AssertionSample, AssertionSite, FilterKind, Filtered,
    ValueGroup,
};
pub use attempt::{Attempt, Failure, Phase, Timestamp};
pub use cell::{Cell, WriteSite};
pub use change::{Base, BaseChoice, ChangeKind, ChangedFunctions, Changes, Comparison, FileChange, NameUsers};
pub use configuration::{ConfigurationMeasure, RunCircumstances, RunConfiguration};
pub use day::Day;
pub use dependencies::{Dependencies, Granularity, LeftFile};
pub use divergence::{Cause, Divergence, DivergenceKind, DivergencePoint, ForcedValue, Location, ValueSplit};
pub use event::{EnvironmentFacts, Event, Problem, ProblemKind, Totals};
pub use factor::Factor;
pub use factor::declaration::{
    FactorDeclaration, FactorEffect, FactorPhrase, FactorPlan, FactorProbe, FactorScale, NamesOfProgram, PlanContext,
    ProbeAnswer, ProbeStep, ProbeTarget, ProbeVerdict, ProcessSetup, ProgramNames, ScaleShape,
};
pub use factor::kind::{BadFactor, FactorKind, declare_factors};
pub use finding::confidence::Confidence;
pub use finding::feedback::Feedback;
pub use finding::prepared_report::PreparedReport;
pub use finding::searched::{Coverage, PairCount, Searched};
pub use finding::{
    Detail, EarlierRuns, Evidence, Finding, Intersect, IntersectKind, Leak, LeakKind, Nio, NioKind, NioMode,
    OrderDependence, OrderKind, Repeats, Replay, Reproduction, RestoreCounts, Rung, Shows, TouchedPath, Verdict,
    VerdictKind,
};
pub use fingerprint::Fingerprint;
pub use influence::{AtLayer, FactorTrial, Influence, Threshold, UntriedFactor};
pub use layer::{
    Difference, Fact, FactId, Gap, Layer, LayerDifference, LayerFacts, LayerMeasure, Measurement, OutputId, Rate,
    SeenIn, SuppressedNoise, Unit, Variance,
};
pub use moment::{ClockSetting, Moment};
pub use outcome::{Death, Outcome};
pub use quarantine::{QuarantineMode, QuarantineResult, QuarantineStanding, Quarantined};
pub use session::{
    BUDGET_EXHAUSTED, Concurrency, EnvironmentId, Isolation, Placement, Probe, Purpose, Session, SessionId,
    WORLD_NOT_REACHED,
};
pub use test::{Test, TestId};
pub use trace::{LineId, NondeterministicCall, ObservedValue, SourceLine, ThreadTrace, TraceId, Traces};
pub use world::{Privacy, PrivatePart, Shared, World, WorldId};
