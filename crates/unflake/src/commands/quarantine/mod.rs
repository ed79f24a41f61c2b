//! `unflake quarantine`: quarantines known failures, each with an owner and an expiry date.

pub(crate) mod command;
pub(crate) mod file;
