//! Errors of change detection.

use std::fmt;

/// Why the changes cannot be determined. Callers continue without knowing what changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// `git` is missing or cannot be started.
    NoGit(String),
    /// The repository has no working tree: it is bare, or the directory is inside `.git`.
    NoWorkingTree,
    NoCommits,
    /// The requested base is not a commit.
    BadBase {
        asked: String,
        shallow: bool,
    },
    /// No base was requested, and none can be inferred.
    NoBase(String),
    /// git failed, or printed something that cannot be parsed.
    Git {
        asked: String,
        said: String,
    },
    /// A file could not be read or written.
    File(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::NoGit(why) => write!(f, "git cannot be started ({why}), so nobody can tell what changed"),
            Self::NoWorkingTree => {
                f.write_str("the repository has no working tree here, so there is nothing to compare")
            }
            Self::NoCommits => f.write_str("the repository has no commits yet, so there is nothing to compare with"),
            Self::BadBase { asked, shallow: false } => write!(f, "{asked:?} is not a commit of this repository"),
            Self::BadBase { asked, shallow: true } => write!(
                f,
                "{asked:?} is not a commit of this clone, which is shallow; `git fetch --unshallow` brings the rest of its history"
            ),
            Self::NoBase(why) => f.write_str(why),
            Self::Git { asked, said } => write!(f, "git {asked} failed: {said}"),
            Self::File(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Error {}
