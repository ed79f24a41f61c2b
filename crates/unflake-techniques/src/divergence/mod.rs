//! Locates where a flaky test starts to fail, by comparing traces of failing and passing runs.
//!
//! - `locate` is the technique: it decides what to run and when to stop
//! - `conclusion` compares the traces and ranks start locations
//! - `aligned_runs` matches threads across runs; `failure_line` finds the line that raised a
//!   failure
//! - `common_prefix` is the published comparison with the nearest passing run
//! - `edges` and `cross_thread_edges` find control flow, `values`, `features`, `value_split` and
//!   `value_text` values that separate failing from passing runs; both yield a `candidate`
//! - `cause` classifies the root cause; `no_divergence` words the answer when nothing separates the
//!   runs
//! - `wait_lines` lists the lines that wait, `delay_points` those at which a thread can be delayed, for
//!   interventions
//! - `recorded_traces` provides traces as literals, for tests

pub(crate) mod aligned_runs;
pub(crate) mod candidate;
pub(crate) mod cause;
pub(crate) mod common_prefix;
pub(crate) mod conclusion;
pub(crate) mod cross_thread_edges;
pub(crate) mod delay_points;
pub(crate) mod edges;
pub(crate) mod failure_line;
pub(crate) mod features;
pub(crate) mod locate;
pub(crate) mod no_divergence;
#[cfg(test)]
pub(crate) mod recorded_traces;
pub(crate) mod value_split;
pub(crate) mod value_text;
pub(crate) mod values;
pub(crate) mod wait_lines;
