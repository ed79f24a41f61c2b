//! A repository and where it is.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use crate::Error;
use crate::git::Git;

/// A git repository with a working tree.
#[derive(Clone, Debug)]
pub struct Repository {
    /// At the root of the working tree.
    pub(crate) git: Git,
    pub(crate) shallow: bool,
}

impl Repository {
    /// The repository in whose working tree `here` is. None: there is none.
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

    /// The root of the working tree, which may be above the place where it was looked for.
    pub fn root(&self) -> &Path {
        self.git.directory()
    }

    /// The full hash of the commit that is checked out. None before the first one.
    pub fn head(&self) -> Result<Option<String>, Error> {
        self.git.perhaps(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])
    }

    /// The hash of the tree of a revision.
    pub fn tree(&self, revision: &str) -> Result<String, Error> {
        let found = self.resolve(revision, "tree")?;
        found.ok_or_else(|| Error::BadBase { asked: revision.to_owned(), shallow: self.shallow })
    }

    /// The hash of the tree that the files are now, apart from what a sparse checkout leaves out and submodules that are not
    /// checked out. None: they are not as in the commit that is checked out, or nobody knows.
    pub fn clean_tree(&self) -> Result<Option<String>, Error> {
        let Some(head) = self.head()? else { return Ok(None) };
        if self.is_as(&head)? { self.tree(&head).map(Some) } else { Ok(None) }
    }

    /// The full hash of what `name` stands for, if it is of this type.
    pub(crate) fn resolve(&self, name: &str, kind: &str) -> Result<Option<String>, Error> {
        if name.is_empty() || name.starts_with('-') || name.contains('\0') {
            return Ok(None);
        }
        self.git.perhaps(&["rev-parse", "--verify", "--quiet", &format!("{name}^{{{kind}}}")])
    }

    /// Where the parts of the repository are that all its working trees share.
    pub(crate) fn common(&self) -> Result<PathBuf, Error> {
        let common = path(self.git.line(&["rev-parse", "--git-common-dir"])?);
        Ok(self.root().join(common))
    }
}

pub(crate) fn path(bytes: Vec<u8>) -> PathBuf {
    PathBuf::from(OsString::from_vec(bytes))
}
