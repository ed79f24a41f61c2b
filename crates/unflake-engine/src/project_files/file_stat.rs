//! How a file was, and whether it still is.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// How exact the times of files may be.
const COARSE: Duration = Duration::from_millis(50);

/// How something was.
#[derive(Serialize, Deserialize)]
pub(crate) struct Known {
    pub(crate) look: Look,
    pub(crate) modified: SystemTime,
    pub(crate) learned: SystemTime,
    /// Of a file: its copy. Of a link: where it leads. Of a directory: nothing.
    pub(crate) copy: PathBuf,
}

/// What shows that something has changed.
#[derive(Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Look {
    pub(crate) kind: Kind,
    pub(crate) mode: u32,
    pub(crate) size: u64,
    inode: u64,
    changed: (i64, i64),
}

#[derive(Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) enum Kind {
    Directory,
    File,
    Link,
}

impl Known {
    pub(crate) fn is_still(&self, path: &Path, now: Option<&Look>) -> bool {
        let Some(now) = now else { return false };
        // Times are coarse: what was written right before it was looked at may have been written right after, too.
        now.is_still(&self.look) && (!self.is_young() || self.has_content_of(path))
    }

    fn is_young(&self) -> bool {
        let (seconds, nanoseconds) = self.look.changed;
        let changed = UNIX_EPOCH + Duration::new(seconds.max(0) as u64, nanoseconds.max(0) as u32);
        self.look.kind == Kind::File && self.learned.duration_since(changed).is_ok_and(|age| age < COARSE)
    }

    pub(crate) fn has_content_of(&self, path: &Path) -> bool {
        let is_file = path.symlink_metadata().is_ok_and(|facts| facts.is_file() && facts.len() == self.look.size);
        self.look.kind == Kind::File && is_file && fs::read(path).ok() == fs::read(&self.copy).ok()
    }
}

impl Look {
    /// None for sockets, devices and the like.
    pub(crate) fn of(facts: &Metadata) -> Option<Self> {
        let kind = match facts.file_type() {
            kind if kind.is_dir() => Kind::Directory,
            kind if kind.is_file() => Kind::File,
            kind if kind.is_symlink() => Kind::Link,
            _ => return None,
        };
        let mode = facts.mode() & 0o7777;
        Some(Self { kind, mode, size: facts.len(), inode: facts.ino(), changed: (facts.ctime(), facts.ctime_nsec()) })
    }

    /// A directory is what it was whatever comes and goes in it.
    pub(crate) fn is_still(&self, before: &Self) -> bool {
        let is_directory = self.kind == Kind::Directory && before.kind == Kind::Directory;
        self == before || is_directory && self.mode == before.mode
    }
}
