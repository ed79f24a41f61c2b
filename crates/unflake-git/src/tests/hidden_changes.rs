//! Tests of everything that hides changes or makes them hard to detect.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::time::{Duration, SystemTime};

use super::{TestRepository, git_at, write_at};

#[test]
fn assume_unchanged_and_skip_worktree_files_are_compared() {
    for flag in ["--assume-unchanged", "--skip-worktree"] {
        let repo = TestRepository::new();
        symlink("b.txt", repo.root.join("link")).unwrap();
        repo.write("odd \"\\\n.txt", "x");
        repo.commit("more");
        repo.git(&["update-index", flag, "a.py", "b.txt", "dir/c.txt", "link", "odd \"\\\n.txt"]);
        assert_eq!(repo.change_lines(), [""; 0], "{flag}");
        repo.write("a.py", "def f():\n    return 9\n");
        fs::remove_file(repo.root.join("b.txt")).unwrap();
        repo.make_executable("dir/c.txt");
        fs::remove_file(repo.root.join("link")).unwrap();
        symlink("a.py", repo.root.join("link")).unwrap();
        repo.write("odd \"\\\n.txt", "y");
        let expected = ["a.py modified", "b.txt deleted", "dir/c.txt mode", "link modified", "odd \"\\\n.txt modified"];
        assert_eq!(repo.change_lines(), expected, "{flag}");
        assert_eq!(repo.find().clean_tree().unwrap(), None);
    }
}

#[test]
fn hidden_files_are_compared_with_the_base() {
    let repo = TestRepository::new();
    repo.write("b.txt", "two\n");
    repo.write("new.txt", "new\n");
    repo.commit("second");
    repo.git(&["update-index", "--assume-unchanged", "b.txt", "new.txt"]);
    let lines: Vec<_> = repo.changes_since("HEAD^").files.iter().map(super::change_line).collect();
    assert_eq!(lines, ["b.txt modified", "new.txt modified"]);
}

#[test]
fn files_of_a_sparse_checkout_are_deleted() {
    let repo = TestRepository::new();
    repo.git(&["sparse-checkout", "set", "--no-cone", "/a.py", "/b.txt"]);
    assert!(!repo.root.join("dir").exists());
    assert_eq!(repo.change_lines(), ["dir/c.txt deleted"]);
    // The tree is still clean.
    assert_eq!(repo.find().clean_tree().unwrap(), Some(repo.git(&["rev-parse", "HEAD^{tree}"])));
    repo.write("b.txt", "two\n");
    assert_eq!(repo.find().clean_tree().unwrap(), None);
}

#[test]
fn old_timestamps_do_not_hide_a_change() {
    let repo = TestRepository::new();
    repo.git(&["config", "core.trustctime", "false"]);
    repo.git(&["config", "core.checkStat", "minimal"]);
    let path = repo.root.join("b.txt");
    let then = SystemTime::now() - Duration::from_secs(5000);
    let set = || fs::File::options().write(true).open(&path).unwrap().set_modified(then).unwrap();
    set();
    repo.git(&["update-index", "--refresh"]);
    // git compares ctimes in whole seconds.
    std::thread::sleep(Duration::from_millis(1100));
    fs::write(&path, "eno\n").unwrap();
    set();
    assert_eq!(repo.change_lines(), ["b.txt modified"]);
}

#[test]
fn user_configuration_does_not_change_the_result() {
    let repo = TestRepository::new();
    let settings = [
        ("diff.external", "false"),
        ("diff.noprefix", "true"),
        ("diff.renames", "copies"),
        ("diff.relative", "true"),
        ("diff.orderFile", "/nonexistent"),
        ("color.ui", "always"),
        ("core.pager", "false"),
        ("core.fsmonitor", "false-hook"),
        ("core.quotePath", "true"),
        ("core.ignoreStat", "true"),
        ("status.showUntrackedFiles", "no"),
        ("diff.autoRefreshIndex", "false"),
        ("core.untrackedCache", "true"),
    ];
    settings.iter().for_each(|(name, value)| drop(repo.git(&["config", name, value])));
    repo.write("b.txt", "two\n");
    repo.write("ü.txt", "x");
    fs::rename(repo.root.join("dir/c.txt"), repo.root.join("d.txt")).unwrap();
    repo.git(&["-c", "core.fsmonitor=false", "add", "d.txt", "dir"]);
    assert_eq!(repo.change_lines(), ["b.txt modified", "d.txt renamed from dir/c.txt", "ü.txt untracked"]);
}

