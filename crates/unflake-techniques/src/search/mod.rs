//! Building blocks that the techniques share.
//!
//! - `scheduler` runs searches that are written as sequential async code, batch by batch
//! - `minimize` reduces a list to a minimal one that still reproduces something (ddmin)
//! - `select` finds the tests that a person named
//! - `budget` measures the time a technique has used; `rng` is the seeded random number generator
//! - `coverage` counts which ordered pairs of tests have run next to each other

pub(crate) mod budget;
pub(crate) mod coverage;
pub(crate) mod minimize;
pub(crate) mod rng;
pub(crate) mod scheduler;
pub(crate) mod select;
