//! Any command that writes JUnit XML, with a second command that runs one test.

pub(crate) mod one_test_command;
pub(crate) mod outcome;
pub(crate) mod report;
mod report_only;
pub(crate) mod results_command;
