//! Rust: `cargo test`, `cargo nextest run`, and test programs with Rust's test harness.

pub(crate) mod cargo_test;
pub(crate) mod handoff_socket;
pub(crate) mod libtest;
pub(crate) mod libtest_shared;
pub(crate) mod nextest;
pub(crate) mod panics;
pub(crate) mod shims;
