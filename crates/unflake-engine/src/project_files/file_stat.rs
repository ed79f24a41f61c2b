//! Metadata of a file, and whether the file has changed since.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// File systems may round times this much.
const TIME_RESOLUTION: Duration = Duration::from_millis(50);

/// A file, link or directory at the time of the snapshot.
#[derive(Serialize, Deserialize)]
pub(crate) struct FileRecord {
    pub(crate) stat: FileStat,
    pub(crate) modified: SystemTime,
    pub(crate) recorded: SystemTime,
    /// File: its copy. Link: its target. Directory: empty.
    pub(crate) copy: PathBuf,
}

/// The metadata that shows a change.
#[derive(Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct FileStat {
    pub(crate) kind: FileKind,
    pub(crate) mode: u32,
    pub(crate) size: u64,
    inode: u64,
    changed: (i64, i64),
}

#[derive(Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) enum FileKind {
    Directory,
    File,
    Link,
}

impl FileRecord {
    pub(crate) fn is_unchanged(&self, path: &Path, now: Option<&FileStat>) -> bool {
        let Some(now) = now else { return false };
        // A file that was written right before the snapshot may have been written right after it
        // within the same tick of the clock.
        now.is_unchanged(&self.stat) && (!self.is_recent() || self.has_same_content(path))
    }

    fn is_recent(&self) -> bool {
        let (seconds, nanoseconds) = self.stat.changed;
        let changed = UNIX_EPOCH + Duration::new(seconds.max(0) as u64, nanoseconds.max(0) as u32);
        self.stat.kind == FileKind::File && self.recorded.duration_since(changed).is_ok_and(|age| age < TIME_RESOLUTION)
    }

    pub(crate) fn has_same_content(&self, path: &Path) -> bool {
        let is_file =
            path.symlink_metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() == self.stat.size);
        self.stat.kind == FileKind::File && is_file && fs::read(path).ok() == fs::read(&self.copy).ok()
    }
}

impl FileStat {
    /// None for sockets, devices and the like.
    pub(crate) fn of(metadata: &Metadata) -> Option<Self> {
        let kind = match metadata.file_type() {
            kind if kind.is_dir() => FileKind::Directory,
            kind if kind.is_file() => FileKind::File,
            kind if kind.is_symlink() => FileKind::Link,
            _ => return None,
        };
        let mode = metadata.mode() & 0o7777;
        Some(Self {
            kind,
            mode,
            size: metadata.len(),
            inode: metadata.ino(),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        })
    }

    /// Entries that come and go do not change a directory.
    pub(crate) fn is_unchanged(&self, before: &Self) -> bool {
        let is_directory = self.kind == FileKind::Directory && before.kind == FileKind::Directory;
        self == before || is_directory && self.mode == before.mode
    }
}
