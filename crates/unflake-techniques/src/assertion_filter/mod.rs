//! The assertion filter (Gao 2017): assertions that vary on unchanged code may fail without failing
//! the run.
//!
//! - `flakiness` scores assertions from samples of unchanged code
//! - `learn` collects those samples in repeated runs
//! - `assertion_matching` finds a learned assertion in later versions of the code
//! - `policy` is the interface to the run loop
//! - `apply` tolerates filtered failures during `unflake run` and decides which of them still count
//! - `findings` words the results; `tune` recommends a score threshold from labelled failures
//! - `gao_example` is the running example of the source, for tests

pub(crate) mod apply;
pub(crate) mod assertion_matching;
pub(crate) mod findings;
pub(crate) mod flakiness;
#[cfg(test)]
pub(crate) mod gao_example;
pub(crate) mod learn;
pub(crate) mod policy;
pub(crate) mod tune;
