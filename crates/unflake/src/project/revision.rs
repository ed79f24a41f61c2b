//! Asks git, in the background, for the commit and the uncommitted changes under test.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::{self, JoinHandle};

use unflake_store::Revision;

pub(crate) fn look_up(directory: &Path) -> JoinHandle<Revision> {
    let directory = directory.to_owned();
    thread::spawn(move || {
        let hashes = git(&directory, &["rev-parse", "HEAD", "HEAD^{tree}"]);
        let mut lines = hashes.as_deref().unwrap_or_default().lines().map(str::to_owned);
        let commit = lines.next();
        let tree = lines.next();
        let changed =
            git(&directory, &["status", "--porcelain", "-z", "--untracked-files=all"]).map(|status| changed(&status));
        let dirty = changed.as_ref().map(|changed| !changed.is_empty());
        Revision { commit, tree, dirty, changed: changed.unwrap_or_default() }
    })
}

/// The top directory of the repository.
pub(crate) fn top(directory: &Path) -> Option<PathBuf> {
    let output = git(directory, &["rev-parse", "--show-toplevel"])?;
    Some(PathBuf::from(output.strip_suffix('\n').unwrap_or(&output)))
}

/// Parses `git status -z`: entries `XY path`; after that of a renamed or copied file comes its old
/// path, which becomes a deletion.
fn changed(status: &str) -> Vec<String> {
    let mut entries = status.split('\0').filter(|entry| !entry.is_empty());
    let mut changed = Vec::new();
    while let Some(entry) = entries.next() {
        changed.push(entry.to_owned());
        if entry.get(..2).is_some_and(|how| how.contains(['R', 'C'])) {
            changed.extend(entries.next().map(|old| format!("D  {old}")));
        }
    }
    changed
}

/// The output of git, where it succeeds. It takes no locks that the user may need.
fn git(directory: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git")
        .arg("--no-optional-locks")
        .args(arguments)
        .current_dir(directory)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_names_of_a_renamed_file_are_changed() {
        let parsed = changed(" M a.py\0R  new.py\0old.py\0?? with space\0");
        assert_eq!(parsed, [" M a.py", "R  new.py", "D  old.py", "?? with space"]);
        assert_eq!(changed(""), [""; 0]);
    }
}
