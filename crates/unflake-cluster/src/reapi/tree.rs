//! The input root of an action: the files that a worker finds in its directory.
//!
//! ```text
//! unflake                     the worker
//! inputs/files/ab/ab12…       files of the project and of other trees, by their hashes
//! inputs/trees/cd34…          what trees they make up
//! runs/r/job.json             what all workers of the run start from
//! runs/r/w0/orders            the sessions of this action
//! ```
//!
//! Everything but the orders is the same for all actions of a run.

use std::collections::BTreeMap;

use prost::Message;

use super::protocol::{Digest, Directory, DirectoryNode, FileNode};
use super::store::Blobs;

/// The directory of the run in an action, and the files of its only worker.
pub(super) const RUN: &str = "runs/r";
pub(super) const ORDERS: &str = "runs/r/w0/orders";
pub(super) const EVENTS: &str = "runs/r/w0/events";
pub(super) const JOB: &str = "runs/r/job.json";
pub(super) const PROGRAM: &str = "unflake";

/// A directory that is being put together.
#[derive(Clone, Debug, Default)]
pub(super) struct TreeBuilder {
    files: BTreeMap<String, Digest>,
    directories: BTreeMap<String, TreeNode>,
}

#[derive(Clone, Debug)]
enum TreeNode {
    Open(TreeBuilder),
    /// Stored already.
    Stored(Digest),
}

impl TreeBuilder {
    pub(super) fn add(&mut self, path: &str, digest: Digest) {
        match path.split_once('/') {
            None => drop(self.files.insert(path.to_owned(), digest)),
            Some((name, rest)) => {
                let node = self.directories.entry(name.to_owned()).or_insert_with(|| TreeNode::Open(Self::default()));
                match node {
                    TreeNode::Open(tree) => tree.add(rest, digest),
                    TreeNode::Stored(_) => debug_assert!(false, "{name} is complete"),
                }
            }
        }
    }

    /// Adds a directory that is stored already.
    pub(super) fn add_stored(&mut self, name: &str, digest: Digest) {
        self.directories.insert(name.to_owned(), TreeNode::Stored(digest));
    }

    /// Adds the messages of this directory and of those below it. Returns the digest of this one.
    pub(super) fn store(self, blobs: &mut Blobs) -> Digest {
        let file =
            |(name, digest): (String, Digest)| FileNode { is_executable: name == PROGRAM, name, digest: Some(digest) };
        let mut directory = Directory { files: self.files.into_iter().map(file).collect(), directories: Vec::new() };
        for (name, node) in self.directories {
            let digest = match node {
                TreeNode::Open(tree) => tree.store(blobs),
                TreeNode::Stored(digest) => digest,
            };
            directory.directories.push(DirectoryNode { name, digest: Some(digest) });
        }
        blobs.add_bytes(directory.encode_to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_directory_is_the_same_as_its_files() {
        let whole = |with_stored: bool| {
            let (mut blobs, mut inputs, mut root) = (Blobs::default(), TreeBuilder::default(), TreeBuilder::default());
            let content = blobs.add_bytes(b"content".to_vec());
            for path in ["files/ab/ab12", "files/00/0012", "trees/cd"] {
                inputs.add(path, content.clone());
                if !with_stored {
                    root.add(&format!("inputs/{path}"), content.clone());
                }
            }
            if with_stored {
                let digest = inputs.store(&mut blobs);
                root.add_stored("inputs", digest);
            }
            root.add(PROGRAM, content.clone());
            root.add(ORDERS, content);
            root.store(&mut blobs)
        };
        assert_eq!(whole(true), whole(false));
    }
}
