//! What every search shares: the scheduler, minimisation (ddmin) and the selection of tests.

pub(crate) mod coverage;
pub(crate) mod minimize;
pub(crate) mod scheduler;
pub(crate) mod select;
