//! Excludes files that were rewritten with the same contents.

use std::collections::{BTreeMap, BTreeSet};

use crate::blobs::hashes;
use crate::git::Git;
use crate::git_status::{DiffEntry, LINK, SUBMODULE, is_zero};

/// Removes files that were only rewritten, and fills in the hashes of those whose mode changed.
pub(crate) fn remove(git: &Git, mut entries: Vec<DiffEntry>) -> Vec<DiffEntry> {
    let regular = |mode: &str| mode != LINK && mode != SUBMODULE;
    let may_be_unchanged = |entry: &DiffEntry| {
        entry.status == b'M' && is_zero(&entry.new_hash) && regular(&entry.old_mode) && regular(&entry.new_mode)
    };
    // A path that occurs more than once belongs to an unfinished merge.
    let mut seen = BTreeSet::new();
    let duplicates: BTreeSet<Vec<u8>> =
        entries.iter().filter(|entry| !seen.insert(entry.path.clone())).map(|entry| entry.path.clone()).collect();
    let paths: Vec<Vec<u8>> = entries
        .iter()
        .filter(|entry| may_be_unchanged(entry) && !duplicates.contains(&entry.path))
        .map(|entry| entry.path.clone())
        .collect();
    // If the hashes cannot be determined, all files stay.
    let Ok(hashes) = hashes(git, &paths) else { return entries };
    let now: BTreeMap<Vec<u8>, String> = paths.into_iter().zip(hashes).collect();
    for entry in entries.iter_mut().filter(|entry| may_be_unchanged(entry)) {
        if let Some(hash) = now.get(&entry.path) {
            entry.new_hash.clone_from(hash);
        }
    }
    entries.retain(|entry| {
        !(now.contains_key(&entry.path) && entry.old_hash == entry.new_hash && entry.old_mode == entry.new_mode)
    });
    entries
}
