//! The nouns that two other rooms of unflake exchange.
//!
//! Deliberately absent: input and output, clocks, processes, SQL, command-line parsing, and any knowledge of a
//! particular test runner or language.

mod amount;
mod answer;
mod assertion;
mod attempt;
mod cell;
mod change;
mod day;
mod dependencies;
mod divergence;
mod factor;
mod factor_kind;
mod finding;
mod finding_id;
mod fingerprint;
mod influence;
mod layer;
mod moment;
mod observation;
mod outcome;
mod prepared;
mod quarantine;
mod session;
mod test;
mod trace;

pub use amount::{Amount, Size};
pub use answer::Answer;
pub use assertion::{Assertion, FilterKind, Filtered, Group, Held, Sample, Saw, Site, Spot};
pub use attempt::{Attempt, Failure, Phase, Timestamp};
pub use cell::{Cell, Written};
pub use change::{Base, Change, ChangeKind, ChangedFunctions, Changes, Chosen, Comparison};
pub use day::Day;
pub use dependencies::{Dependencies, Granularity};
pub use divergence::{Cause, Divergence, How, Location, Parting, Split};
pub use factor::{Delays, Factor, Listing, Network, State};
pub use factor_kind::{BadFactor, FactorKind};
pub use finding::{
    Detail, Evidence, Finding, Intersect, IntersectKind, Leak, LeakKind, Mode, Nio, NioKind, OrderDependence,
    OrderKind, Repeats, Rung, Touch, Verdict, VerdictKind,
};
pub use fingerprint::Fingerprint;
pub use influence::{AtLayer, Influence, Threshold, Tried, Untried};
pub use layer::{
    Difference, Fact, FactId, Gap, Hidden, Layer, LayerDifference, LayerMeasure, Looks, Measured, OutputId, Rate,
    SeenIn, Spread, Unit,
};
pub use moment::{Moment, When};
pub use observation::{Environment, Event, Observation, Problem, ProblemKind, Totals};
pub use outcome::{Death, Outcome};
pub use prepared::Prepared;
pub use quarantine::{QuarantineMode, Quarantined, SetApart, Standing};
pub use session::{EnvironmentId, Origin, Place, Probe, Purpose, Session, SessionId};
pub use test::{Test, TestId};
pub use trace::{Line, LineId, Reach, Seen, Strand, TraceId, Traces};
