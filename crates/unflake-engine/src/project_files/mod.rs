//! Compared sessions find the same project files: snapshot, watch, restore, recover after a crash.

pub(crate) mod backup;
pub(crate) mod crash_recovery;
pub(crate) mod file_stat;
pub(crate) mod fs_watcher;
pub(crate) mod isolation;
pub(crate) mod snapshot;
pub(crate) mod temp_names;
pub(crate) mod written_elsewhere;
