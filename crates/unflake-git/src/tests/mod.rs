//! Helpers that create a real repository for each test.

mod base;
mod changes;
mod hidden_changes;
mod repository;
mod worktree;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use unflake_model::{Base, BaseChoice, ChangeKind, Changes, FileChange};

use crate::{GitError, Repository};

/// A repository in a temporary directory that has space for siblings.
pub(super) struct TestRepository {
    pub(super) root: PathBuf,
    pub(super) parent: TempDir,
}

impl TestRepository {
    /// A repository without commits.
    pub(super) fn empty() -> TestRepository {
        let parent = TempDir::new().unwrap();
        let root = parent.path().canonicalize().unwrap().join("project");
        fs::create_dir(&root).unwrap();
        let repo = TestRepository { root, parent };
        repo.git(&["init", "--quiet", "--initial-branch=main"]);
        repo
    }

    /// A repository with `a.py`, `b.txt` and `dir/c.txt` in one commit on `main`.
    pub(super) fn new() -> TestRepository {
        let repo = TestRepository::empty();
        repo.write("a.py", "def f():\n    return 1\n\ndef g():\n    return 2\n");
        repo.write("b.txt", "one\n");
        repo.write("dir/c.txt", "see\n");
        repo.commit("first");
        repo
    }

    pub(super) fn git(&self, args: &[&str]) -> String {
        git_at(&self.root, args)
    }

    pub(super) fn write(&self, path: &str, text: &str) {
        write_at(&self.root.join(path), text.as_bytes());
    }

    pub(super) fn make_executable(&self, path: &str) {
        fs::set_permissions(self.root.join(path), fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Commits everything and returns the hash.
    pub(super) fn commit(&self, message: &str) -> String {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "-m", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    pub(super) fn find(&self) -> Repository {
        Repository::find(&self.root).unwrap().unwrap()
    }

    /// The changes relative to HEAD.
    pub(super) fn changes(&self) -> Changes {
        self.changes_since("HEAD")
    }

    pub(super) fn changes_since(&self, base: &str) -> Changes {
        let repository = self.find();
        let base = repository.base(Some(base), &[]).unwrap();
        repository.changes(&base, &[], &[], &[]).unwrap()
    }

    /// The changes as lines; asserts that nothing is unknown.
    pub(super) fn change_lines(&self) -> Vec<String> {
        let changes = self.changes();
        assert_eq!(changes.unknown, Vec::<String>::new());
        changes.files.iter().map(change_line).collect()
    }

    pub(super) fn base(&self, known_good: &[String]) -> Result<Base, GitError> {
        self.find().base(None, known_good)
    }
}

pub(super) fn change_line(change: &FileChange) -> String {
    let kind = match &change.kind {
        ChangeKind::Added => "added".to_owned(),
        ChangeKind::Modified => "modified".to_owned(),
        ChangeKind::Deleted => "deleted".to_owned(),
        ChangeKind::Renamed { from } => format!("renamed from {from}"),
        ChangeKind::ModeOnly => "mode".to_owned(),
        ChangeKind::Submodule => "submodule".to_owned(),
        ChangeKind::Untracked => "untracked".to_owned(),
        ChangeKind::TypeChanged => "type".to_owned(),
    };
    let names = |set: &std::collections::BTreeSet<String>| set.iter().cloned().collect::<Vec<_>>().join(",");
    match &change.functions {
        None => format!("{} {kind}", change.path),
        Some(functions) => format!("{} {kind} {}|{}", change.path, names(&functions.before), names(&functions.after)),
    }
}

pub(super) fn write_at(path: &Path, contents: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, contents).unwrap();
}

pub(super) fn git_at(directory: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "protocol.file.allow=always"])
        .args(args)
        .current_dir(directory)
        .env("HOME", "/nonexistent")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env_remove("GIT_DIR")
        .env_remove("GIT_INDEX_FILE")
        .env_remove("GIT_WORK_TREE")
        .output()
        .unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

pub(super) fn chosen(base: &Result<Base, GitError>) -> (&str, &BaseChoice) {
    let base = base.as_ref().unwrap();
    (&base.revision, &base.chosen)
}
