//! `unflake locate`: where in the code a flaky test starts to fail.

pub(crate) mod command;
pub(crate) mod divergence_run;
pub(crate) mod prepared_reports;
