//! The files that sessions need on other machines: found, hashed, sent once, and unpacked there.
//!
//! A tree is described by a manifest. Manifests and files are stored under the hash of their
//! content, so that what has not changed is not moved again.

mod digest;
mod manifest;
mod send;
mod unpack;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub(crate) use digest::{DigestCache, digest_of_bytes};
pub(crate) use send::{SentInputs, files_to_send, send, tidy_up};
pub(crate) use unpack::{NodeStore, copy_tree, is_same};

/// Directories of version control and of unflake itself, which no test needs.
const NEVER_SENT: [&str; 4] = [".git", ".hg", ".svn", ".unflake"];

/// Which files the sessions of a run need.
#[derive(Clone, Debug, Default)]
pub struct InputPaths {
    pub project: PathBuf,
    /// Further files and directories, such as the environment of an interpreter.
    pub others: Vec<PathBuf>,
    /// Directories that the other machines see under the same path. Nothing below them is sent.
    pub shared: Vec<PathBuf>,
    /// Names of files and directories that are made anew where they are missing.
    pub derived: Vec<String>,
    /// Paths that are not sent.
    pub excluded: Vec<PathBuf>,
}

impl InputPaths {
    /// The directories to send, none inside another.
    pub(crate) fn roots(&self) -> Vec<PathBuf> {
        let mut all: Vec<PathBuf> = [vec![self.project.clone()], self.others.clone()].concat();
        all.retain(|path| path.is_dir() && !self.shared.iter().any(|shared| is_below(path, shared)));
        all.sort();
        all.dedup_by(|path, outer| path.starts_with(&*outer));
        all
    }

    pub(crate) fn is_sent(&self, path: &Path, name: &str) -> bool {
        !NEVER_SENT.contains(&name)
            && !self.derived.iter().any(|derived| derived == name)
            && !self.excluded.iter().any(|excluded| excluded == path)
    }
}

/// Whether a path leads below a directory, by either of its names.
fn is_below(path: &Path, directory: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    path.starts_with(directory) || real(path).starts_with(real(directory))
}

/// The inputs of a run, by the hashes of their manifests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RunInputs {
    pub(crate) trees: Vec<InputTree>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct InputTree {
    /// Where the tree is, here and on the other machine.
    pub(crate) path: PathBuf,
    pub(crate) manifest: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_inside_another_is_sent_with_it_and_a_shared_one_not_at_all() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        ["p/env", "other", "home/env"].iter().for_each(|name| std::fs::create_dir_all(at(name)).unwrap());
        let paths = InputPaths {
            project: at("p"),
            others: vec![at("p/env"), at("other"), at("home/env"), at("missing")],
            shared: vec![at("home")],
            ..InputPaths::default()
        };
        assert_eq!(paths.roots(), [at("other"), at("p")]);
    }
}
