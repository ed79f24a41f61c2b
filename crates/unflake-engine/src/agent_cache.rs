//! The directory in which agents are unpacked and stay between runs.
//!
//! What is there runs with the rights of the user. So no other user may be able to write there, and
//! the files of an agent are compared with those in the binary before each use. A tree that differs
//! in any way is replaced as a whole.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, Metadata, Permissions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::{io, process};

use nix::unistd::{getegid, geteuid};
use tracing::info;
use unflake_protocol::InjectedAgent;

/// Creates the cache with access for the user only. None: another user can write there, or it
/// cannot be created.
pub(crate) fn private(cache: PathBuf) -> Option<PathBuf> {
    match make_private(&cache) {
        Ok(()) => Some(cache),
        Err(error) => {
            info!(?cache, %error, "not using the cache");
            None
        }
    }
}

fn make_private(cache: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(cache)?;
    if !is_own_directory(cache) {
        return Err(io::Error::other("it is no directory of this user"));
    }
    if let Some(open) = fs::canonicalize(cache)?.ancestors().skip(1).find(|above| is_open(above)) {
        return Err(io::Error::other(format!("others can write to {}", open.display())));
    }
    let mode = fs::metadata(cache)?.mode();
    fs::set_permissions(cache, Permissions::from_mode(0o700))?;
    // While others could write there, they may have.
    if mode & 0o022 != 0 { empty(cache) } else { Ok(()) }
}

fn empty(directory: &Path) -> io::Result<()> {
    fs::read_dir(directory)?.try_for_each(|entry| {
        let entry = entry?;
        if entry.file_type()?.is_dir() { fs::remove_dir_all(entry.path()) } else { fs::remove_file(entry.path()) }
    })
}

fn is_own(meta: &Metadata) -> bool {
    meta.uid() == geteuid().as_raw()
}

/// Whether another user could replace what is in this directory. The group of the user's own files
/// is usually a group of one.
fn is_open(directory: &Path) -> bool {
    let Ok(meta) = fs::metadata(directory) else { return true };
    let is_trusted = meta.uid() == 0 || is_own(&meta);
    let is_sticky = meta.mode() & 0o1000 != 0;
    let by_group = meta.mode() & 0o020 != 0 && meta.gid() != getegid().as_raw() && meta.gid() != 0;
    !is_trusted || !is_sticky && (by_group || meta.mode() & 0o002 != 0)
}

/// Unpacks the files of an agent below `cache`, so that what a runner compiles from them stays
/// between runs, or below `otherwise` without a cache. Several unflake processes may do so at once.
pub(crate) fn unpack(agent: &InjectedAgent, cache: Option<&Path>, otherwise: &Path) -> io::Result<PathBuf> {
    let mut hasher = DefaultHasher::new();
    agent.files.hash(&mut hasher);
    let name = format!("{}-{:016x}", agent.name, hasher.finish());
    let cached = cache.and_then(|cache| unpack_into(agent, cache, &name).ok());
    cached.map_or_else(|| unpack_into(agent, otherwise, &name), Ok)
}

fn unpack_into(agent: &InjectedAgent, place: &Path, name: &str) -> io::Result<PathBuf> {
    let (tree, files) = (place.join(name), place.join(name).join(agent.directory));
    if is_exact(agent, &tree) {
        return Ok(files);
    }
    // Renamed into place as a whole, so that no other process loads half of it.
    let unfinished = tempfile::Builder::new().prefix(&format!(".{name}-")).tempdir_in(place)?;
    for (name, content) in agent.files {
        let path = unfinished.path().join(agent.directory).join(name);
        fs::create_dir_all(path.parent().unwrap_or(&path))?;
        fs::write(&path, content)?;
    }
    // Fails where there is a tree: a wrong one, or that of a process that was faster.
    if fs::rename(unfinished.path(), &tree).is_ok() || is_exact(agent, &tree) {
        return Ok(files);
    }
    let wrong = place.join(format!(".{name}-{}-wrong", process::id()));
    fs::rename(&tree, &wrong)?;
    let renamed = fs::rename(unfinished.path(), &tree);
    let _ = fs::remove_dir_all(&wrong).or_else(|_| fs::remove_file(&wrong));
    match renamed {
        Err(error) if !is_exact(agent, &tree) => Err(error),
        _ => Ok(files),
    }
}

/// Whether a tree consists of the files of the agent, what the runner has compiled from them,
/// and nothing else, all of it owned by this user.
fn is_exact(agent: &InjectedAgent, tree: &Path) -> bool {
    let top = tree.join(agent.directory);
    let is_there = |(name, content): &(&str, &[u8])| fs::read(top.join(name)).is_ok_and(|there| there == *content);
    Expected::of(agent).has_only_own(tree, Path::new("")) && agent.files.iter().all(is_there)
}

/// What may be in the tree of an agent, by paths below it.
struct Expected<'a> {
    files: HashSet<PathBuf>,
    /// The files without their extensions. Names of compiled files begin with these.
    sources: HashSet<PathBuf>,
    directories: HashSet<PathBuf>,
    compiled: &'a OsStr,
}

impl<'a> Expected<'a> {
    fn of(agent: &'a InjectedAgent) -> Self {
        let files: HashSet<PathBuf> =
            agent.files.iter().map(|(name, _)| Path::new(agent.directory).join(name)).collect();
        let sources = files.iter().map(|file| file.with_extension("")).collect();
        let directories = files.iter().flat_map(|file| file.ancestors().skip(1)).map(Path::to_owned).collect();
        Self { files, sources, directories, compiled: OsStr::new(agent.compiled) }
    }

