//! `unflake doctor`: what is installed, what works and what does not.

pub(crate) mod factor_probes;
pub(crate) mod report;
