//! Configuration: the project, its settings file, and the effective settings with their sources.

pub(crate) mod project;
pub(crate) mod settings;
