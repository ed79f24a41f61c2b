//! Hashes of files. A file that has not changed since it was hashed is not read again.

use std::collections::HashMap;
use std::fs::{self, File, Metadata};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::files::write_whole;

/// A file that changed so recently may change again within the resolution of its time.
const UNSETTLED: Duration = Duration::from_secs(2);

/// The hashes of files that were read before.
#[derive(Default)]
pub(crate) struct DigestCache {
    path: Option<PathBuf>,
    known: HashMap<PathBuf, KnownDigest>,
    used: HashMap<PathBuf, KnownDigest>,
}

#[derive(Clone, PartialEq, Serialize, Deserialize)]
struct KnownDigest {
    /// Size, inode, and time of the last change of the file and of its metadata.
    state: (u64, u64, i64, i64),
    digest: String,
}

impl DigestCache {
    /// `path`: where it is kept. A damaged cache is an empty one.
    pub(crate) fn open(path: Option<PathBuf>) -> Self {
        let read = |path: &PathBuf| serde_json::from_slice(&fs::read(path).ok()?).ok();
        let known = path.as_ref().and_then(read).unwrap_or_default();
        Self { path, known, used: HashMap::new() }
    }

    pub(crate) fn digest(&mut self, path: &Path, data: &Metadata) -> io::Result<String> {
        let state = (data.size(), data.ino(), nanoseconds(data), data.ctime() * 1_000_000_000 + data.ctime_nsec());
        let known = self.known.get(path).filter(|known| known.state == state);
        let digest = match known {
            Some(known) => known.digest.clone(),
            None => digest_of(&mut File::open(path)?)?,
        };
        let is_settled =
            data.modified().is_ok_and(|at| SystemTime::now().duration_since(at).is_ok_and(|age| age > UNSETTLED));
        match is_settled {
            true => drop(self.used.insert(path.to_owned(), KnownDigest { state, digest: digest.clone() })),
            false => drop(self.used.remove(path)),
        }
        Ok(digest)
    }

    /// Keeps what was used. Without it, files are read again next time.
    pub(crate) fn save(&self) {
        let Some(path) = self.path.as_ref().filter(|_| self.used != self.known) else { return };
        let Ok(text) = serde_json::to_vec(&self.used) else { return };
        let saved = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| write_whole(path, &text, 0o600));
        if let Err(error) = saved {
            tracing::debug!(%error, "the hashes of files are not kept");
        }
    }
}

/// The time of the last change of a file.
pub(crate) fn nanoseconds(data: &Metadata) -> i64 {
    data.mtime() * 1_000_000_000 + data.mtime_nsec()
}

pub(crate) fn digest_of(from: &mut impl Read) -> io::Result<String> {
    copy_with_digest(from, &mut io::sink()).map(|(digest, _)| digest)
}

pub(crate) fn digest_of_bytes(bytes: &[u8]) -> String {
    text_of(Sha256::digest(bytes))
}

/// Copies, and returns the hash of what was copied and its size.
pub(crate) fn copy_with_digest(from: &mut impl Read, to: &mut impl Write) -> io::Result<(String, u64)> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 17];
    let mut size = 0;
    loop {
        let length = from.read(&mut buffer)?;
        if length == 0 {
            return Ok((text_of(hasher.finalize()), size));
        }
        hasher.update(&buffer[..length]);
        to.write_all(&buffer[..length])?;
        size += length as u64;
    }
}

fn text_of(digest: impl AsRef<[u8]>) -> String {
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_file_is_hashed_again() {
        let place = tempfile::tempdir().unwrap();
        let (file, kept) = (place.path().join("f"), place.path().join("cache/digests"));
        let age = |seconds| {
            let time = SystemTime::now() - Duration::from_secs(seconds);
            File::options().write(true).open(&file).unwrap().set_modified(time).unwrap();
        };
        let hash = |cache: &mut DigestCache| cache.digest(&file, &fs::metadata(&file).unwrap()).unwrap();
        fs::write(&file, "one").unwrap();
        age(100);
        let mut first = DigestCache::open(Some(kept.clone()));
        let one = hash(&mut first);
        assert_eq!(one, digest_of_bytes(b"one"));
        first.save();
        let mut second = DigestCache::open(Some(kept.clone()));
        assert!(second.known.contains_key(&file));
        assert_eq!(hash(&mut second), one);
        fs::write(&file, "two").unwrap();
        assert_eq!(hash(&mut second), digest_of_bytes(b"two"));
        second.save();
        assert!(!DigestCache::open(Some(kept)).known.contains_key(&file), "it may change again unnoticed");
    }
}
