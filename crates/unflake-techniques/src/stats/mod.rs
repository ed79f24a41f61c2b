//! Statistics: exact tests, the beta distribution, corrections for multiple comparisons.

pub(crate) mod beta;
pub(crate) mod fisher;
pub(crate) mod rate_difference;
