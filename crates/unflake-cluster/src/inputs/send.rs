//! Sends inputs into the store that all machines share, each file once.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tracing::{debug, info};

use super::digest::{DigestCache, copy_with_digest, digest_of_bytes};
use super::manifest::{Manifest, TreeEntry};
use super::{InputPaths, InputTree, RunInputs};
use crate::files::{private_dir, write_whole};

/// What no run has used for so long is removed.
const UNUSED: Duration = Duration::from_secs(30 * 24 * 3600);
/// Files without a manifest may belong to one that is being sent.
const UNREFERENCED: Duration = Duration::from_secs(24 * 3600);
/// A file of this age that is used again is marked as used.
const MARK: Duration = Duration::from_secs(12 * 3600);

/// What was sent.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct SentInputs {
    pub(crate) inputs: RunInputs,
    /// The copy of the program.
    pub(crate) program: PathBuf,
    /// Files and bytes of the inputs, and bytes that were moved.
    pub(crate) files: u64,
    pub(crate) bytes: u64,
    pub(crate) moved: u64,
}

/// The paths of the store.
pub(super) struct SharedStore(PathBuf);

impl SharedStore {
    pub(super) fn new(shared: &Path) -> Self {
        Self(shared.join("inputs"))
    }

    pub(super) fn blob(&self, digest: &str) -> PathBuf {
        self.0.join("files").join(&digest[..2]).join(digest)
    }

    pub(super) fn manifest(&self, digest: &str) -> PathBuf {
        self.0.join("trees").join(digest)
    }

    fn program(&self, digest: &str) -> PathBuf {
        self.0.join("programs").join(digest)
    }
}

/// Sends everything that is not there yet. `program`: the unflake that the workers are.
pub(crate) fn send(
    inputs: &InputPaths,
    program: &Path,
    shared: &Path,
    digests: &mut DigestCache,
) -> io::Result<SentInputs> {
    let store = SharedStore::new(shared);
    for name in ["files", "trees", "programs"] {
        private_dir(&store.0.join(name))?;
    }
    let mut sent = SentInputs::default();
    let digest = digests.digest(program, &fs::metadata(program)?)?;
    sent.program = store.program(&digest);
    sent.moved += put(program, &digest, &sent.program, 0o700)?;
    for root in inputs.roots() {
        let manifest = Manifest::read(&root, inputs, digests)?;
        let files = files_of(&root, &manifest);
        let text = serde_json::to_vec(&manifest)?;
        let digest = digest_of_bytes(&text);
        let is_there = mark_used(&store.manifest(&digest));
        for (path, digest, size) in files {
            sent.files += 1;
            sent.bytes += size;
            if !is_there {
                sent.moved += put(&path, digest, &store.blob(digest), 0o600)?;
            }
        }
        if !is_there {
            write_whole(&store.manifest(&digest), &text, 0o600)?;
            sent.moved += text.len() as u64;
        }
        sent.inputs.trees.push(InputTree { path: root, manifest: digest });
    }
    info!(files = sent.files, bytes = sent.bytes, moved = sent.moved, "inputs sent");
    Ok(sent)
}

/// What is to be sent, for a store of another kind.
#[derive(Debug, Default)]
pub(crate) struct FilesToSend {
    /// Path, hash and size.
    pub(crate) program: (PathBuf, String, u64),
    pub(crate) files: Vec<(PathBuf, String, u64)>,
    /// Hash and text.
    pub(crate) manifests: Vec<(String, Vec<u8>)>,
}

/// Reads what is to be sent, and sends nothing.
pub(crate) fn files_to_send(
    inputs: &InputPaths,
    program: &Path,
    digests: &mut DigestCache,
) -> io::Result<(SentInputs, FilesToSend)> {
    let (mut sent, mut found) = (SentInputs::default(), FilesToSend::default());
    let data = fs::metadata(program)?;
    found.program = (program.to_owned(), digests.digest(program, &data)?, data.len());
    for root in inputs.roots() {
        let manifest = Manifest::read(&root, inputs, digests)?;
        for (path, digest, size) in files_of(&root, &manifest) {
            sent.files += 1;
            sent.bytes += size;
            found.files.push((path, digest.clone(), size));
        }
        let text = serde_json::to_vec(&manifest)?;
        let digest = digest_of_bytes(&text);
        found.manifests.push((digest.clone(), text));
        sent.inputs.trees.push(InputTree { path: root, manifest: digest });
    }
    Ok((sent, found))
}

fn files_of<'a>(root: &'a Path, manifest: &'a Manifest) -> impl Iterator<Item = (PathBuf, &'a String, u64)> {
    manifest.entries.iter().filter_map(|(path, entry)| match entry {
        TreeEntry::File { digest, size, .. } => Some((root.join(path), digest, *size)),
        TreeEntry::Directory { .. } | TreeEntry::Link { .. } => None,
    })
}

