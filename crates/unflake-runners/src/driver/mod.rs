//! The driver: an agent that runs outside the runner and starts the tests as processes of its own.

pub(crate) mod build_cache;
pub(crate) mod connection;
pub(crate) mod dispatch;
pub(crate) mod driver_env;
pub(crate) mod orders;
pub(crate) mod suite;
pub(crate) mod tracing;
