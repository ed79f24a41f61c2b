//! Which state of the code is being tested, asked of git in the background.

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
            git(&directory, &["status", "--porcelain", "-z", "--untracked-files=all"]).map(|said| changed(&said));
        let dirty = changed.as_ref().map(|changed| !changed.is_empty());
        Revision { commit, tree, dirty, changed: changed.unwrap_or_default() }
    })
}

/// The top of the repository that the directory is in.
pub(crate) fn top(directory: &Path) -> Option<PathBuf> {
    let said = git(directory, &["rev-parse", "--show-toplevel"])?;
    Some(PathBuf::from(said.strip_suffix('\n').unwrap_or(&said)))
}

/// What `git status` says: `XY path`, and where something was renamed or copied the old path after it, which is gone.
fn changed(said: &str) -> Vec<String> {
    let mut entries = said.split('\0').filter(|entry| !entry.is_empty());
    let mut changed = Vec::new();
    while let Some(entry) = entries.next() {
        changed.push(entry.to_owned());
        if entry.get(..2).is_some_and(|how| how.contains(['R', 'C'])) {
            changed.extend(entries.next().map(|old| format!("D  {old}")));
        }
    }
    changed
}

/// What git says, if there is a git and it says anything. It is not to take locks that the user may need.
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
    fn both_names_of_what_was_renamed_are_changed() {
        let told = changed(" M a.py\0R  new.py\0old.py\0?? with space\0");
        assert_eq!(told, [" M a.py", "R  new.py", "D  old.py", "?? with space"]);
        assert_eq!(changed(""), [""; 0]);
    }
}