/// Copies a file into the store, unless it is there. Returns how many bytes were moved.
fn put(from: &Path, digest: &str, to: &Path, mode: u32) -> io::Result<u64> {
    if mark_used(to) {
        return Ok(0);
    }
    let directory = to.parent().unwrap_or(to);
    private_dir(directory)?;
    let mut temporary = tempfile::NamedTempFile::new_in(directory)?;
    let (copied, size) = copy_with_digest(&mut File::open(from)?, temporary.as_file_mut())?;
    if copied != digest {
        return Err(io::Error::other(format!("{} changed while it was sent", from.display())));
    }
    let permissions = std::os::unix::fs::PermissionsExt::from_mode(mode);
    temporary.as_file().set_permissions(permissions)?;
    temporary.persist(to)?;
    Ok(size)
}

/// Whether a file is there. It is not removed as unused from now on.
fn mark_used(path: &Path) -> bool {
    let Ok(modified) = fs::metadata(path).and_then(|data| data.modified()) else { return false };
    if is_older(modified, MARK) {
        let _ = File::options().append(true).open(path).and_then(|file| file.set_modified(SystemTime::now()));
    }
    true
}

fn is_older(time: SystemTime, than: Duration) -> bool {
    SystemTime::now().duration_since(time).is_ok_and(|age| age > than)
}

/// Removes inputs that no run has used for a month.
pub(crate) fn tidy_up(shared: &Path) {
    let store = SharedStore::new(shared);
    let is_unused =
        |path: &Path, age| fs::metadata(path).and_then(|data| data.modified()).is_ok_and(|at| is_older(at, age));
    let mut referenced = HashSet::new();
    for path in paths_in(&store.0.join("trees")) {
        if is_unused(&path, UNUSED) {
            debug!(manifest = %path.display(), "removing unused inputs");
            let _ = fs::remove_file(path);
        } else if let Some(manifest) =
            fs::read(path).ok().and_then(|text| serde_json::from_slice::<Manifest>(&text).ok())
        {
            referenced.extend(manifest.entries.into_iter().filter_map(|(_, entry)| match entry {
                TreeEntry::File { digest, .. } => Some(digest),
                TreeEntry::Directory { .. } | TreeEntry::Link { .. } => None,
            }));
        }
    }
    let is_referenced =
        |path: &Path| path.file_name().and_then(|name| name.to_str()).is_some_and(|name| referenced.contains(name));
    let blobs = paths_in(&store.0.join("files")).flat_map(|directory| paths_in(&directory).collect::<Vec<_>>());
    let blobs = blobs.filter(|path| !is_referenced(path) && is_unused(path, UNREFERENCED));
    let programs = paths_in(&store.0.join("programs")).filter(|path| is_unused(path, UNUSED));
    for path in blobs.chain(programs) {
        let _ = fs::remove_file(path);
    }
}

fn paths_in(directory: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_not_sent_again() {
        let place = tempfile::tempdir().unwrap();
        let (project, shared) = (place.path().join("p"), place.path().join("shared"));
        fs::create_dir(&project).unwrap();
        fs::write(project.join("one"), "1111").unwrap();
        fs::write(project.join("two"), "22").unwrap();
        let program = place.path().join("program");
        fs::write(&program, "binary").unwrap();
        let inputs = InputPaths { project: project.clone(), ..InputPaths::default() };
        let again = || send(&inputs, &program, &shared, &mut DigestCache::default()).unwrap();
        let first = again();
        assert_eq!((first.files, first.bytes), (2, 6));
        assert!(first.moved > 12, "{first:?}");
        let second = again();
        assert_eq!((second.moved, &second.inputs, &second.program), (0, &first.inputs, &first.program));
        fs::write(project.join("two"), "33").unwrap();
        let third = again();
        let manifest = fs::metadata(SharedStore::new(&shared).manifest(&third.inputs.trees[0].manifest)).unwrap().len();
        assert_eq!(third.moved, 2 + manifest, "only the changed file");
    }

    #[test]
    fn unused_inputs_are_removed_and_used_ones_stay() {
        let place = tempfile::tempdir().unwrap();
        let (project, shared) = (place.path().join("p"), place.path().join("shared"));
        fs::create_dir(&project).unwrap();
        let program = place.path().join("program");
        fs::write(&program, "binary").unwrap();
        let inputs = InputPaths { project: project.clone(), ..InputPaths::default() };
        let send_now = || send(&inputs, &program, &shared, &mut DigestCache::default()).unwrap().inputs.trees.remove(0);
        fs::write(project.join("f"), "old").unwrap();
        let old = send_now();
        fs::write(project.join("f"), "new").unwrap();
        let new = send_now();
        let store = SharedStore::new(&shared);
        let (old_blob, new_blob) = (store.blob(&digest_of_bytes(b"old")), store.blob(&digest_of_bytes(b"new")));
        for path in [&store.manifest(&old.manifest), &old_blob, &new_blob] {
            let long_ago = SystemTime::now() - 2 * UNUSED;
            File::options().append(true).open(path).unwrap().set_modified(long_ago).unwrap();
        }
        tidy_up(&shared);
        assert!(!old_blob.exists() && !store.manifest(&old.manifest).exists());
        assert!(new_blob.exists() && store.manifest(&new.manifest).exists());
    }
}
