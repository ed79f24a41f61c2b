//! What changed: the files as they are now against a revision, as facts.
//!
//! The answer is used to say that a failure cannot come from a change, so it must never leave one out. Where something
//! cannot be known it says so in words ([`unflake_model::Changes::unknown`], [`Error`]); where a part of a file cannot
//! be told from the rest, the whole file counts. Deliberately absent: what a test used, verdicts, history. The decisions are
//! in `docs/design/changes.md`.

mod base;
mod blobs;
mod changes;
mod error;
mod git;
mod git_status;
mod global_inputs;
mod repository;
mod skip_worktree;
mod submodules;
mod touched_only;
mod worktree;

#[cfg(test)]
mod tests;

pub use error::Error;
pub use repository::Repository;
pub use worktree::Worktree;
