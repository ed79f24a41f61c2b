//! `unflake run`: the suite, the reruns, and the verdicts.

pub(crate) mod base_worktree;
pub(crate) mod change_set;
pub(crate) mod command;
