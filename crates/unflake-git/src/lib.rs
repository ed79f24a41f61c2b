//! Compares the working tree with a revision of a git repository.
//!
//! The result is used to conclude that a change cannot have caused a failure, so it must never omit
//! a change. Anything unknown is reported ([`unflake_model::Changes::unknown`], [`GitError`]); if
//! the changed part of a file cannot be determined, the whole file counts. Deliberately absent:
//! what a test used, verdicts, history. `docs/design/changes.md` has the decisions.

mod base;
mod blobs;
mod changes;
mod configuration;
mod error;
mod git;
mod git_status;
mod global_inputs;
mod name_users;
mod repository;
mod skip_worktree;
mod submodules;
mod touched_only;
mod tracked_files;
mod worktree;

#[cfg(test)]
mod tests;

pub use error::GitError;
pub use global_inputs::matching;
pub use repository::Repository;
pub use tracked_files::FileStatus;
pub use worktree::Worktree;
