//! Order-dependent tests: victims and their polluters, brittle tests and their state-setters.

pub(crate) mod findings;
pub(crate) mod import_dependence;
pub(crate) mod order_cover;
pub(crate) mod polluter_search;
pub(crate) mod progress;
pub(crate) mod search;
pub(crate) mod victim_trial;
