//! Locates a git repository and resolves its revisions.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use crate::Error;
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
    pub fn find(here: &Path) -> Result<Option<Repository>, Error> {
        let git = Git::at(here);
        let words = ["rev-parse", "--is-inside-work-tree", "--is-shallow-repository"];
        let answer = git.run(&words, Vec::new())?;
        if !answer.status.success() {
            if answer.complaint.contains("not a git repository") {
                return Ok(None);
            }
            return Err(Error::Git { asked: "rev-parse".to_owned(), said: answer.complaint });
        }
        let said = String::from_utf8_lossy(&answer.said).into_owned();
        let [inside, shallow] = said.lines().collect::<Vec<_>>()[..] else {
            return Err(Error::Git { asked: "rev-parse".to_owned(), said: format!("{said:?} was not expected") });
        };
        if inside != "true" {
            return Err(Error::NoWorkingTree);
        }
        let root = path(git.line(&["rev-parse", "--show-toplevel"])?);
        Ok(Some(Repository { git: Git::at(&root), shallow: shallow == "true" }))
    }

    /// The root of the working tree.
    pub fn root(&self) -> &Path {
        self.git.directory()
    }

    /// The full hash of HEAD. None before the first commit.
    pub fn head(&self) -> Result<Option<String>, Error> {
        self.git.perhaps(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])
    }

    /// The hash of the tree of a revision.
    pub fn tree(&self, revision: &str) -> Result<String, Error> {
        let found = self.resolve(revision, "tree")?;
        found.ok_or_else(|| Error::BadBase { asked: revision.to_owned(), shallow: self.shallow })
    }

    /// The hash of HEAD's tree if the files equal it, apart from files that a sparse checkout omits
    /// and submodules that are not checked out. None: they differ, or it is unknown.
    pub fn clean_tree(&self) -> Result<Option<String>, Error> {
        let Some(head) = self.head()? else { return Ok(None) };
        if self.is_as(&head)? { self.tree(&head).map(Some) } else { Ok(None) }
    }

    /// The full hash of the object that `name` refers to, if it has this type.
    pub(crate) fn resolve(&self, name: &str, kind: &str) -> Result<Option<String>, Error> {
        if name.is_empty() || name.starts_with('-') || name.contains('\0') {
            return Ok(None);
        }
        self.git.perhaps(&["rev-parse", "--verify", "--quiet", &format!("{name}^{{{kind}}}")])
    }

    /// The directory of the repository that all its working trees share.
    pub(crate) fn common(&self) -> Result<PathBuf, Error> {
        let common = path(self.git.line(&["rev-parse", "--git-common-dir"])?);
        Ok(self.root().join(common))
    }
}

pub(crate) fn path(bytes: Vec<u8>) -> PathBuf {
    PathBuf::from(OsString::from_vec(bytes))
}
