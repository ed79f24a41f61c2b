//! Verdicts by rerunning: is a failure real or flaky? The ladder of Eloussi (2015), chapter 3.

pub(crate) mod confirmation;
pub(crate) mod failing_test;
pub(crate) mod ladder;
pub(crate) mod never_excuse;
pub(crate) mod single_run;
