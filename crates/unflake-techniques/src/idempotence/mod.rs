//! Non-idempotent tests: they pass once and fail when they run again in one process (Wei et al. 2022).

pub(crate) mod classify;
pub(crate) mod nio;
pub(crate) mod prefilter;
