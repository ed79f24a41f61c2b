//! Where a flaky test starts to fail: failing and passing runs are traced and compared.

pub(crate) mod aligned_runs;
pub(crate) mod candidate;
pub(crate) mod cause;
pub(crate) mod common_prefix;
pub(crate) mod conclusion;
pub(crate) mod cross_thread_edges;
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
