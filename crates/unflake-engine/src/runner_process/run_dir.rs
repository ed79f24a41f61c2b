//! The temporary directory of a run, and removal of directories that killed runs left.
//!
//! A supervisor removes the directory when unflake is killed. An unflake that is killed before it
//! has started a supervisor leaves its directory to the next run. Every process that uses a
//! directory holds a file lock on it, which the kernel releases when the process dies.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::Duration;

use nix::fcntl::{Flock, FlockArg};
use tempfile::TempDir;
use tracing::debug;

use crate::project_files::isolation::COPIES_DIR;

const PREFIX: &str = "unflake-run-";
pub(crate) const SOCKET: &str = "s";
/// A file of directories that have builds and no socket.
pub(crate) const BUILDS: &str = "builds";
/// A younger directory may not be locked yet.
const MIN_AGE: Duration = Duration::from_secs(60);

/// The directory of this run. Removed on drop.
#[derive(Debug)]
pub(crate) struct RunDir {
    // Declared first: the lock outlives the directory.
    directory: TempDir,
    _lock: Option<Flock<File>>,
}

impl RunDir {
    pub(crate) fn new() -> io::Result<Self> {
        static ONCE: Once = Once::new();
        // A socket path has about a hundred bytes; a long TMPDIR would leave no room.
        let base = Some(std::env::temp_dir()).filter(|base| base.as_os_str().len() < 60).unwrap_or("/tmp".into());
        ONCE.call_once(|| {
            for (left, _lock) in abandoned(&base, MIN_AGE) {
                debug!(directory = %left.display(), "removing the directory of a killed run");
                let _ = fs::remove_dir_all(left);
            }
        });
        let directory = tempfile::Builder::new().prefix(PREFIX).tempdir_in(base)?;
        let lock = lock_shared(directory.path());
        debug!(directory = %directory.path().display(), "run directory created");
        Ok(Self { directory, _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// Keeps other processes from removing the directory as abandoned while the value lives. None where
/// the file system has no locks: then no other run can lock and remove it, either.
pub(crate) fn lock_shared(directory: &Path) -> Option<Flock<File>> {
    Flock::lock(File::open(directory).ok()?, FlockArg::LockSharedNonblock).ok()
}

/// Directories of runs that no process uses, each exclusively locked. A directory with copies of
/// project files is not included: the user may want them back.
fn abandoned(base: &Path, min_age: Duration) -> impl Iterator<Item = (PathBuf, Flock<File>)> {
    let user = nix::unistd::getuid().as_raw();
    let is_run_dir = move |path: &Path| {
        let is_old = |found: &fs::Metadata| {
            found.modified().is_ok_and(|at| at.elapsed().is_ok_and(|elapsed| elapsed >= min_age))
        };
        let is_socket = |path: &Path| path.symlink_metadata().is_ok_and(|found| found.file_type().is_socket());
        let has_no_copies = || fs::symlink_metadata(path.join(COPIES_DIR)).is_err();
        let is_empty = || fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
        path.symlink_metadata().is_ok_and(|found| found.is_dir() && found.uid() == user && is_old(&found))
            && (is_socket(&path.join(SOCKET)) && has_no_copies() || is_empty() || path.join(BUILDS).exists())
    };
    let entries = fs::read_dir(base).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes()))
        .map(|entry| entry.path())
        .filter(move |path| is_run_dir(path))
        .filter_map(|path| {
            let lock = Flock::lock(File::open(&path).ok()?, FlockArg::LockExclusiveNonblock).ok()?;
            Some((path, lock))
        })
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn only_unlocked_run_directories_without_copies_are_abandoned() {
        let base = tempfile::tempdir().unwrap();
        let make = |name: &str| {
            let path = base.path().join(name);
            fs::create_dir(&path).unwrap();
            path
        };
        let with_socket = |name: &str| {
            let path = make(name);
            drop(UnixListener::bind(path.join(SOCKET)).unwrap());
            path
        };
        with_socket("unflake-run-left");
        make("unflake-run-empty");
        with_socket("unflake-other");
        fs::create_dir(with_socket("unflake-run-files").join(COPIES_DIR)).unwrap();
        fs::write(make("unflake-run-strange").join("data"), "").unwrap();
        let target = with_socket("elsewhere");
        std::os::unix::fs::symlink(target, base.path().join("unflake-run-link")).unwrap();
        let lock = lock_shared(&with_socket("unflake-run-locked"));
        assert!(lock.is_some());
        let names = |min_age| {
            let mut names: Vec<_> = abandoned(base.path(), min_age)
                .map(|(path, _)| path.file_name().unwrap().to_str().unwrap().to_owned())
                .collect();
            names.sort();
            names
        };
        assert_eq!(names(MIN_AGE), [""; 0], "all are too young");
        assert_eq!(names(Duration::ZERO), ["unflake-run-empty", "unflake-run-left"]);
        drop(lock);
        assert_eq!(names(Duration::ZERO), ["unflake-run-empty", "unflake-run-left", "unflake-run-locked"]);
    }
}
