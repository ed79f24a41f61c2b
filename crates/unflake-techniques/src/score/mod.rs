//! Flakiness scores from history: how likely a test is to fail because of flakiness in its next
//! run.
//!
//! - `timeline` turns recorded executions into one result per test and run
//! - `change_points` divides a history into segments of one behaviour
//! - `estimate` computes the score, its bounds and the test's health

pub(crate) mod change_points;
pub(crate) mod estimate;
pub(crate) mod timeline;
