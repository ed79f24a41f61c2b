//! Locates a git repository and resolves its revisions.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use crate::GitError;
use crate::git::Git;

/// A git repository with a working tree.
#[derive(Clone, Debug)]
pub struct Repository {
    /// Runs in the root of the working tree.
    pub(crate) git: Git,
    pub(crate) shallow: bool,
}

impl Repository {
    /// The repository whose working tree contains `here`, if any.
    pub fn find(here: &Path) -> Result<Option<Repository>, GitError> {
        let git = Git::at(here);
        let args = ["rev-parse", "--is-inside-work-tree", "--is-shallow-repository"];
        let output = git.run(&args, Vec::new())?;
        if !output.status.success() {
            if output.error.contains("not a git repository") {
                return Ok(None);
            }
            return Err(GitError::Git { command: "rev-parse".to_owned(), message: output.error });
        }
        let output = String::from_utf8_lossy(&output.stdout).into_owned();
        let [inside, shallow] = output.lines().collect::<Vec<_>>()[..] else {
            return Err(GitError::Git {
                command: "rev-parse".to_owned(),
                message: format!("{output:?} was not expected"),
            });
        };
        if inside != "true" {
            return Err(GitError::NoWorkingTree);
        }
        let root = path(git.line(&["rev-parse", "--show-toplevel"])?);
        Ok(Some(Repository { git: Git::at(&root), shallow: shallow == "true" }))
    }

    /// The root of the working tree.
    pub fn root(&self) -> &Path {
        self.git.directory()
    }

    /// The full hash of HEAD. None before the first commit.
    pub fn head(&self) -> Result<Option<String>, GitError> {
        self.git.optional_line(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])
    }

    /// The hash of the tree of a revision.
    pub fn tree(&self, revision: &str) -> Result<String, GitError> {
        let found = self.resolve(revision, "tree")?;
        found.ok_or_else(|| GitError::BadBase { asked: revision.to_owned(), shallow: self.shallow })
    }

    /// The hash of HEAD's tree if the files equal it, apart from files that a sparse checkout omits
    /// and submodules that are not checked out. None: they differ, or it is unknown.
    pub fn clean_tree(&self) -> Result<Option<String>, GitError> {
        let Some(head) = self.head()? else { return Ok(None) };
        if self.equals(&head)? { self.tree(&head).map(Some) } else { Ok(None) }
    }

    /// The full hash of the object that `name` refers to, if it has this type.
    pub(crate) fn resolve(&self, name: &str, kind: &str) -> Result<Option<String>, GitError> {
        if name.is_empty() || name.starts_with('-') || name.contains('\0') {
            return Ok(None);
        }
        self.git.optional_line(&["rev-parse", "--verify", "--quiet", &format!("{name}^{{{kind}}}")])
    }

    /// The directory of the repository that all its working trees share.
    pub(crate) fn common(&self) -> Result<PathBuf, GitError> {
        let common = path(self.git.line(&["rev-parse", "--git-common-dir"])?);
        Ok(self.root().join(common))
    }
}

pub(crate) fn path(bytes: Vec<u8>) -> PathBuf {
    PathBuf::from(OsString::from_vec(bytes))
}
