//! Sessions that start with the same tests share the processes that ran them: environments parked
//! at the branching points are forked for each session. Rationale: docs/design/fork-tree.md.

pub(crate) mod path;
pub(crate) mod route;
pub(crate) mod tree;
pub(crate) mod walk;
