//! Rust: `cargo test`, `cargo nextest run`, and test programs with Rust's test harness.

pub(crate) mod cargo_test;
pub(crate) mod handoff_socket;
pub(crate) mod libtest;
pub(crate) mod libtest_sequence;
pub(crate) mod libtest_shared;
pub(crate) mod nextest;
mod nextest_groups;
mod nondeterminism;
pub(crate) mod panics;
pub(crate) mod shims;
pub(crate) mod traced_build;

use unflake_observe::trace::ToolHome;

use crate::runner::{Capabilities, Profile, ProjectFiles};

/// What those of them have in common that run the tests of a program in threads of one process.
const THREADED: Profile =
    Profile { capabilities: Capabilities { side_by_side: true, own_order: true, ..PROFILE.capabilities }, ..PROFILE };

/// What the runners of this folder have in common. Each test runs in its own process or in a
/// process of its program, whose order is not the driver's to choose.
const PROFILE: Profile = Profile {
    language: "Rust",
    capabilities: Capabilities { fork: true, trace: true, ..Capabilities::NONE },
    files: ProjectFiles {
        root_markers: &["Cargo.toml"],
        global_inputs: &[
            "**/Cargo.toml",
            "**/Cargo.lock",
            "**/build.rs",
            "**/rust-toolchain",
            "**/rust-toolchain.toml",
            "**/.cargo/config*",
        ],
        caches: &["target"],
        ..ProjectFiles::NONE
    },
    call_tables: &[nondeterminism::RUST],
    variables: &["CARGO", "RUSTUP"],
    tool_homes: &[
        ToolHome { variable: "CARGO_HOME", default: ".cargo" },
        ToolHome { variable: "RUSTUP_HOME", default: ".rustup" },
        // The test harness looks for the description of the terminal.
        ToolHome { variable: "TERMINFO", default: ".terminfo" },
    ],
    ..Profile::EMPTY
};
