//! What attempts looked like at each layer: the format in which agents tell it, the rules that take noise out of it, the invariants
//! that are inferred from values, and the archive in which the looks of many attempts are kept to be compared.
//!
//! Deliberately absent: sessions, verdicts on tests, measures.

mod archive;
mod chance;
mod columns;
mod facts;
mod invariant;
mod look;
mod noise;
mod pairs;
mod points;
mod read;
mod rules;
mod value;

pub use archive::Archive;
pub use invariant::{Invariant, Relation};
pub use points::Point;
pub use read::{Said, Site, Unreadable, read};
pub use rules::{RULES, Rules, UnknownRule};
pub use value::Value;
