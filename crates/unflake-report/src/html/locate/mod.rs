//! The page that shows where a flaky test starts to fail.

pub(crate) mod code;
pub(crate) mod page;
pub(crate) mod sections;
pub(crate) mod values;
