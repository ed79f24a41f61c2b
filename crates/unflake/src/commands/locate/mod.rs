//! `unflake locate`: finds where in the code the failing runs of a flaky test diverge from the
//! passing ones.

pub(crate) mod batch;
pub(crate) mod command;
pub(crate) mod divergence_run;
pub(crate) mod prepared_reports;
