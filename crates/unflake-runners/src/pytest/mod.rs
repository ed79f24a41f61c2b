//! pytest: what is known about it and about Python.

pub(crate) mod factors;
