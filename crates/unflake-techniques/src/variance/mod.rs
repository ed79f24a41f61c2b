//! How much repeated runs differ at each layer: entropy, range and the differences themselves.

pub(crate) mod compare;
pub(crate) mod entropy;
pub(crate) mod measure;