#[test]
fn special_characters_in_names_work() {
    let repo = TestRepository::new();
    let names = [" lead", "new\nline", "quote\"s'", "tab\t", "back\\slash", "*", "-x", ":(top)", "ü.py", "trail "];
    names.iter().for_each(|name| repo.write(name, "1\n"));
    repo.commit("names");
    assert_eq!(repo.change_lines(), [""; 0]);
    names.iter().for_each(|name| repo.write(name, "2\n"));
    let mut expected: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
    expected.sort();
    let changes = repo.changes();
    assert_eq!(changes.files.iter().map(|change| change.path.clone()).collect::<Vec<_>>(), expected);
    assert!(changes.unknown.is_empty());
}

#[test]
fn non_utf8_names_are_reported_as_unknown() {
    let repo = TestRepository::new();
    write_at(&repo.root.join(OsStr::from_bytes(b"bad\xff.txt")), b"1");
    let check = || {
        let changes = repo.changes();
        assert_eq!(changes.files.len(), 1);
        assert_eq!(
            changes.unknown,
            ["the name of \"bad\u{fffd}.txt\" is not UTF-8, so the tests that used it are unknown"]
        );
    };
    check();
    repo.commit("bad");
    assert_eq!(repo.change_lines(), [""; 0]);
    write_at(&repo.root.join(OsStr::from_bytes(b"bad\xff.txt")), b"2");
    check();
}

#[test]
fn names_that_differ_in_case_are_reported() {
    let repo = TestRepository::new();
    repo.write("B.txt", "other\n");
    assert_eq!(repo.change_lines(), ["B.txt untracked"]);
    repo.git(&["config", "core.ignoreCase", "true"]);
    repo.write("dir/c.txt", "x");
    assert_eq!(repo.changes().touching("DIR/C.TXT").count(), 1);
}

#[test]
fn an_unfinished_merge_is_compared() {
    let repo = TestRepository::new();
    repo.write("gone.txt", "gone\n");
    repo.commit("before");
    repo.git(&["switch", "--quiet", "-c", "other"]);
    repo.write("a.py", "def f():\n    return 3\n");
    repo.write("dir/c.txt", "theirs\n");
    repo.write("gone.txt", "theirs\n");
    repo.git(&["rm", "--quiet", "b.txt"]);
    repo.commit("theirs");
    repo.git(&["switch", "--quiet", "main"]);
    repo.write("a.py", "def f():\n    return 4\n");
    repo.write("b.txt", "ours\n");
    repo.git(&["rm", "--quiet", "gone.txt"]);
    repo.commit("ours");
    let mut merge = std::process::Command::new("git");
    merge.args(["merge", "--quiet", "other"]).current_dir(&repo.root);
    merge.env("GIT_CONFIG_GLOBAL", "/dev/null").env("EMAIL", "ann@example.org");
    assert!(!merge.output().unwrap().status.success());
    // `b.txt` equals our side, `gone.txt` equals theirs.
    let lines: Vec<_> = repo.change_lines().iter().map(|line| line.split(' ').next().unwrap().to_owned()).collect();
    assert_eq!(lines, ["a.py", "dir/c.txt", "gone.txt"]);
    repo.write("a.py", "def f():\n    return 4\n");
    assert!(!repo.change_lines().iter().any(|line| line.starts_with("a.py")));
}

#[test]
fn line_endings_are_normalized() {
    let repo = TestRepository::new();
    repo.git(&["config", "core.autocrlf", "true"]);
    repo.write("b.txt", "one\r\n");
    repo.write("a.py", "def f():\r\n    return 1\r\n\r\ndef g():\r\n    return 2\r\n");
    assert_eq!(repo.change_lines(), [""; 0]);
    repo.write("b.txt", "one\r\ntwo\r\n");
    repo.write("a.py", "def f():\r\n    return 1\r\n\r\ndef g():\r\n    return 3\r\n");
    assert_eq!(repo.change_lines(), ["a.py modified g|g", "b.txt modified"]);
}

