//! The statistics that the techniques share.
//!
//! - `exact_test`: exact p-values for differences between failing and passing runs (Fisher)
//! - `failure_rate`: comparison of two failure rates, and Holm's correction
//! - `binomial`: confidence intervals of rates
//! - `beta`: the beta distribution, for scores and change points

pub(crate) mod beta;
pub(crate) mod binomial;
pub(crate) mod exact_test;
pub(crate) mod failure_rate;
