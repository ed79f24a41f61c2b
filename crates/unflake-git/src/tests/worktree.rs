//! Tests of temporary worktrees.

use std::fs;

use super::TestRepository;

#[test]
fn a_worktree_has_the_files_of_its_revision_until_drop() {
    let repo = TestRepository::new();
    let first = repo.git(&["rev-parse", "HEAD"]);
    repo.write("b.txt", "two\n");
    repo.commit("second");
    repo.write("b.txt", "dirty\n");
    repo.write("a.py", "staged = 1\n");
    repo.git(&["add", "a.py"]);
    repo.git(&["stash", "push", "--quiet", "--keep-index"]);
    let hook = repo.root.join(".git/hooks/post-checkout");
    super::write_at(&hook, format!("#!/bin/sh\ntouch {}/hooked\n", repo.parent.path().display()).as_bytes());
    repo.make_executable(".git/hooks/post-checkout");
    let state = || {
        let commands: [&[&str]; 5] = [
            &["for-each-ref"],
            &["stash", "list"],
            &["ls-files", "--stage"],
            &["worktree", "list", "--porcelain"],
            &["symbolic-ref", "HEAD"],
        ];
        (commands.map(|args| repo.git(args)), fs::read(repo.root.join(".git/index")).unwrap())
    };
    let before = state();
    let below = repo.parent.path().join("below");
    let tree = repo.find().worktree(&first, &below).unwrap();
    assert!(tree.path().starts_with(below.canonicalize().unwrap()));
    assert_eq!(fs::read_to_string(tree.path().join("b.txt")).unwrap(), "one\n");
    assert_eq!(tree.submodules(), [""; 0]);
    let other = repo.find().worktree("HEAD", &below).unwrap();
    assert_eq!(fs::read_to_string(other.path().join("b.txt")).unwrap(), "two\n");
    fs::write(tree.path().join("left by a test"), "x").unwrap();
    let (one, two) = (tree.path().to_owned(), other.path().to_owned());
    drop((tree, other));
    assert!(!one.exists() && !two.exists() && !repo.root.join(".git/unflake-worktrees").exists());
    assert!(!repo.parent.path().join("hooked").exists());
    assert_eq!(state(), before);
}

#[test]
fn worktrees_of_killed_processes_are_removed() {
    let repo = TestRepository::new();
    let repository = repo.find();
    let below = repo.parent.path().join("below");
    let in_use = repository.worktree("HEAD", &below).unwrap();

    // The state that a killed process leaves: files, git's entry and the marker, without a lock.
    let marks = repo.root.join(".git/unflake-worktrees");
    let left = below.canonicalize().unwrap().join("unflake-base-1-0");
    let gone = below.canonicalize().unwrap().join("unflake-base-1-1");
    for place in [&left, &gone] {
        repo.git(&["worktree", "add", "--quiet", "--detach", place.to_str().unwrap()]);
        fs::write(marks.join(place.file_name().unwrap()), place.to_str().unwrap()).unwrap();
    }
    fs::remove_dir_all(&gone).unwrap();
    fs::write(marks.join("unflake-base-1-2"), "").unwrap();
    // A worktree of the user whose directory is temporarily missing.
    let own = repo.parent.path().join("own");
    repo.git(&["worktree", "add", "--quiet", "--detach", own.to_str().unwrap()]);
    fs::rename(&own, repo.parent.path().join("away")).unwrap();

    assert_eq!(repository.sweep().unwrap(), 2);
    assert!(!left.exists() && in_use.path().exists());
    assert_eq!(repository.sweep().unwrap(), 0);
    let listed = repo.git(&["worktree", "list", "--porcelain"]);
    assert_eq!(listed.matches("worktree ").count(), 3, "{listed}");
    drop(in_use);
    assert!(!marks.exists());
}

#[test]
fn submodules_are_listed_and_empty() {
    let (repo, library) = (TestRepository::new(), TestRepository::new());
    repo.git(&["submodule", "--quiet", "add", library.root.to_str().unwrap(), "vendor/lib"]);
    repo.commit("with a submodule");
    let tree = repo.find().worktree("HEAD", repo.parent.path()).unwrap();
    assert_eq!(tree.submodules(), ["vendor/lib"]);
    assert!(!tree.path().join("vendor/lib/b.txt").exists());
    let path = tree.path().to_owned();
    drop(tree);
    assert!(!path.exists());
}

#[test]
fn a_failed_checkout_leaves_nothing() {
    let repo = TestRepository::new();
    let repository = repo.find();
    assert!(repository.worktree("nowhere", repo.parent.path()).is_err());
    repo.write(".gitattributes", "*.txt filter=broken\n");
    repo.git(&["config", "filter.broken.smudge", "false"]);
    repo.git(&["config", "filter.broken.clean", "cat"]);
    repo.git(&["config", "filter.broken.required", "true"]);
    repo.commit("cannot be checked out");
    let below = repo.parent.path().join("below");
    let error = repository.worktree("HEAD", &below).unwrap_err();
    assert!(error.to_string().starts_with("git worktree failed: "), "{error}");
    assert_eq!(fs::read_dir(&below).unwrap().count(), 0);
    assert!(!repo.root.join(".git/unflake-worktrees").exists());
    assert_eq!(repo.git(&["worktree", "list"]).lines().count(), 1);
}
