//! Finds changes in files that git ignores by request (`assume-unchanged`, `skip-worktree`).

use std::collections::HashMap;

use unflake_model::ChangeKind;

use crate::GitError;
use crate::blobs::{PathType, hash_of_link, hashes, path_type};
use crate::git::Git;
use crate::git_status::{IndexEntry, LINK, SUBMODULE, committed};

/// The hidden files of the index that differ from `base`.
pub(crate) fn hidden(git: &Git, base: &str, all: &[IndexEntry]) -> Result<Vec<(Vec<u8>, ChangeKind)>, GitError> {
    let hidden: Vec<&IndexEntry> = all.iter().filter(|one| one.hidden).collect();
    if hidden.is_empty() {
        return Ok(Vec::new());
    }
    let committed: HashMap<_, _> =
        committed(git, base)?.into_iter().map(|(path, mode, hash)| (path, (mode, hash))).collect();
    let mut wanted = Vec::new();
    for one in hidden {
        wanted.push((one.path.clone(), committed.get(&one.path).cloned()));
    }
    compare(git, wanted)
}

/// The hidden files of the index that differ from the index.
pub(crate) fn hidden_from_index(git: &Git, all: &[IndexEntry]) -> Result<Vec<(Vec<u8>, ChangeKind)>, GitError> {
    let from_index = |one: &IndexEntry| (one.path.clone(), Some((one.mode.clone(), one.hash.clone())));
    compare(git, all.iter().filter(|one| one.hidden).map(from_index).collect())
}

/// The mode and hash of a file, if it existed.
type OldFile = Option<(String, String)>;

fn compare(git: &Git, wanted: Vec<(Vec<u8>, OldFile)>) -> Result<Vec<(Vec<u8>, ChangeKind)>, GitError> {
    let mut changed = Vec::new();
    let mut candidates = Vec::new();
    for (path, old) in wanted {
        let kind = match (old, path_type(git.directory(), &path)?) {
            (None, PathType::Missing) => continue,
            (None, _) => ChangeKind::Added,
            (Some((mode, _)), _) if mode == SUBMODULE => ChangeKind::Submodule,
            (Some(_), PathType::Missing) => ChangeKind::Deleted,
            (Some(_), PathType::Other) => ChangeKind::TypeChanged,
            (Some((mode, _)), PathType::File(new)) if (mode == LINK) != (new == LINK) => ChangeKind::TypeChanged,
            (Some((_, hash)), PathType::File(LINK)) => {
                if hash_of_link(git, &path)? == hash {
                    continue;
                }
                ChangeKind::Modified
            }
            (Some((mode, hash)), PathType::File(new)) => {
                candidates.push((path, hash, mode == new));
                continue;
            }
        };
        changed.push((path, kind));
    }
    let paths: Vec<Vec<u8>> = candidates.iter().map(|(path, ..)| path.clone()).collect();
    for ((path, hash, same_mode), now) in candidates.into_iter().zip(hashes(git, &paths)?) {
        if hash != now {
            changed.push((path, ChangeKind::Modified));
        } else if !same_mode {
            changed.push((path, ChangeKind::ModeOnly));
        }
    }
    Ok(changed)
}
