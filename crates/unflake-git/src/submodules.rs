//! Repositories inside the repository. git looks into them with the eyes of their own configuration, so they are looked into
//! here, at any depth.

use std::fs;

use crate::Error;
use crate::git::Git;
use crate::git_status::{self, SUBMODULE, Tracked, tracked};
use crate::repository::path;
use crate::skip_worktree::hidden_from_index;
use crate::touched_only;

/// How deep they may stand in each other.
const DEEPEST: usize = 16;

/// A submodule that is not as it should be.
pub(crate) enum Odd {
    /// Its files are not as the commit that is checked out in it. That this is another commit than the one that is wanted is
    /// seen from outside.
    Changed(Vec<u8>),
    /// It is not checked out: nothing of it is there.
    Absent(Vec<u8>),
}

pub(crate) fn odd(git: &Git, all: &[Tracked]) -> Result<Vec<Odd>, Error> {
    let mut found = Vec::new();
    for one in all.iter().filter(|one| one.mode == SUBMODULE) {
        let below = inside(git, one);
        if differs(&below, 0)? {
            found.push(Odd::Changed(one.path.clone()));
        } else if !is_checked_out(&below) {
            found.push(Odd::Absent(one.path.clone()));
        }
    }
    Ok(found)
}

fn differs(git: &Git, depth: usize) -> Result<bool, Error> {
    if !is_checked_out(git) {
        // git looks at nothing that is there.
        return Ok(fs::read_dir(git.directory()).is_ok_and(|mut entries| entries.next().is_some()));
    }
    if depth > DEEPEST || !touched_only::left_out(git, git_status::diff(git, "HEAD")?).is_empty() {
        return Ok(true);
    }
    let all = tracked(git)?;
    if !git_status::untracked(git)?.is_empty() || !hidden_from_index(git, &all)?.is_empty() {
        return Ok(true);
    }
    for one in all.iter().filter(|one| one.mode == SUBMODULE) {
        if differs(&inside(git, one), depth + 1)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What is ignored, in the repository and in those inside.
pub(crate) fn ignored(git: &Git) -> Result<Vec<Vec<u8>>, Error> {
    let mut found = Vec::new();
    collect_ignored(git, &[], 0, &mut found)?;
    Ok(found)
}

fn collect_ignored(git: &Git, prefix: &[u8], depth: usize, found: &mut Vec<Vec<u8>>) -> Result<(), Error> {
    found.extend(git_status::ignored(git)?.iter().map(|path| [prefix, path].concat()));
    if depth > DEEPEST {
        return Ok(());
    }
    for one in tracked(git)?.iter().filter(|one| one.mode == SUBMODULE) {
        let below = inside(git, one);
        if is_checked_out(&below) {
            collect_ignored(&below, &[prefix, &one.path, b"/"].concat(), depth + 1, found)?;
        }
    }
    Ok(())
}

fn inside(git: &Git, submodule: &Tracked) -> Git {
    Git::at(&git.directory().join(path(submodule.path.clone())))
}

/// Without a `.git` of its own, git would answer for the repository around it.
fn is_checked_out(git: &Git) -> bool {
    git.directory().join(".git").exists()
}
