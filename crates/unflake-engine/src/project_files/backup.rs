//! What was in files before they were put back. Nobody can tell for sure whether a test or a person wrote it, so it is kept.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// A file that is larger is not put back.
const LARGEST: u64 = 50 << 20;
/// Beyond so many, tests are at work and nobody else.
const MOST_FILES: usize = 2000;
const MOST_BYTES: u64 = 200 << 20;
/// So many versions of one file are kept: the first ones and the last.
const VERSIONS: usize = 5;
const KEPT_FOR: Duration = Duration::from_secs(7 * 24 * 3600);

#[derive(Serialize, Deserialize)]
pub(crate) struct Displaced {
    base: PathBuf,
    directory: PathBuf,
    files: usize,
    bytes: u64,
}

impl Displaced {
    /// Below `base` each run has a directory of its own, which is made when it is needed.
    pub(crate) fn new(base: &Path) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let base = base.join("displaced");
        let directory = base.join(format!("{now}-{}", std::process::id()));
        Self { base, directory, files: 0, bytes: 0 }
    }

    /// Where they are. None when there are none.
    pub(crate) fn directory(&self) -> Option<&Path> {
        (self.files > 0).then_some(&self.directory)
    }

    /// Keeps what is in `path` now, which is called `name` below the project. False when it must be left where it is.
    pub(crate) fn keep(&mut self, path: &Path, name: &Path) -> bool {
        let Ok(facts) = path.symlink_metadata() else { return true };
        if !facts.is_file() {
            return true;
        }
        if facts.len() > LARGEST {
            return false;
        }
        if self.files >= MOST_FILES || self.bytes >= MOST_BYTES {
            return true;
        }
        if self.files == 0 {
            self.remove_old();
        }
        // What was a file once may be a directory the next time; then it has its whole path for a name.
        let flat = name.to_string_lossy().replace('/', "%");
        let kept = self.copy(path, name).or_else(|_| self.copy(path, Path::new(&flat)));
        if let Ok(true) = kept {
            self.files += 1;
            self.bytes += facts.len();
        }
        kept.is_ok()
    }

    /// Whether it is new.
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
            let age =
                entry.metadata().and_then(|facts| facts.modified()).map(|made| made.elapsed().unwrap_or_default());
            if age.is_ok_and(|age| age > KEPT_FOR) {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }
}
