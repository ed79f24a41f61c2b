//! Java: Maven, Gradle, or any class path, with JUnit 3 to 5.

pub(crate) mod agent_build;
pub(crate) mod agent_options;
pub(crate) mod assertions;
pub(crate) mod cds_archive;
pub(crate) mod class_file;
pub(crate) mod class_loaders;
pub(crate) mod class_path;
pub(crate) mod dependencies;
pub(crate) mod gradle;
pub(crate) mod java_sites;
pub(crate) mod java_tokens;
pub(crate) mod maven;
pub(crate) mod module;
pub(crate) mod protocol;
pub(crate) mod state;

use crate::runner::{Capabilities, InProcessIsolation, Profile};

/// What the runners of this folder have in common: an agent in a JVM runs the tests.
const PROFILE: Profile = Profile {
    language: "Java",
    capabilities: Capabilities {
        fork: true,
        any_order: true,
        repeat_in_process: true,
        trace: true,
        values: true,
        state: true,
        assertions: true,
        dependencies: true,
        layers: true,
        in_process_isolation: Some(InProcessIsolation {
            name: "class loader",
            limits: "ran twice in class loaders only: state that others left in the JVM, outside of the project's \
                     classes, may have hidden something (--fresh-by process gives each test a JVM)",
        }),
    },
    ..Profile::EMPTY
};
