//! HTML page for a located divergence.

pub(crate) mod code;
pub(crate) mod page;
pub(crate) mod sections;
pub(crate) mod values;