#[test]
fn git_lfs_pointers_are_compared() {
    let repo = TestRepository::new();
    let pointer =
        |size| format!("version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize {size}\n", "a".repeat(64));
    repo.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n");
    repo.write("big.bin", &pointer(1));
    repo.commit("pointer");
    assert_eq!(repo.change_lines(), [""; 0]);
    repo.write("big.bin", &pointer(2));
    assert_eq!(repo.change_lines(), ["big.bin modified"]);
    // With a filter, the filtered text counts.
    repo.git(&["config", "filter.lfs.clean", "sed s/real/version/"]);
    repo.write("big.bin", &pointer(1).replace("version", "real"));
    assert_eq!(repo.change_lines(), [""; 0]);
    // A failing filter hides nothing.
    repo.git(&["config", "filter.lfs.clean", "false"]);
    repo.git(&["config", "filter.lfs.required", "true"]);
    assert_eq!(repo.change_lines(), ["big.bin modified"]);
}

#[test]
fn a_file_that_cannot_be_read_counts_as_changed() {
    let repo = TestRepository::new();
    fs::remove_file(repo.root.join("b.txt")).unwrap();
    // A link to itself is unreadable, even for root.
    symlink("b.txt", repo.root.join("b.txt")).unwrap();
    assert_eq!(repo.change_lines(), ["b.txt type"]);
}

#[test]
fn huge_files_count_as_a_whole() {
    let repo = TestRepository::new();
    let file = fs::File::create(repo.root.join("huge.py")).unwrap();
    file.set_len(64 << 20).unwrap();
    repo.commit("huge");
    assert_eq!(repo.change_lines(), [""; 0]);
    file.set_len((64 << 20) + 1).unwrap();
    assert_eq!(repo.change_lines(), ["huge.py modified"]);
}

#[test]
fn submodule_changes_are_found() {
    let (repo, library) = (TestRepository::new(), TestRepository::new());
    repo.git(&["submodule", "--quiet", "add", library.root.to_str().unwrap(), "vendor/lib"]);
    repo.git(&["config", "--file", ".gitmodules", "submodule.vendor/lib.ignore", "all"]);
    repo.git(&["config", "submodule.vendor/lib.ignore", "all"]);
    repo.commit("with a submodule");
    assert_eq!(repo.change_lines(), [""; 0]);
    let inside = repo.root.join("vendor/lib");
    let reset = || git_at(&inside, &["checkout", "--quiet", "--force", "origin/main"]);

    write_at(&inside.join("b.txt"), b"dirt\n");
    assert_eq!(repo.change_lines(), ["vendor/lib submodule"]);
    assert_eq!(repo.changes().touching("vendor/lib/b.txt").count(), 1);
    reset();
    write_at(&inside.join("new.txt"), b"untracked\n");
    assert_eq!(repo.change_lines(), ["vendor/lib submodule"]);
    fs::remove_file(inside.join("new.txt")).unwrap();
    assert_eq!(repo.change_lines(), [""; 0]);

    git_at(&inside, &["update-index", "--assume-unchanged", "b.txt"]);
    assert_eq!(repo.change_lines(), [""; 0]);
    write_at(&inside.join("b.txt"), b"hidden dirt\n");
    assert_eq!(repo.change_lines(), ["vendor/lib submodule"]);
    git_at(&inside, &["update-index", "--no-assume-unchanged", "b.txt"]);
    reset();

    git_at(&inside, &["commit", "--quiet", "--allow-empty", "-m", "another"]);
    assert_eq!(repo.change_lines(), ["vendor/lib submodule"]);
    repo.git(&["rm", "--quiet", "--force", "vendor/lib"]);
    assert!(repo.change_lines().contains(&"vendor/lib submodule".to_owned()));
}

