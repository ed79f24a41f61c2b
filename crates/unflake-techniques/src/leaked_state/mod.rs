//! The state through which one test changes the outcome of another, proven by restoring it.

pub(crate) mod proof;
