//! What changed: the files as they are now against a revision, as facts.
//!
//! The answer is used to say that a failure cannot come from a change, so it must never leave one out. Where something
//! cannot be known it says so in words ([`unflake_model::Changes::unknown`], [`Error`]); where a part of a file cannot
//! be told from the rest, the whole file counts. Deliberately absent: what a test used, verdicts, history. The decisions are
//! in `docs/design/10-changes.md`.

mod base;
mod changes;
mod contents;
mod entries;
mod error;
mod everywhere;
mod git;
mod hidden;
mod repository;
mod rewritten;
mod submodules;
mod worktree;

#[cfg(test)]
mod tests;

pub use error::Error;
pub use repository::Repository;
pub use worktree::Worktree;
