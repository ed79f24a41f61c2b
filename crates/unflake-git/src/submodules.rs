//! Checks submodules recursively. git would apply the configuration of each submodule, so they are
//! checked here instead.

use std::fs;

use crate::GitError;
use crate::git::Git;
use crate::git_status::{self, IndexEntry, SUBMODULE, tracked};
use crate::repository::path;
use crate::skip_worktree::hidden_from_index;
use crate::touched_only;

/// The maximum nesting depth.
const MAX_DEPTH: usize = 16;

/// A submodule that is not in its expected state.
pub(crate) enum SubmoduleProblem {
    /// Its files differ from the commit that is checked out in it. A different commit is detected
    /// by the outer repository.
    Changed(Vec<u8>),
    /// It is not checked out, so its files do not exist.
    Absent(Vec<u8>),
}

pub(crate) fn problems(git: &Git, all: &[IndexEntry]) -> Result<Vec<SubmoduleProblem>, GitError> {
    let mut found = Vec::new();
    for one in all.iter().filter(|one| one.mode == SUBMODULE) {
        let below = git_in(git, one);
        if differs(&below, 0)? {
            found.push(SubmoduleProblem::Changed(one.path.clone()));
        } else if !is_checked_out(&below) {
            found.push(SubmoduleProblem::Absent(one.path.clone()));
        }
    }
    Ok(found)
}

fn differs(git: &Git, depth: usize) -> Result<bool, GitError> {
    if !is_checked_out(git) {
        // Without a repository, git cannot report files that exist here.
        return Ok(fs::read_dir(git.directory()).is_ok_and(|mut entries| entries.next().is_some()));
    }
    if depth > MAX_DEPTH || !touched_only::remove(git, git_status::diff(git, "HEAD")?).is_empty() {
        return Ok(true);
    }
    let all = tracked(git)?;
    if !git_status::untracked(git)?.is_empty() || !hidden_from_index(git, &all)?.is_empty() {
        return Ok(true);
    }
    for one in all.iter().filter(|one| one.mode == SUBMODULE) {
        if differs(&git_in(git, one), depth + 1)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The ignored files of the repository and of all submodules.
pub(crate) fn ignored(git: &Git) -> Result<Vec<Vec<u8>>, GitError> {
    let mut found = Vec::new();
    collect_ignored(git, &[], 0, &mut found)?;
    Ok(found)
}

fn collect_ignored(git: &Git, prefix: &[u8], depth: usize, found: &mut Vec<Vec<u8>>) -> Result<(), GitError> {
    found.extend(git_status::ignored(git)?.iter().map(|path| [prefix, path].concat()));
    if depth > MAX_DEPTH {
        return Ok(());
    }
    for one in tracked(git)?.iter().filter(|one| one.mode == SUBMODULE) {
        let below = git_in(git, one);
        if is_checked_out(&below) {
            collect_ignored(&below, &[prefix, &one.path, b"/"].concat(), depth + 1, found)?;
        }
    }
    Ok(())
}

fn git_in(git: &Git, submodule: &IndexEntry) -> Git {
    Git::at(&git.directory().join(path(submodule.path.clone())))
}

/// Without its own `.git`, git would use the outer repository.
fn is_checked_out(git: &Git) -> bool {
    git.directory().join(".git").exists()
}
