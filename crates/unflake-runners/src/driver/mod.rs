//! The driver: an agent outside of the runner that starts the tests as processes of its own.

pub(crate) mod agent_error;
pub(crate) mod assertion_filter;
pub(crate) mod build_cache;
pub(crate) mod connection;
pub(crate) mod delay_points;
pub(crate) mod driver_env;
pub(crate) mod line_layers;
pub(crate) mod list_context;
pub(crate) mod order_runner;
pub(crate) mod orders;
pub(crate) mod program;
pub(crate) mod suite;
pub(crate) mod test_result;
pub(crate) mod trace_recorder;
