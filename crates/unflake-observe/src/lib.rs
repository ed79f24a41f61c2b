//! What was observed in test runs: ordered traces of the code that ran, and facts at each layer.
//!
//! Deliberately absent: sessions, verdicts, conclusions from traces, measures.

pub mod layers;
pub mod trace;
