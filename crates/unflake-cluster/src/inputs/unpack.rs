//! Unpacks inputs on another machine. Trees and files stay in a directory of that machine; trees
//! that have files in common share them.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::digest::{copy_with_digest, digest_of_bytes, nanoseconds};
use super::manifest::{Manifest, TreeEntry};
use super::send::SharedStore;
use crate::files::{lock, private_dir, remove_work_dir};

/// Trees that no worker has used for so long are removed.
const UNUSED: Duration = Duration::from_secs(14 * 24 * 3600);

/// The inputs that this machine has.
pub(crate) struct NodeStore {
    directory: PathBuf,
    shared: SharedStore,
    /// Number of bytes fetched by this process.
    pub(crate) fetched: u64,
}

impl NodeStore {
    pub(crate) fn open(directory: &Path, shared: &Path) -> io::Result<Self> {
        for name in ["files", "trees", "work"] {
            private_dir(&directory.join(name))?;
        }
        let store = Self { directory: directory.to_owned(), shared: SharedStore::new(shared), fetched: 0 };
        store.tidy_up();
        Ok(store)
    }

    /// The directory with an unchanged copy of a tree. Nothing may write there.
    pub(crate) fn tree(&mut self, manifest: &str) -> io::Result<PathBuf> {
        let tree = self.directory.join("trees").join(manifest);
        if tree.is_dir() {
            let _ = File::open(&tree).and_then(|directory| directory.set_modified(SystemTime::now()));
            return Ok(tree);
        }
        let text = fs::read(self.shared.manifest(manifest))?;
        if digest_of_bytes(&text) != manifest {
            return Err(io::Error::other(format!("the list of inputs {manifest} is damaged")));
        }
        let manifest: Manifest = serde_json::from_slice(&text)?;
        let unfinished = tempfile::Builder::new().prefix("unfinished").tempdir_in(self.directory.join("trees"))?;
        for (path, entry) in &manifest.entries {
            let to = unfinished.path().join(path);
            match entry {
                TreeEntry::Directory { .. } => fs::create_dir(to)?,
                TreeEntry::Link { target } => symlink(target, to)?,
                TreeEntry::File { digest, size, mode, modified } => {
                    let file = self.file(digest, *size, *mode, *modified)?;
                    // A file can have only so many names.
                    fs::hard_link(&file, &to).or_else(|_| copy_file(&file, &to))?;
                }
            }
        }
        // Last: nothing could be written below a directory without write permission.
        for (path, entry) in manifest.entries.iter().rev() {
            if let TreeEntry::Directory { mode } = entry {
                fs::set_permissions(unfinished.path().join(path), fs::Permissions::from_mode(*mode))?;
            }
        }
        fs::set_permissions(unfinished.path(), fs::Permissions::from_mode(0o755))?;
        match fs::rename(unfinished.path(), &tree) {
            Err(error) if !tree.is_dir() => Err(error),
            // Another worker of this machine was faster.
            Err(_) => Ok(tree),
            Ok(()) => {
                drop(unfinished.keep());
                Ok(tree)
            }
        }
    }

    /// A file as it is in trees. Those with other permissions or times are other files.
    fn file(&mut self, digest: &str, size: u64, mode: u32, modified: i64) -> io::Result<PathBuf> {
        let directory = self.directory.join("files").join(&digest[..2]);
        let file = directory.join(format!("{digest}.{mode:o}.{modified}"));
        if file.exists() {
            return Ok(file);
        }
        private_dir(&directory)?;
        let from = self.shared.blob(digest);
        let mut temporary = tempfile::NamedTempFile::new_in(&directory)?;
        let (copied, length) = copy_with_digest(&mut File::open(&from)?, temporary.as_file_mut())?;
        if (copied.as_str(), length) != (digest, size) {
            return Err(io::Error::other(format!("the input {digest} is damaged")));
        }
        temporary.as_file().set_permissions(fs::Permissions::from_mode(mode))?;
        temporary.as_file().set_modified(time_of(modified))?;
        temporary.persist(&file)?;
        self.fetched += length;
        Ok(file)
    }

    /// An empty directory for this process. The lock shows that the process is alive.
    pub(crate) fn work_dir(&self) -> io::Result<(PathBuf, impl Drop + use<>)> {
        let directory = tempfile::Builder::new().prefix("w").tempdir_in(self.directory.join("work"))?;
        let lock = lock(directory.path()).ok_or_else(|| io::Error::other("a new directory cannot be locked"))?;
        Ok((directory.keep(), lock))
    }

