//! Child processes: started, read, limited in time, and ended with everything they started.

pub(crate) mod bounded_text;
pub(crate) mod captured_command;
pub(crate) mod changed_files;
pub(crate) mod child;
pub(crate) mod files;
pub(crate) mod prestarted;
pub(crate) mod sanitizers;
pub(crate) mod spec;
