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
