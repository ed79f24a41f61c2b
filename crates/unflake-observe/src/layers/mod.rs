//! What attempts looked like at each layer: the format in which agents tell it, the rules that take noise out of it, the invariants
//! that are inferred from values, and the archive in which the looks of many attempts are kept to be compared.
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

pub use archive::Archive;
pub use invariant::{Invariant, Relation};
pub use noise_rules::{RULES, Rules, TemporaryName, UnknownRule};
pub use program_points::Point;
pub use read::{Said, Site, Unreadable, read};
pub use value::Value;
