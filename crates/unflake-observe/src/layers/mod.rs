//! What attempts did at each layer: the format of the agents' observations, rules that remove
//! noise, invariants that are inferred from values, and an archive for comparing attempts.
//!
//! Deliberately absent: sessions, verdicts on tests, measures.

mod accident;
mod archive;
mod attempt_facts;
mod binary_invariants;
mod facts;
mod invariant;
mod noise;
mod noise_rules;
mod program_points;
mod read;
mod unary_invariants;
mod value;

pub use archive::LayerArchive;
pub use invariant::{Invariant, Relation};
pub use noise_rules::{RULES, Rules, TemporaryName, UnknownRule};
pub use program_points::ProgramPoint;
pub use read::{AgentObservation, ObservationError, ObservedAssertion, read};
pub use value::Value;
