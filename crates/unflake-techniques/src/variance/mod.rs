//! How much repeated runs differ at each layer: entropy, range and the differences themselves.
//!
//! - `measure` is the technique: it repeats the tests and assembles the measurement
//! - `configurations` are the circumstances under which they can be repeated
//! - `compare` turns recorded layers into differences; `entropy` has the measures

pub(crate) mod compare;
pub(crate) mod configurations;
pub(crate) mod entropy;
pub(crate) mod measure;
