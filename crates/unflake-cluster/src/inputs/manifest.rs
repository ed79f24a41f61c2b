//! What a tree of files contains.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::InputPaths;
use super::digest::{DigestCache, nanoseconds};

/// Every file of a tree, by its path relative to the root. Directories come before what they have.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub(crate) entries: Vec<(PathBuf, TreeEntry)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum TreeEntry {
    Directory { mode: u32 },
    File { digest: String, size: u64, mode: u32, modified: i64 },
    Link { target: PathBuf },
}

impl Manifest {
    /// Reads a tree. Files that come and go meanwhile are left out, as are sockets, devices, and
    /// names that are not Unicode.
    pub(crate) fn read(root: &Path, inputs: &InputPaths, digests: &mut DigestCache) -> io::Result<Self> {
        let mut manifest = Self::default();
        manifest.add_below(root, Path::new(""), inputs, digests)?;
        Ok(manifest)
    }

    fn add_below(
        &mut self,
        root: &Path,
        below: &Path,
        inputs: &InputPaths,
        digests: &mut DigestCache,
    ) -> io::Result<()> {
        let mut names: Vec<_> = fs::read_dir(root.join(below))?.collect::<Result<_, _>>()?;
        names.sort_by_key(fs::DirEntry::file_name);
        for entry in names {
            let Ok(name) = entry.file_name().into_string() else { continue };
            let (path, relative) = (entry.path(), below.join(&name));
            if !inputs.is_sent(&path, &name) {
                continue;
            }
            let found = match self.entry(&path, digests) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(io::Error::new(error.kind(), format!("{}: {error}", path.display()))),
                Ok(found) => found,
            };
            let Some(found) = found else { continue };
            let is_directory = matches!(found, TreeEntry::Directory { .. });
            self.entries.push((relative.clone(), found));
            if is_directory {
                self.add_below(root, &relative, inputs, digests)?;
            }
        }
        Ok(())
    }

    fn entry(&self, path: &Path, digests: &mut DigestCache) -> io::Result<Option<TreeEntry>> {
        let data = fs::symlink_metadata(path)?;
        let mode = data.permissions().mode() & 0o777;
        Ok(if data.is_dir() {
            Some(TreeEntry::Directory { mode })
        } else if data.is_symlink() {
            let target = fs::read_link(path)?;
            target.to_str().is_some().then_some(TreeEntry::Link { target })
        } else if data.is_file() {
            let (size, modified) = (data.len(), nanoseconds(&data));
            Some(TreeEntry::File { digest: digests.digest(path, &data)?, size, mode, modified })
        } else {
            None
        })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_tree_is_described_without_what_is_not_sent() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        for name in [".git/config", "a/b.txt", "a/made/x", "left/y", ".unflake/history"] {
            fs::create_dir_all(at(name).parent().unwrap()).unwrap();
            fs::write(at(name), name).unwrap();
        }
        symlink("a/b.txt", at("link")).unwrap();
        let inputs =
            InputPaths { derived: vec!["made".to_owned()], excluded: vec![at("left")], ..InputPaths::default() };
        let manifest = Manifest::read(place.path(), &inputs, &mut DigestCache::default()).unwrap();
        let names: Vec<_> = manifest.entries.iter().map(|(path, _)| path.to_str().unwrap()).collect();
        assert_eq!(names, ["a", "a/b.txt", "link"]);
        assert!(matches!(&manifest.entries[1].1, TreeEntry::File { size: 7, .. }));
        assert_eq!(manifest.entries[2].1, TreeEntry::Link { target: "a/b.txt".into() });
    }
}
