//! Non-idempotent tests: they pass once and fail when they run again in one process (Wei et al.
//! 2022).
//!
//! - `nio` is the technique: it runs every test twice and repeats every suspicion
//! - `classify` decides between NIO, brittle, broken and non-deterministic, and words the findings
//! - `prefilter` screens tests in cheap in-process environments where nothing can be forked

pub(crate) mod classify;
pub(crate) mod nio;
pub(crate) mod prefilter;
