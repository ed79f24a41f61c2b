//! Tests of temporary worktrees.

use std::fs;

use super::Lab;

#[test]
fn it_has_the_files_of_the_revision_and_goes() {
    let lab = Lab::new();
    let first = lab.git(&["rev-parse", "HEAD"]);
    lab.write("b.txt", "two\n");
    lab.commit("second");
    lab.write("b.txt", "dirty\n");
    lab.write("a.py", "staged = 1\n");
    lab.git(&["add", "a.py"]);
    lab.git(&["stash", "push", "--quiet", "--keep-index"]);
    let hook = lab.root.join(".git/hooks/post-checkout");
    super::write_at(&hook, format!("#!/bin/sh\ntouch {}/hooked\n", lab.room.path().display()).as_bytes());
    lab.make_executable(".git/hooks/post-checkout");
    let state = || {
        let words: [&[&str]; 5] = [
            &["for-each-ref"],
            &["stash", "list"],
            &["ls-files", "--stage"],
            &["worktree", "list", "--porcelain"],
            &["symbolic-ref", "HEAD"],
        ];
        (words.map(|words| lab.git(words)), fs::read(lab.root.join(".git/index")).unwrap())
    };
    let before = state();
    let below = lab.room.path().join("below");
    let tree = lab.find().worktree(&first, &below).unwrap();
    assert!(tree.path().starts_with(below.canonicalize().unwrap()));
    assert_eq!(fs::read_to_string(tree.path().join("b.txt")).unwrap(), "one\n");
    assert_eq!(tree.submodules(), [""; 0]);
    let other = lab.find().worktree("HEAD", &below).unwrap();
    assert_eq!(fs::read_to_string(other.path().join("b.txt")).unwrap(), "two\n");
    fs::write(tree.path().join("left by a test"), "x").unwrap();
    let (one, two) = (tree.path().to_owned(), other.path().to_owned());
    drop((tree, other));
    assert!(!one.exists() && !two.exists() && !lab.root.join(".git/unflake-worktrees").exists());
    assert!(!lab.room.path().join("hooked").exists());
    assert_eq!(state(), before);
}

#[test]
fn what_somebody_left_who_was_killed_is_removed_and_what_is_in_use_is_not() {
    let lab = Lab::new();
    let repository = lab.find();
    let below = lab.room.path().join("below");
    let in_use = repository.worktree("HEAD", &below).unwrap();

    // The state that a killed process leaves: files, git's entry and the marker, without a lock.
    let marks = lab.root.join(".git/unflake-worktrees");
    let left = below.canonicalize().unwrap().join("unflake-base-1-0");
    let gone = below.canonicalize().unwrap().join("unflake-base-1-1");
    for place in [&left, &gone] {
        lab.git(&["worktree", "add", "--quiet", "--detach", place.to_str().unwrap()]);
        fs::write(marks.join(place.file_name().unwrap()), place.to_str().unwrap()).unwrap();
    }
    fs::remove_dir_all(&gone).unwrap();
    fs::write(marks.join("unflake-base-1-2"), "").unwrap();
    // A worktree of the user whose directory is temporarily missing.
    let own = lab.room.path().join("own");
    lab.git(&["worktree", "add", "--quiet", "--detach", own.to_str().unwrap()]);
    fs::rename(&own, lab.room.path().join("away")).unwrap();

    assert_eq!(repository.sweep().unwrap(), 2);
    assert!(!left.exists() && in_use.path().exists());
    assert_eq!(repository.sweep().unwrap(), 0);
    let listed = lab.git(&["worktree", "list", "--porcelain"]);
    assert_eq!(listed.matches("worktree ").count(), 3, "{listed}");
    drop(in_use);
    assert!(!marks.exists());
}

#[test]
fn submodules_are_told_and_not_there() {
    let (lab, library) = (Lab::new(), Lab::new());
    lab.git(&["submodule", "--quiet", "add", library.root.to_str().unwrap(), "vendor/lib"]);
    lab.commit("with a submodule");
    let tree = lab.find().worktree("HEAD", lab.room.path()).unwrap();
    assert_eq!(tree.submodules(), ["vendor/lib"]);
    assert!(!tree.path().join("vendor/lib/b.txt").exists());
    let path = tree.path().to_owned();
    drop(tree);
    assert!(!path.exists());
}

#[test]
fn what_cannot_be_checked_out_leaves_nothing() {
    let lab = Lab::new();
    let repository = lab.find();
    assert!(repository.worktree("nowhere", lab.room.path()).is_err());
    lab.write(".gitattributes", "*.txt filter=broken\n");
    lab.git(&["config", "filter.broken.smudge", "false"]);
    lab.git(&["config", "filter.broken.clean", "cat"]);
    lab.git(&["config", "filter.broken.required", "true"]);
    lab.commit("cannot be checked out");
    let below = lab.room.path().join("below");
    let error = repository.worktree("HEAD", &below).unwrap_err();
    assert!(error.to_string().starts_with("git worktree failed: "), "{error}");
    assert_eq!(fs::read_dir(&below).unwrap().count(), 0);
    assert!(!lab.root.join(".git/unflake-worktrees").exists());
    assert_eq!(lab.git(&["worktree", "list"]).lines().count(), 1);
}
