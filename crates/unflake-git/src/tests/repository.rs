//! Tests of locating repositories.

use std::fs;

use tempfile::TempDir;

use super::{TestRepository, change_line, git_at};
use crate::{FileStatus, GitError, Repository};

#[test]
fn a_directory_without_repository_is_none() {
    let parent = TempDir::new().unwrap();
    assert!(Repository::find(parent.path()).unwrap().is_none());
    let error = Repository::find(&parent.path().join("nowhere")).unwrap_err();
    assert!(matches!(error, GitError::Git { .. }), "{error:?}");
}

#[test]
fn a_bare_repository_has_no_working_tree() {
    let repo = TestRepository::new();
    let bare = repo.parent.path().join("bare");
    git_at(repo.parent.path(), &["clone", "--quiet", "--bare", repo.root.to_str().unwrap(), bare.to_str().unwrap()]);
    assert_eq!(Repository::find(&bare).unwrap_err(), GitError::NoWorkingTree);
    assert_eq!(Repository::find(&repo.root.join(".git")).unwrap_err(), GitError::NoWorkingTree);
}

#[test]
fn a_broken_repository_is_an_error() {
    let repo = TestRepository::new();
    fs::write(repo.root.join(".git/index"), "no index").unwrap();
    let repository = repo.find();
    let base = repository.base(Some("HEAD"), &[]).unwrap();
    assert!(repository.changes(&base, &[], &[], &[]).is_err() && repository.clean_tree().is_err());
}

#[test]
fn a_subdirectory_finds_the_whole_repository() {
    let repo = TestRepository::new();
    repo.write("b.txt", "two\n");
    repo.write("dir/new", "");
    let repository = Repository::find(&repo.root.join("dir")).unwrap().unwrap();
    assert_eq!(repository.root(), repo.root);
    let base = repository.base(None, &[]).unwrap();
    let lines: Vec<_> = repository.changes(&base, &[], &[], &[]).unwrap().files.iter().map(change_line).collect();
    assert_eq!(lines, ["b.txt modified", "dir/new untracked"]);
}

#[test]
fn linked_worktrees_and_detached_heads_work() {
    let repo = TestRepository::new();
    let linked = repo.parent.path().canonicalize().unwrap().join("linked");
    repo.git(&["worktree", "add", "--quiet", "--detach", linked.to_str().unwrap()]);
    repo.write("b.txt", "in the first\n");
    fs::write(linked.join("dir/c.txt"), "in the second\n").unwrap();
    let repository = Repository::find(&linked).unwrap().unwrap();
    assert_eq!(repository.root(), linked);
    let base = repository.base(None, &[]).unwrap();
    let lines: Vec<_> = repository.changes(&base, &[], &[], &[]).unwrap().files.iter().map(change_line).collect();
    assert_eq!(lines, ["dir/c.txt modified"]);
    // A worktree can be created from there too.
    let tree = repository.worktree("HEAD", repo.parent.path()).unwrap();
    assert!(tree.path().join("b.txt").exists());
}

#[test]
fn special_characters_in_the_root_work() {
    let parent = TempDir::new().unwrap();
    let root = parent.path().canonicalize().unwrap().join("odd \"name\"\n");
    fs::create_dir(&root).unwrap();
    let repo = TestRepository { root, parent };
    repo.git(&["init", "--quiet", "--initial-branch=main"]);
    repo.write("a", "1");
    repo.commit("first");
    repo.write("a", "2");
    assert_eq!(repo.change_lines(), ["a modified"]);
}

#[test]
fn files_are_tracked_ignored_or_neither() {
    let repo = TestRepository::new();
    repo.write(".gitignore", "*.log\n");
    repo.write("golden/one.txt", "1");
    repo.commit("golden");
    repo.write("out.log", "x");
    repo.write("new[1].txt", "x");
    let status = |name: &str| repo.find().file_status(&repo.root.join(name)).unwrap();
    assert_eq!(["golden", "golden/one.txt"].map(status), [FileStatus::Tracked; 2]);
    assert_eq!(status("out.log"), FileStatus::Ignored);
    assert_eq!(status("new[1].txt"), FileStatus::Untracked);
}
