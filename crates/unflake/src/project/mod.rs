//! Facts about the project under test: its revision, its changes, its sources, its owners, its CI and its shards.

pub(crate) mod affected_tests;
pub(crate) mod base_worktree;
pub(crate) mod ci;
pub(crate) mod code_owners;
pub(crate) mod comparison;
pub(crate) mod kept_listing;
pub(crate) mod left_files;
pub(crate) mod revision;
pub(crate) mod shard;
pub(crate) mod source_files;
pub(crate) mod worktree_hash;
