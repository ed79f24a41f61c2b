//! `unflake filter`: assertions that vary without a change, and the file that lets them fail.

pub(crate) mod assertion_log;
pub(crate) mod command;
pub(crate) mod file;
pub(crate) mod tune;
