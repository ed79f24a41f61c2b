//! Which state of the code is being tested, asked of git in the background.

use std::path::Path;
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
        let dirty = git(&directory, &["status", "--porcelain"]).map(|changes| !changes.trim().is_empty());
        Revision { commit, tree, dirty }
    })
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
