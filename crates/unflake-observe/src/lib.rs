//! Observations of test runs: ordered traces of executed code, and facts at each layer.
//!
//! Deliberately absent: sessions, verdicts, conclusions from traces, measures.

pub mod layers;
pub mod trace;
