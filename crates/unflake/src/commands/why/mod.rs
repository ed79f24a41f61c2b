//! `unflake why`: finds the root cause of a flaky test by all techniques.

mod candidates;
pub(crate) mod command;
mod diagnosis_run;
mod evidence;
mod fix_check;
mod traces;
