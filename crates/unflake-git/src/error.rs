//! Errors of change detection.

/// Why the changes cannot be determined. Callers continue without knowing what changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GitError {
    /// `git` is missing or cannot be started.
    #[error("git cannot be started ({0}), so the changes are unknown")]
    NoGit(String),
    /// The repository has no working tree: it is bare, or the directory is inside `.git`.
    #[error("the repository has no working tree here, so there is nothing to compare")]
    NoWorkingTree,
    #[error("the repository has no commits yet, so there is nothing to compare with")]
    NoCommits,
    /// The requested base is not a commit.
    #[error("{asked:?} is not a commit of this {}", repository_hint(*.shallow))]
    BadBase { asked: String, shallow: bool },
    /// No base was requested, and none can be inferred.
    #[error("{0}")]
    NoBase(String),
    /// git failed, or printed something that cannot be parsed.
    #[error("git {command} failed: {message}")]
    Git { command: String, message: String },
    /// A file could not be read or written.
    #[error("{0}")]
    File(String),
}

fn repository_hint(shallow: bool) -> &'static str {
    if shallow { "shallow clone; `git fetch --unshallow` gets its history" } else { "repository" }
}
