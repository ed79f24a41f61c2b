//! How likely a test is to fail because of flakiness in its next run, from its history.

pub(crate) mod change_points;
pub(crate) mod estimate;
pub(crate) mod timeline;
