//! Backups of changed files, made before they are restored: a person may have made the change, not
//! a test.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// A larger file is not restored.
const MAX_FILE: u64 = 50 << 20;
/// Further files are restored without a backup: so many changes are the work of tests.
const MAX_FILES: usize = 2000;
const MAX_BYTES: u64 = 200 << 20;
/// Number of versions of one file that are kept: the first ones and the last.
const VERSIONS: usize = 5;
/// Older backups are removed.
const MAX_AGE: Duration = Duration::from_secs(7 * 24 * 3600);

#[derive(Serialize, Deserialize)]
/// Where backups of this run go. The directory is created with the first backup.
pub(crate) struct Backups {
    base: PathBuf,
    directory: PathBuf,
    files: usize,
    bytes: u64,
}

impl Backups {
    /// Each run has a directory of its own below `base`.
    pub(crate) fn new(base: &Path) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let base = base.join("displaced");
        let directory = base.join(format!("{now}-{}", std::process::id()));
        Self { base, directory, files: 0, bytes: 0 }
    }

    /// The directory. None without backups.
    pub(crate) fn directory(&self) -> Option<&Path> {
        (self.files > 0).then_some(&self.directory)
    }

    /// Copies the file at `path`, which is `name` relative to the project. False when it could not
    /// be copied, so that it must not be overwritten.
    pub(crate) fn save(&mut self, path: &Path, name: &Path) -> bool {
        let Ok(metadata) = path.symlink_metadata() else { return true };
        if !metadata.is_file() {
            return true;
        }
        if metadata.len() > MAX_FILE {
            return false;
        }
        if self.files >= MAX_FILES || self.bytes >= MAX_BYTES {
            return true;
        }
        if self.files == 0 {
            self.remove_old();
        }
        // If the path is a directory in an earlier backup, the file gets its whole path as a name.
        let flat = name.to_string_lossy().replace('/', "%");
        let copied = self.copy(path, name).or_else(|_| self.copy(path, Path::new(&flat)));
        if let Ok(true) = copied {
            self.files += 1;
            self.bytes += metadata.len();
        }
        copied.is_ok()
    }

    /// Whether the content is new.
    fn copy(&self, path: &Path, name: &Path) -> io::Result<bool> {
        let mut version = 1;
        let mut to = self.directory.join(name);
        while to.exists() && version < VERSIONS {
            if fs::read(&to)? == fs::read(path)? {
                return Ok(false);
            }
            version += 1;
            let mut beside = self.directory.join(name).into_os_string();
            beside.push(format!(".~{version}~"));
            to = beside.into();
        }
        fs::create_dir_all(to.parent().unwrap_or(&self.directory))?;
        fs::copy(path, &to)?;
        Ok(true)
    }

    fn remove_old(&self) {
        for entry in fs::read_dir(&self.base).into_iter().flatten().flatten() {
            let age = entry
                .metadata()
                .and_then(|metadata| metadata.modified())
                .map(|made| made.elapsed().unwrap_or_default());
            if age.is_ok_and(|age| age > MAX_AGE) {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }
}
