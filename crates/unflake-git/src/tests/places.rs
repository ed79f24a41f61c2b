//! Tests of locating repositories.

use std::fs;

use tempfile::TempDir;

use super::{Lab, git_at, spell};
use crate::{Error, Repository};

#[test]
fn none() {
    let room = TempDir::new().unwrap();
    assert!(Repository::find(room.path()).unwrap().is_none());
    let error = Repository::find(&room.path().join("nowhere")).unwrap_err();
    assert!(matches!(error, Error::Git { .. }), "{error:?}");
}

#[test]
fn bare_or_inside_of_itself() {
    let lab = Lab::new();
    let bare = lab.room.path().join("bare");
    git_at(lab.room.path(), &["clone", "--quiet", "--bare", lab.root.to_str().unwrap(), bare.to_str().unwrap()]);
    assert_eq!(Repository::find(&bare).unwrap_err(), Error::NoWorkingTree);
    assert_eq!(Repository::find(&lab.root.join(".git")).unwrap_err(), Error::NoWorkingTree);
}

#[test]
fn broken() {
    let lab = Lab::new();
    fs::write(lab.root.join(".git/index"), "no index").unwrap();
    let repository = lab.find();
    let base = repository.base(Some("HEAD"), &[]).unwrap();
    assert!(repository.changes(&base).is_err() && repository.clean_tree().is_err());
}

#[test]
fn in_a_subdirectory_all_of_the_repository_counts() {
    let lab = Lab::new();
    lab.write("b.txt", "two\n");
    lab.write("dir/new", "");
    let repository = Repository::find(&lab.root.join("dir")).unwrap().unwrap();
    assert_eq!(repository.root(), lab.root);
    let base = repository.base(None, &[]).unwrap();
    let told: Vec<_> = repository.changes(&base).unwrap().files.iter().map(spell).collect();
    assert_eq!(told, ["b.txt modified", "dir/new untracked"]);
}

#[test]
fn in_a_linked_worktree_and_on_a_detached_head() {
    let lab = Lab::new();
    let linked = lab.room.path().canonicalize().unwrap().join("linked");
    lab.git(&["worktree", "add", "--quiet", "--detach", linked.to_str().unwrap()]);
    lab.write("b.txt", "in the first\n");
    fs::write(linked.join("dir/c.txt"), "in the second\n").unwrap();
    let repository = Repository::find(&linked).unwrap().unwrap();
    assert_eq!(repository.root(), linked);
    let base = repository.base(None, &[]).unwrap();
    let told: Vec<_> = repository.changes(&base).unwrap().files.iter().map(spell).collect();
    assert_eq!(told, ["dir/c.txt modified"]);
    // A worktree can be created from there too.
    let tree = repository.worktree("HEAD", lab.room.path()).unwrap();
    assert!(tree.path().join("b.txt").exists());
}

#[test]
fn under_an_odd_name() {
    let room = TempDir::new().unwrap();
    let root = room.path().canonicalize().unwrap().join("odd \"name\"\n");
    fs::create_dir(&root).unwrap();
    let lab = Lab { root, room };
    lab.git(&["init", "--quiet", "--initial-branch=main"]);
    lab.write("a", "1");
    lab.commit("first");
    lab.write("a", "2");
    assert_eq!(lab.told(), ["a modified"]);
}
