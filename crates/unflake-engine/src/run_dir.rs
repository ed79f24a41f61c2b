//! The temporary directory of a run, and those that earlier runs could not remove.
//!
//! A keeper removes it when unflake is killed. An unflake that is killed before it has a keeper leaves it to the next one. Whoever
//! needs a directory holds a lock on it, which the system takes back from the dead.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::Duration;

use nix::fcntl::{Flock, FlockArg};
use tempfile::TempDir;

use crate::project_files::isolation::FILES;

const PREFIX: &str = "unflake-run-";
pub(crate) const SOCKET: &str = "s";
/// Between making a directory and locking it nobody holds it.
const JUST_MADE: Duration = Duration::from_secs(60);

pub(crate) struct Scratch {
    // Goes first: it is held until it is gone.
    directory: TempDir,
    _held: Option<Flock<File>>,
}

impl Scratch {
    pub(crate) fn new() -> io::Result<Self> {
        static ONCE: Once = Once::new();
        // The path of a socket may have about a hundred bytes; a long TMPDIR would leave no room.
        let base = Some(std::env::temp_dir()).filter(|base| base.as_os_str().len() < 60).unwrap_or("/tmp".into());
        ONCE.call_once(|| abandoned(&base, JUST_MADE).for_each(|(left, _held)| drop(fs::remove_dir_all(left))));
        let directory = tempfile::Builder::new().prefix(PREFIX).tempdir_in(base)?;
        let held = hold(directory.path());
        Ok(Self { directory, _held: held })
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// Keeps others from taking the directory for one that nobody needs, as long as the value lives. None where the file system has no
/// locks: then nobody can take it, either.
pub(crate) fn hold(directory: &Path) -> Option<Flock<File>> {
    Flock::lock(File::open(directory).ok()?, FlockArg::LockSharedNonblock).ok()
}

/// Directories of runs that nobody needs any more, each held so that nobody can begin to. One that has files of a project in it is
/// no matter of ours: they may be wanted back.
fn abandoned(base: &Path, just_made: Duration) -> impl Iterator<Item = (PathBuf, Flock<File>)> {
    let user = nix::unistd::getuid().as_raw();
    let is_one = move |path: &Path| {
        let is_old = |found: &fs::Metadata| {
            found.modified().is_ok_and(|at| at.elapsed().is_ok_and(|elapsed| elapsed >= just_made))
        };
        let is_socket = |path: &Path| path.symlink_metadata().is_ok_and(|found| found.file_type().is_socket());
        let has_no_files = || fs::symlink_metadata(path.join(FILES)).is_err();
        let is_empty = || fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
        path.symlink_metadata().is_ok_and(|found| found.is_dir() && found.uid() == user && is_old(&found))
            && (is_socket(&path.join(SOCKET)) && has_no_files() || is_empty())
    };
    let entries = fs::read_dir(base).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes()))
        .map(|entry| entry.path())
        .filter(move |path| is_one(path))
        .filter_map(|path| {
            let held = Flock::lock(File::open(&path).ok()?, FlockArg::LockExclusiveNonblock).ok()?;
            Some((path, held))
        })
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn only_what_the_dead_have_left_is_abandoned() {
        let base = tempfile::tempdir().unwrap();
        let make = |name: &str| {
            let place = base.path().join(name);
            fs::create_dir(&place).unwrap();
            place
        };
        let with_socket = |name: &str| {
            let place = make(name);
            drop(UnixListener::bind(place.join(SOCKET)).unwrap());
            place
        };
        with_socket("unflake-run-left");
        make("unflake-run-empty");
        with_socket("unflake-other");
        fs::create_dir(with_socket("unflake-run-files").join(FILES)).unwrap();
        fs::write(make("unflake-run-strange").join("letter"), "").unwrap();
        let target = with_socket("elsewhere");
        std::os::unix::fs::symlink(target, base.path().join("unflake-run-link")).unwrap();
        let held = hold(&with_socket("unflake-run-held"));
        assert!(held.is_some());
        let names = |just_made| {
            let mut names: Vec<_> = abandoned(base.path(), just_made)
                .map(|(path, _)| path.file_name().unwrap().to_str().unwrap().to_owned())
                .collect();
            names.sort();
            names
        };
        assert_eq!(names(JUST_MADE), [""; 0], "they have just been made");
        assert_eq!(names(Duration::ZERO), ["unflake-run-empty", "unflake-run-left"]);
        drop(held);
        assert_eq!(names(Duration::ZERO), ["unflake-run-empty", "unflake-run-held", "unflake-run-left"]);
    }
}
