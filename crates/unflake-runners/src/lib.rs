//! Test runners: everything that unflake knows about each of them, one folder per family.
//!
//! [`Runner`] is the interface, [`select`] finds the runner of a command. An agent enters some
//! runners through environment variables. For the others, unflake starts itself as the driver of
//! the command: the driver keeps the contract in `agents/README.md` as an agent inside a runner
//! does. Deliberately absent: any knowledge of what unflake does with the results.

mod cargo;
mod cpp;
mod driver;
mod junit_xml;
mod jvm;
mod options;
mod process;
mod pytest;
mod registry;
mod runner;

/// The made-up runner of `docs/design/adding-a-runner.md`.
#[cfg(test)]
#[path = "../tests/script/mod.rs"]
mod script;

use std::process::ExitCode;

pub use options::RunnerOptions;
pub use registry::{
    RunnerSelection, base_worktree_hint, call_tables, code_inputs, default_command, demo, descriptions,
    directory_inputs, examples, explain_missed_agent, explain_unsupported, factors, global_inputs, inputs_of_others,
    inputs_where_installed, installation, installation_keys, names_with, never_excuse, option, options, project_files,
    recognizes, reported_as, run_as_shim, runtime_support, select, temporary_names, tool_homes, tool_variables,
    trace_support,
};
pub use runner::{
    AgentEntry, Capabilities, DefaultCommand, Demo, Driver, InProcessIsolation, OtherRuntimes, Profile, ProjectFiles,
    ReplayedSession, Runner, RunnerOption, SetUpStep, SettingsTable, Texts, TraceSupport, UnsupportedCommand,
};

/// Builds that can be traced, for the tests of this crate and the benchmark.
#[doc(hidden)]
pub mod traced_builds {
    pub use crate::cargo::traced_build::{RUSTC, RUSTC_INNER, cargo_variables, rustc_wrapper, wrapper_link};
    pub use crate::cpp::traced_build::{Flags, advice, clang, gcc};
}

/// The main function of a driver. `options` are `name=value` as [`RunnerOptions::arguments`] gives.
pub fn drive(options: &[String], command: &[String]) -> ExitCode {
    let options = RunnerOptions::parse(options);
    let Some((runner, driver)) = select(command, &options).driver() else {
        eprintln!("this command has no driver: {}", command.join(" "));
        return ExitCode::from(2);
    };
    let Some(env) = driver::driver_env::DriverEnv::read() else {
        eprintln!("a driver is started by unflake only");
        return ExitCode::from(2);
    };
    driver::agent_error::record_panics(env.run_dir.clone(), env.environment);
    driver::orders::run(runner, &driver, command, &options, env)
}

/// How many tests a JUnit report has, or why it cannot be read. Any bytes may be given.
pub fn count_reported(bytes: &[u8]) -> Result<usize, String> {
    junit_xml::report::read(bytes).map(|report| report.tests.len())
}
