//! Configuration: the project, its settings file, and the effective settings with their sources.

pub(crate) mod keys;
pub(crate) mod project;
pub(crate) mod settings;
pub(crate) mod template;
pub(crate) mod variables;