#[test]
fn a_missing_submodule_is_reported() {
    let (repo, library) = (TestRepository::new(), TestRepository::new());
    repo.git(&["submodule", "--quiet", "add", library.root.to_str().unwrap(), "lib"]);
    repo.commit("with a submodule");
    repo.git(&["submodule", "--quiet", "deinit", "--force", "lib"]);
    assert_eq!(repo.change_lines(), ["lib submodule"]);
    assert!(repo.find().clean_tree().unwrap().is_some());
    assert_eq!(super::chosen(&repo.base(&[])).1, &unflake_model::BaseChoice::Parent);
    fs::remove_dir(repo.root.join("lib")).unwrap();
    assert_eq!(repo.change_lines(), ["lib submodule"]);
    write_at(&repo.root.join("lib/own.txt"), b"not of the submodule\n");
    assert_eq!(repo.changes().touching("lib/own.txt").count(), 1);
    assert!(repo.find().clean_tree().unwrap().is_none());
}

#[test]
fn an_untracked_nested_repository_is_one_path() {
    let (repo, other) = (TestRepository::new(), TestRepository::new());
    git_at(&repo.root, &["clone", "--quiet", other.root.to_str().unwrap(), "nested"]);
    assert_eq!(repo.change_lines(), ["nested untracked"]);
    assert_eq!(repo.changes().touching("nested/dir/c.txt").count(), 1);
}

#[test]
fn nested_submodules_are_compared() {
    let (repo, middle, library) = (TestRepository::new(), TestRepository::new(), TestRepository::new());
    middle.git(&["submodule", "--quiet", "add", library.root.to_str().unwrap(), "inner"]);
    middle.git(&["config", "--file", ".gitmodules", "submodule.inner.ignore", "all"]);
    middle.write(".gitignore", "*.so\n");
    middle.commit("with a submodule");
    repo.git(&["submodule", "--quiet", "add", middle.root.to_str().unwrap(), "outer"]);
    repo.git(&["submodule", "--quiet", "update", "--init", "--recursive"]);
    repo.commit("with both");
    assert_eq!(repo.change_lines(), [""; 0]);
    repo.write("outer/built.so", "x");
    assert_eq!(repo.change_lines(), [""; 0]);
    assert!(repo.changes().ignores("outer/built.so") && !repo.changes().ignores("outer/b.txt"));
    repo.write("outer/inner/new.txt", "dirt deep down\n");
    assert_eq!(repo.change_lines(), ["outer submodule"]);
}

#[test]
fn a_partial_clone_fetches_nothing() {
    let repo = TestRepository::new();
    repo.write("a.py", "def f():\n    return 5\n");
    repo.git(&["mv", "b.txt", "moved.txt"]);
    repo.write("moved.txt", "one and a half\n");
    repo.commit("second");
    repo.git(&["config", "uploadpack.allowFilter", "true"]);
    repo.git(&["config", "uploadpack.allowAnySHA1InWant", "true"]);
    let parent = tempfile::TempDir::new().unwrap();
    let root = parent.path().canonicalize().unwrap().join("clone");
    let url = format!("file://{}", repo.root.display());
    git_at(parent.path(), &["clone", "--quiet", "--filter=blob:none", &url, root.to_str().unwrap()]);
    let copy = TestRepository { root, parent };
    let missing = || copy.git(&["rev-list", "--objects", "--all", "--missing=print"]).matches('?').count();
    let before = missing();
    assert!(before > 0);
    let changes = copy.changes_since("HEAD^");
    let lines: Vec<_> = changes.files.iter().map(super::change_line).collect();
    assert_eq!(lines, ["a.py modified", "b.txt deleted", "moved.txt added"]);
    assert_eq!(missing(), before);
}

#[test]
fn hook_variables_are_ignored() {
    let mut again = std::process::Command::new(std::env::current_exe().unwrap());
    again.args(["--exact", "tests::changes::staged_changes_are_found", "tests::changes::mode_changes_are_found"]);
    for name in ["GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"] {
        again.env(name, "/nonexistent");
    }
    let output = again.output().unwrap();
    let message = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && message.contains("2 passed"), "{message}");
}
