use std::fmt;

/// Why what changed cannot be told, in words for a person. Whoever meets one goes on without knowing what changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// There is no `git` on this machine, or none that can be started.
    NoGit(String),
    /// The repository has no files: it is bare, or the place is inside its `.git`.
    NoWorkingTree,
    NoCommits,
    /// What was asked for as the base is no commit.
    BadBase {
        asked: String,
        shallow: bool,
    },
    /// Nobody said what to compare with, and nothing suggests itself.
    NoBase(String),
    /// git refused, or said what cannot be understood.
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