    /// Removes what workers left that were killed, and what is not used any more.
    fn tidy_up(&self) {
        let is_older = |path: &Path, age| {
            let modified = fs::symlink_metadata(path).and_then(|data| data.modified());
            modified.is_ok_and(|at| SystemTime::now().duration_since(at).is_ok_and(|passed| passed > age))
        };
        let in_directory = |name: &str| fs::read_dir(self.directory.join(name)).into_iter().flatten().flatten();
        for work in in_directory("work").map(|entry| entry.path()) {
            // A younger one may not be locked yet.
            if is_older(&work, Duration::from_secs(60)) && lock(&work).is_some() {
                remove_work_dir(&work);
            }
        }
        let mut is_removed = false;
        for tree in in_directory("trees").map(|entry| entry.path()).filter(|tree| is_older(tree, UNUSED)) {
            is_removed |= fs::remove_dir_all(tree).is_ok();
        }
        if is_removed {
            let files = in_directory("files").filter_map(|entry| fs::read_dir(entry.path()).ok()).flatten().flatten();
            let is_alone = |entry: &fs::DirEntry| {
                entry.metadata().is_ok_and(|data| std::os::unix::fs::MetadataExt::nlink(&data) == 1)
            };
            for file in files.filter(is_alone).map(|entry| entry.path()).filter(|file| is_older(file, UNUSED)) {
                let _ = fs::remove_file(file);
            }
        }
    }
}

fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    fs::copy(from, to)?;
    File::options().append(true).open(to)?.set_modified(fs::metadata(from)?.modified()?)
}

/// A copy of an unpacked tree that may be changed.
pub(crate) fn copy_tree(from: &Path, to: &Path) -> io::Result<()> {
    private_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        match entry.file_type()? {
            kind if kind.is_dir() => copy_tree(&path, &to)?,
            kind if kind.is_symlink() => symlink(fs::read_link(&path)?, to)?,
            _ => copy_file(&path, &to)?,
        }
    }
    fs::set_permissions(to, fs::metadata(from)?.permissions())
}

/// Whether a directory of this machine has the same files as a tree that was sent, by their sizes
/// and times.
pub(crate) fn is_same(directory: &Path, shared: &Path, manifest: &str) -> bool {
    let read = || serde_json::from_slice::<Manifest>(&fs::read(SharedStore::new(shared).manifest(manifest)).ok()?).ok();
    let is_there = |(path, entry): &(PathBuf, TreeEntry)| {
        let Ok(data) = fs::symlink_metadata(directory.join(path)) else { return false };
        match entry {
            TreeEntry::Directory { .. } => data.is_dir(),
            TreeEntry::Link { .. } => data.is_symlink(),
            TreeEntry::File { size, modified, .. } => data.len() == *size && nanoseconds(&data) == *modified,
        }
    };
    read().is_some_and(|manifest| manifest.entries.iter().all(is_there))
}

fn time_of(nanoseconds: i64) -> SystemTime {
    let length = Duration::from_nanos(nanoseconds.unsigned_abs());
    if nanoseconds < 0 { UNIX_EPOCH - length } else { UNIX_EPOCH + length }
}

#[cfg(test)]
mod tests {
    use super::super::{DigestCache, InputPaths, send};
    use super::*;

    fn sent(place: &Path, content: &str) -> String {
        let project = place.join("p");
        fs::create_dir_all(project.join("a")).unwrap();
        fs::write(project.join("a/changing"), content).unwrap();
        if !project.join("script").exists() {
            fs::write(project.join("script"), "run").unwrap();
            fs::set_permissions(project.join("script"), fs::Permissions::from_mode(0o755)).unwrap();
            symlink("a/changing", project.join("link")).unwrap();
        }
        let inputs = InputPaths { project, ..InputPaths::default() };
        let program = std::env::current_exe().unwrap();
        let sent = send(&inputs, &program, &place.join("shared"), &mut DigestCache::default()).unwrap();
        sent.inputs.trees[0].manifest.clone()
    }

    #[test]
    fn an_unpacked_tree_is_the_one_that_was_sent_and_is_fetched_once() {
        let place = tempfile::tempdir().unwrap();
        let first = sent(place.path(), "one");
        let mut store = NodeStore::open(&place.path().join("node"), &place.path().join("shared")).unwrap();
        let tree = store.tree(&first).unwrap();
        assert_eq!(fs::read_to_string(tree.join("link")).unwrap(), "one");
        assert_eq!(fs::metadata(tree.join("script")).unwrap().permissions().mode() & 0o777, 0o755);
        assert!(is_same(&tree, &place.path().join("shared"), &first));
        let fetched = store.fetched;
        assert_eq!(fetched, 6);
        store.tree(&first).unwrap();
        assert_eq!(store.fetched, fetched);
        let second = sent(place.path(), "other");
        let other = store.tree(&second).unwrap();
        assert_eq!(store.fetched, fetched + 5, "only the changed file");
        assert!(!is_same(&other, &place.path().join("shared"), &first));
        let copy = place.path().join("copy");
        copy_tree(&other, &copy).unwrap();
        fs::write(copy.join("a/changing"), "mine").unwrap();
        assert_eq!(fs::read_to_string(other.join("a/changing")).unwrap(), "other");
    }

    #[test]
    fn a_damaged_file_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let manifest = sent(place.path(), "one");
        let blob = SharedStore::new(&place.path().join("shared")).blob(&digest_of_bytes(b"one"));
        fs::write(blob, "two").unwrap();
        let mut store = NodeStore::open(&place.path().join("node"), &place.path().join("shared")).unwrap();
        assert!(store.tree(&manifest).unwrap_err().to_string().contains("damaged"));
    }
}
