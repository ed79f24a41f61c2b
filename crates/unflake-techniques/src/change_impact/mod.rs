//! Verdicts by change impact: can the user's change have caused a failure? INTERSECT, chapter 4.

pub(crate) mod dependency_learning;
pub(crate) mod intersect;
pub(crate) mod unaffected;
