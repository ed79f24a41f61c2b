//! Finds changes in files that git was told to ignore (`assume-unchanged`, `skip-worktree`).

use std::collections::HashMap;

use unflake_model::ChangeKind;

use crate::Error;
use crate::blobs::{There, hash_of_link, hashes, there};
use crate::git::Git;
use crate::git_status::{LINK, SUBMODULE, Tracked, committed};

/// The hidden files of the index that differ from `base`.
pub(crate) fn hidden(git: &Git, base: &str, all: &[Tracked]) -> Result<Vec<(Vec<u8>, ChangeKind)>, Error> {
    let hidden: Vec<&Tracked> = all.iter().filter(|one| one.hidden).collect();
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
pub(crate) fn hidden_from_index(git: &Git, all: &[Tracked]) -> Result<Vec<(Vec<u8>, ChangeKind)>, Error> {
    let as_kept = |one: &Tracked| (one.path.clone(), Some((one.mode.clone(), one.hash.clone())));
    compare(git, all.iter().filter(|one| one.hidden).map(as_kept).collect())
}

/// The mode and hash of a file, if it existed.
type Was = Option<(String, String)>;

fn compare(git: &Git, wanted: Vec<(Vec<u8>, Was)>) -> Result<Vec<(Vec<u8>, ChangeKind)>, Error> {
    let mut changed = Vec::new();
    let mut alike = Vec::new();
    for (path, was) in wanted {
        let kind = match (was, there(git.directory(), &path)?) {
            (None, There::Nothing) => continue,
            (None, _) => ChangeKind::Added,
            (Some((mode, _)), _) if mode == SUBMODULE => ChangeKind::Submodule,
            (Some(_), There::Nothing) => ChangeKind::Deleted,
            (Some(_), There::Other) => ChangeKind::TypeChanged,
            (Some((old, _)), There::File(new)) if (old == LINK) != (new == LINK) => ChangeKind::TypeChanged,
            (Some((_, hash)), There::File(LINK)) => {
                if hash_of_link(git, &path)? == hash {
                    continue;
                }
                ChangeKind::Modified
            }
            (Some((mode, hash)), There::File(new)) => {
                alike.push((path, hash, mode == new));
                continue;
            }
        };
        changed.push((path, kind));
    }
    let paths: Vec<Vec<u8>> = alike.iter().map(|(path, ..)| path.clone()).collect();
    for ((path, hash, same_mode), now) in alike.into_iter().zip(hashes(git, &paths)?) {
        if hash != now {
            changed.push((path, ChangeKind::Modified));
        } else if !same_mode {
            changed.push((path, ChangeKind::ModeOnly));
        }
    }
    Ok(changed)
}
