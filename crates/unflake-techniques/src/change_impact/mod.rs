//! Verdicts by change impact: can the user's change have caused a failure? INTERSECT, chapter 4 of
//! Eloussi (2015).
//!
//! - `intersect` compares a change with what a test depends on
//! - `unaffected` is the last rung of the ladder: evidence that the change cannot be the cause
//! - `dependency_learning` runs the suite once to record dependencies

pub(crate) mod dependency_learning;
pub(crate) mod intersect;
pub(crate) mod unaffected;
