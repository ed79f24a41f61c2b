//! Order-dependent tests: victims and their polluters, brittle tests and their state-setters.
//! "Culprit" stands for polluter or state-setter.
//!
//! - `search` is the technique: it runs tests alone, in covering orders and in random orders
//! - `progress` records what the search knows; `order_cover` generates the orders
//! - `polluter_search` finds the smallest list of culprits; `victim_trial` runs a test after a list
//! - `import_dependence` detects tests that depend on which files are loaded
//! - `findings` words the results

pub(crate) mod findings;
pub(crate) mod import_dependence;
pub(crate) mod order_cover;
pub(crate) mod polluter_search;
pub(crate) mod progress;
pub(crate) mod search;
pub(crate) mod victim_trial;
