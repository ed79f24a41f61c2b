//! Which files belong to the project: tracked, ignored or neither.

use std::ffi::OsStr;
use std::path::Path;

use crate::GitError;
use crate::repository::Repository;

/// What git knows of a file or directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileStatus {
    /// It, or something in it, is tracked.
    Tracked,
    Ignored,
    /// Untracked and not ignored. It may be new.
    Untracked,
}

impl Repository {
    /// The status of a path in the working tree.
    pub fn file_status(&self, path: &Path) -> Result<FileStatus, GitError> {
        let listed = |options: &[&str]| {
            let options = options.iter().map(OsStr::new);
            let words: Vec<&OsStr> = ["ls-files", "-z"].map(OsStr::new).into_iter().chain(options).collect();
            let words = [&words[..], &[OsStr::new("--"), path.as_os_str()]].concat();
            self.git.output(&words).map(|output| !output.is_empty())
        };
        if listed(&[])? {
            return Ok(FileStatus::Tracked);
        }
        let ignored = listed(&["--others", "--ignored", "--exclude-standard", "--directory"])?;
        Ok(if ignored { FileStatus::Ignored } else { FileStatus::Untracked })
    }
}
