//! Which condition of its environment makes a test fail: an experiment over factors.

pub(crate) mod combined_screen;
pub(crate) mod experiment;
pub(crate) mod findings;
pub(crate) mod sentences;
pub(crate) mod threshold;
pub(crate) mod trials;
