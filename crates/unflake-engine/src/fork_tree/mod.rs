//! Sessions that share a prefix of tests share the processes that ran it: parked forks.

pub(crate) mod prefix;
pub(crate) mod route;
pub(crate) mod tree;
pub(crate) mod walk;
