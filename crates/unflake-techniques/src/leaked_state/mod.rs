//! The state through which one test changes the outcome of another, proven by restoring it.
//!
//! `proof` restores subsets of the differing state cells and checks whether the outcome changes.

pub(crate) mod proof;
