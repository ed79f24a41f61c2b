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
use crate::{Error, Repository};

/// The directory of the markers, inside the git directory.
const MARKS: &str = "unflake-worktrees";

/// A detached worktree that is removed on drop. It does not affect the user's index, branches or
/// stash.
#[derive(Debug)]
pub struct Worktree {
    git: Git,
    path: PathBuf,
    submodules: Vec<String>,
    mark: PathBuf,
    /// Held while the worktree exists.
    _lock: Flock<File>,
}

impl Repository {
    /// Checks out `revision` in a new directory below `below`, which should be outside of the
    /// user's working tree. Hooks do not run. Objects that a partial clone lacks are fetched.
    pub fn worktree(&self, revision: &str, below: &Path) -> Result<Worktree, Error> {
        self.sweep()?;
        let bad = || Error::BadBase { asked: revision.to_owned(), shallow: self.shallow };
        let revision = self.resolve(revision, "commit")?.ok_or_else(bad)?;
        let is_submodule = |(_, mode, _): &(Vec<u8>, String, String)| mode == SUBMODULE;
        let submodules = committed(&self.git, &revision)?.into_iter().filter(is_submodule);
        let submodules = submodules.map(|(path, ..)| String::from_utf8_lossy(&path).into_owned()).collect();

        fs::create_dir_all(below).and_then(|()| below.canonicalize()).map_err(at(below)).and_then(|below| {
            let (mark, mut lock, name) = self.mark()?;
            let path = below.join(name);
            lock.write_all(path.as_os_str().as_bytes()).and_then(|()| lock.sync_all()).map_err(at(&mark))?;
            // From here on, drop removes everything.
            let tree = Worktree { git: self.git.clone(), path, submodules, mark, _lock: lock };
            let words = ["worktree", "add", "--quiet", "--detach", "--force"].map(AsRef::as_ref);
            self.git.with_network().ask(&[&words[..], &[tree.path.as_os_str(), revision.as_ref()]].concat())?;
            Ok(tree)
        })
    }

    /// Removes the worktrees of killed processes. Returns their number.
    pub fn sweep(&self) -> Result<usize, Error> {
        let marks = self.common()?.join(MARKS);
        let Ok(entries) = fs::read_dir(&marks) else { return Ok(0) };
        let mut swept = 0;
        for mark in entries.filter_map(Result::ok).map(|entry| entry.path()) {
            let Ok(file) = File::open(&mark) else { continue };
            let Ok(mut lock) = Flock::lock(file, FlockArg::LockExclusiveNonblock) else { continue };
            let mut place = Vec::new();
            lock.read_to_end(&mut place).map_err(at(&mark))?;
            // An empty marker has no worktree yet.
            if !place.is_empty() {
                remove(&self.git, &path(place));
                swept += 1;
            }
            let _ = fs::remove_file(&mark);
        }
        let _ = fs::remove_dir(&marks);
        Ok(swept)
    }

    /// Creates and locks a new marker.
    fn mark(&self) -> Result<(PathBuf, Flock<File>, String), Error> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let marks = self.common()?.join(MARKS);
        for _ in 0..100 {
            let name = format!("unflake-base-{}-{}", process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
            let mark = marks.join(&name);
            fs::create_dir_all(&marks).map_err(at(&marks))?;
            // A concurrent sweep may remove the directory or the file before it is locked.
            let Ok(file) = OpenOptions::new().write(true).create_new(true).open(&mark) else { continue };
            let Ok(lock) = Flock::lock(file, FlockArg::LockExclusiveNonblock) else { continue };
            if lock.metadata().is_ok_and(|found| found.nlink() > 0) {
                return Ok((mark, lock, name));
            }
        }
        Err(Error::File(format!("{}: no mark can be made there", marks.display())))
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
        let _ = fs::remove_file(&self.mark);
        let _ = self.mark.parent().map(fs::remove_dir);
    }
}

/// Removes what exists of a worktree, ignoring errors. Does not prune: that would also remove
/// worktrees of the user whose directories are temporarily missing.
fn remove(git: &Git, tree: &Path) {
    let words = ["worktree", "remove", "--force", "--force"].map(AsRef::as_ref);
    let words = [&words[..], &[tree.as_os_str()]].concat();
    let _ = git.ask(&words);
    if tree.exists() {
        let _ = fs::remove_dir_all(tree);
        let _ = git.ask(&words);
    }
}

fn at(path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    move |error| Error::File(format!("{}: {error}", path.display()))
}
