//! Creates temporary worktrees with the files of another revision.
//!
//! Each worktree has a marker in the repository: a file that contains its path and is locked while
//! its process lives. A process that can lock a marker has found the worktree of a killed process,
//! and removes it.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

use nix::fcntl::{Flock, FlockArg};

use crate::git::Git;
use crate::git_status::{SUBMODULE, committed};
use crate::repository::path;
use crate::{GitError, Repository};

/// The directory of the markers, inside the git directory.
const MARKERS: &str = "unflake-worktrees";

/// A detached worktree that is removed on drop. It does not affect the user's index, branches or
/// stash.
#[derive(Debug)]
pub struct Worktree {
    git: Git,
    path: PathBuf,
    submodules: Vec<String>,
    marker: PathBuf,
    /// Held while the worktree exists.
    _lock: Flock<File>,
}

impl Repository {
    /// Checks out `revision` in a new directory below `below`, which should be outside of the
    /// user's working tree. Hooks do not run. Objects that a partial clone lacks are fetched.
    pub fn worktree(&self, revision: &str, below: &Path) -> Result<Worktree, GitError> {
        self.sweep()?;
        let bad = || GitError::BadBase { asked: revision.to_owned(), shallow: self.shallow };
        let revision = self.resolve(revision, "commit")?.ok_or_else(bad)?;
        let is_submodule = |(_, mode, _): &(Vec<u8>, String, String)| mode == SUBMODULE;
        let submodules = committed(&self.git, &revision)?.into_iter().filter(is_submodule);
        let submodules = submodules.map(|(path, ..)| String::from_utf8_lossy(&path).into_owned()).collect();

        fs::create_dir_all(below).and_then(|()| below.canonicalize()).map_err(at(below)).and_then(|below| {
            let (marker, mut lock, name) = self.create_marker()?;
            let path = below.join(name);
            lock.write_all(path.as_os_str().as_bytes()).and_then(|()| lock.sync_all()).map_err(at(&marker))?;
            // From here on, drop removes everything.
            let tree = Worktree { git: self.git.clone(), path, submodules, marker, _lock: lock };
            let args = ["worktree", "add", "--quiet", "--detach", "--force"].map(AsRef::as_ref);
            self.git.with_network().output(&[&args[..], &[tree.path.as_os_str(), revision.as_ref()]].concat())?;
            Ok(tree)
        })
    }

    /// Removes the worktrees of killed processes. Returns their number.
    pub fn sweep(&self) -> Result<usize, GitError> {
        let markers = self.common()?.join(MARKERS);
        let Ok(entries) = fs::read_dir(&markers) else { return Ok(0) };
        let mut removed = 0;
        for marker in entries.filter_map(Result::ok).map(|entry| entry.path()) {
            let Ok(file) = File::open(&marker) else { continue };
            let Ok(mut lock) = Flock::lock(file, FlockArg::LockExclusiveNonblock) else { continue };
            let mut tree = Vec::new();
            lock.read_to_end(&mut tree).map_err(at(&marker))?;
            // An empty marker has no worktree yet.
            if !tree.is_empty() {
                remove(&self.git, &path(tree));
                removed += 1;
            }
            let _ = fs::remove_file(&marker);
        }
        let _ = fs::remove_dir(&markers);
        Ok(removed)
    }

    /// Creates and locks a new marker.
    fn create_marker(&self) -> Result<(PathBuf, Flock<File>, String), GitError> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let markers = self.common()?.join(MARKERS);
        for _ in 0..100 {
            let name = format!("unflake-base-{}-{}", process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
            let marker = markers.join(&name);
            fs::create_dir_all(&markers).map_err(at(&markers))?;
            // A concurrent sweep may remove the directory or the file before it is locked.
            let Ok(file) = OpenOptions::new().write(true).create_new(true).open(&marker) else { continue };
            let Ok(lock) = Flock::lock(file, FlockArg::LockExclusiveNonblock) else { continue };
            if lock.metadata().is_ok_and(|found| found.nlink() > 0) {
                return Ok((marker, lock, name));
            }
        }
        Err(GitError::File(format!("{}: no mark can be made there", markers.display())))
    }
}

impl Worktree {
    /// The root of the worktree. A project in a subdirectory of the repository has the same
    /// subdirectory here.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The submodules of this revision, which are empty directories here.
    pub fn submodules(&self) -> &[String] {
        &self.submodules
    }
}

impl Drop for Worktree {
    fn drop(&mut self) {
        remove(&self.git, &self.path);
        let _ = fs::remove_file(&self.marker);
        let _ = self.marker.parent().map(fs::remove_dir);
    }
}

/// Removes what exists of a worktree, ignoring errors. Does not prune: that would also remove
/// worktrees of the user whose directories are temporarily missing.
fn remove(git: &Git, tree: &Path) {
    let args = ["worktree", "remove", "--force", "--force"].map(AsRef::as_ref);
    let args = [&args[..], &[tree.as_os_str()]].concat();
    let _ = git.output(&args);
    if tree.exists() {
        let _ = fs::remove_dir_all(tree);
        let _ = git.output(&args);
    }
}

fn at(path: &Path) -> impl FnOnce(std::io::Error) -> GitError {
    move |error| GitError::File(format!("{}: {error}", path.display()))
}
