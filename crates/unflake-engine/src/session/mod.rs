//! Sessions as the engine runs them: those that wait, and the progress of those that run.

pub(crate) mod active;
pub(crate) mod queue;