    /// Whether everything in a directory is expected and owned by this user. `below`: its path in
    /// the tree.
    fn has_only_own(&self, directory: &Path, below: &Path) -> bool {
        let Ok(entries) = fs::read_dir(directory) else { return false };
        is_own_directory(directory)
            && entries.into_iter().all(|entry| {
                let Ok(entry) = entry else { return false };
                let Ok(meta) = fs::symlink_metadata(entry.path()) else { return false };
                let path = below.join(entry.file_name());
                match meta.is_dir() {
                    true => self.has_directory(&path) && self.has_only_own(&entry.path(), &path),
                    false => meta.is_file() && is_own(&meta) && self.has_file(&path),
                }
            })
    }

    fn has_directory(&self, path: &Path) -> bool {
        self.directories.contains(path) || self.is_compiled(path)
    }

    /// Whether it is the directory for what the runner compiles from the files beside it.
    fn is_compiled(&self, directory: &Path) -> bool {
        directory.file_name() == Some(self.compiled)
            && directory.parent().is_some_and(|parent| self.directories.contains(parent))
    }

    fn has_file(&self, path: &Path) -> bool {
        let Some(directory) = path.parent() else { return false };
        if !self.is_compiled(directory) {
            return self.files.contains(path);
        }
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        self.sources.contains(&directory.with_file_name(name.split('.').next().unwrap_or_default()))
    }
}

fn is_own_directory(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir() && is_own(&meta))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    const AGENT: InjectedAgent = InjectedAgent {
        name: "made-up",
        directory: "lib",
        files: &[("agent/main.py", b"whole"), ("agent/deep/more.py", b"more")],
        compiled: "__pycache__",
        prepend: &[],
    };

    /// Unpacks, damages the tree, and checks that unpacking again makes it exact.
    #[track_caller]
    fn check_replaced(damage: impl FnOnce(&Path)) {
        let place = tempfile::tempdir().unwrap();
        let there = unpack(&AGENT, Some(place.path()), place.path()).unwrap();
        damage(&there);
        assert!(!is_exact(&AGENT, there.parent().unwrap()), "the damage is not seen");
        assert_eq!(unpack(&AGENT, Some(place.path()), place.path()).unwrap(), there);
        assert!(is_exact(&AGENT, there.parent().unwrap()));
        assert_eq!(fs::read(there.join("agent/main.py")).unwrap(), b"whole");
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1, "something else is left");
    }

    #[test]
    fn damaged_and_missing_files_are_replaced() {
        check_replaced(|there| fs::write(there.join("agent/main.py"), "half a fi").unwrap());
        check_replaced(|there| fs::remove_file(there.join("agent/deep/more.py")).unwrap());
        check_replaced(|there| fs::remove_dir_all(there).unwrap());
    }

    #[test]
    fn extra_files_and_links_are_removed() {
        check_replaced(|there| fs::write(there.join("sitecustomize.py"), "").unwrap());
        check_replaced(|there| fs::create_dir(there.join("pytest")).unwrap());
        check_replaced(|there| {
            fs::create_dir(there.join("agent/__pycache__")).unwrap();
            fs::write(there.join("agent/__pycache__/other.cpython-312.pyc"), "").unwrap();
        });
        let elsewhere = tempfile::tempdir().unwrap();
        check_replaced(|there| {
            fs::write(elsewhere.path().join("main.py"), "whole").unwrap();
            fs::remove_file(there.join("agent/main.py")).unwrap();
            symlink(elsewhere.path().join("main.py"), there.join("agent/main.py")).unwrap();
        });
        check_replaced(|there| {
            fs::rename(there.join("agent"), elsewhere.path().join("agent")).unwrap();
            symlink(elsewhere.path().join("agent"), there.join("agent")).unwrap();
        });
    }

    #[test]
    fn compiled_files_stay() {
        let place = tempfile::tempdir().unwrap();
        let there = unpack(&AGENT, Some(place.path()), place.path()).unwrap();
        let compiled = there.join("agent/deep/__pycache__");
        fs::create_dir(&compiled).unwrap();
        for name in ["more.cpython-312.pyc", "more.cpython-312.pyc.140234"] {
            fs::write(compiled.join(name), "").unwrap();
        }
        unpack(&AGENT, Some(place.path()), place.path()).unwrap();
        assert!(compiled.join("more.cpython-312.pyc").exists());
    }

    #[test]
    fn a_cache_is_for_one_user() {
        let place = tempfile::tempdir().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        let cache = place.path().join("new/unflake");
        assert_eq!(private(cache.clone()), Some(cache.clone()));
        assert_eq!(mode(&cache), 0o700);
        fs::write(cache.join("own"), "").unwrap();
        assert!(private(cache.clone()).is_some() && cache.join("own").exists());
        fs::set_permissions(&cache, Permissions::from_mode(0o777)).unwrap();
        assert!(private(cache.clone()).is_some() && !cache.join("own").exists());
        assert_eq!(mode(&cache), 0o700);
        let link = place.path().join("link");
        symlink(&cache, &link).unwrap();
        assert_eq!(private(link), None);
        fs::set_permissions(place.path().join("new"), Permissions::from_mode(0o777)).unwrap();
        assert_eq!(private(cache), None);
    }
}
