//! Tests of everything that hides changes or makes them hard to detect.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::time::{Duration, SystemTime};

use super::{Lab, git_at, write_at};

#[test]
fn assumed_unchanged_and_skipped_files_are_looked_at() {
    for flag in ["--assume-unchanged", "--skip-worktree"] {
        let lab = Lab::new();
        symlink("b.txt", lab.root.join("link")).unwrap();
        lab.write("odd \"\\\n.txt", "x");
        lab.commit("more");
        lab.git(&["update-index", flag, "a.py", "b.txt", "dir/c.txt", "link", "odd \"\\\n.txt"]);
        assert_eq!(lab.told(), [""; 0], "{flag}");
        lab.write("a.py", "def f():\n    return 9\n");
        fs::remove_file(lab.root.join("b.txt")).unwrap();
        lab.make_executable("dir/c.txt");
        fs::remove_file(lab.root.join("link")).unwrap();
        symlink("a.py", lab.root.join("link")).unwrap();
        lab.write("odd \"\\\n.txt", "y");
        let expected = ["a.py modified", "b.txt deleted", "dir/c.txt mode", "link modified", "odd \"\\\n.txt modified"];
        assert_eq!(lab.told(), expected, "{flag}");
        assert_eq!(lab.find().clean_tree().unwrap(), None);
    }
}

#[test]
fn a_hidden_file_is_compared_with_the_base_and_not_with_the_index() {
    let lab = Lab::new();
    lab.write("b.txt", "two\n");
    lab.write("new.txt", "new\n");
    lab.commit("second");
    lab.git(&["update-index", "--assume-unchanged", "b.txt", "new.txt"]);
    let told: Vec<_> = lab.changes_since("HEAD^").files.iter().map(super::spell).collect();
    assert_eq!(told, ["b.txt modified", "new.txt modified"]);
}

#[test]
fn what_is_not_checked_out_is_not_there() {
    let lab = Lab::new();
    lab.git(&["sparse-checkout", "set", "--no-cone", "/a.py", "/b.txt"]);
    assert!(!lab.root.join("dir").exists());
    assert_eq!(lab.told(), ["dir/c.txt deleted"]);
    // The tree is still clean.
    assert_eq!(lab.find().clean_tree().unwrap(), Some(lab.git(&["rev-parse", "HEAD^{tree}"])));
    lab.write("b.txt", "two\n");
    assert_eq!(lab.find().clean_tree().unwrap(), None);
}

#[test]
fn stale_times_do_not_hide_a_change() {
    let lab = Lab::new();
    lab.git(&["config", "core.trustctime", "false"]);
    lab.git(&["config", "core.checkStat", "minimal"]);
    let path = lab.root.join("b.txt");
    let then = SystemTime::now() - Duration::from_secs(5000);
    let set = || fs::File::options().write(true).open(&path).unwrap().set_modified(then).unwrap();
    set();
    lab.git(&["update-index", "--refresh"]);
    // git compares ctimes in whole seconds.
    std::thread::sleep(Duration::from_millis(1100));
    fs::write(&path, "eno\n").unwrap();
    set();
    assert_eq!(lab.told(), ["b.txt modified"]);
}

#[test]
fn configuration_does_not_change_the_answer() {
    let lab = Lab::new();
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
    settings.iter().for_each(|(name, value)| drop(lab.git(&["config", name, value])));
    lab.write("b.txt", "two\n");
    lab.write("ü.txt", "x");
    fs::rename(lab.root.join("dir/c.txt"), lab.root.join("d.txt")).unwrap();
    lab.git(&["-c", "core.fsmonitor=false", "add", "d.txt", "dir"]);
    assert_eq!(lab.told(), ["b.txt modified", "d.txt renamed from dir/c.txt", "ü.txt untracked"]);
}

#[test]
fn odd_names() {
    let lab = Lab::new();
    let names = [" lead", "new\nline", "quote\"s'", "tab\t", "back\\slash", "*", "-x", ":(top)", "ü.py", "trail "];
    names.iter().for_each(|name| lab.write(name, "1\n"));
    lab.commit("names");
    assert_eq!(lab.told(), [""; 0]);
    names.iter().for_each(|name| lab.write(name, "2\n"));
    let mut expected: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
    expected.sort();
    let changes = lab.changes();
    assert_eq!(changes.files.iter().map(|change| change.path.clone()).collect::<Vec<_>>(), expected);
    assert!(changes.unknown.is_empty());
}

#[test]
fn a_name_that_is_no_text_makes_it_unknown_who_used_it() {
    let lab = Lab::new();
    write_at(&lab.root.join(OsStr::from_bytes(b"bad\xff.txt")), b"1");
    let check = || {
        let changes = lab.changes();
        assert_eq!(changes.files.len(), 1);
        assert_eq!(changes.unknown, ["the name of \"bad\u{fffd}.txt\" is not UTF-8, so nobody can tell who used it"]);
    };
    check();
    lab.commit("bad");
    assert_eq!(lab.told(), [""; 0]);
    write_at(&lab.root.join(OsStr::from_bytes(b"bad\xff.txt")), b"2");
    check();
}

#[test]
fn names_that_differ_in_case() {
    let lab = Lab::new();
    lab.write("B.txt", "other\n");
    assert_eq!(lab.told(), ["B.txt untracked"]);
    lab.git(&["config", "core.ignoreCase", "true"]);
    lab.write("dir/c.txt", "x");
    assert_eq!(lab.changes().touching("DIR/C.TXT").count(), 1);
}

#[test]
fn a_merge_that_is_not_over() {
    let lab = Lab::new();
    lab.write("gone.txt", "gone\n");
    lab.commit("before");
    lab.git(&["switch", "--quiet", "-c", "other"]);
    lab.write("a.py", "def f():\n    return 3\n");
    lab.write("dir/c.txt", "theirs\n");
    lab.write("gone.txt", "theirs\n");
    lab.git(&["rm", "--quiet", "b.txt"]);
    lab.commit("theirs");
    lab.git(&["switch", "--quiet", "main"]);
    lab.write("a.py", "def f():\n    return 4\n");
    lab.write("b.txt", "ours\n");
    lab.git(&["rm", "--quiet", "gone.txt"]);
    lab.commit("ours");
    let mut merge = std::process::Command::new("git");
    merge.args(["merge", "--quiet", "other"]).current_dir(&lab.root);
    merge.env("GIT_CONFIG_GLOBAL", "/dev/null").env("EMAIL", "ann@example.org");
    assert!(!merge.output().unwrap().status.success());
    // `b.txt` equals our side, `gone.txt` equals theirs.
    let told: Vec<_> = lab.told().iter().map(|line| line.split(' ').next().unwrap().to_owned()).collect();
    assert_eq!(told, ["a.py", "dir/c.txt", "gone.txt"]);
    lab.write("a.py", "def f():\n    return 4\n");
    assert!(!lab.told().iter().any(|line| line.starts_with("a.py")));
}

#[test]
fn line_ends_as_git_sees_them() {
    let lab = Lab::new();
    lab.git(&["config", "core.autocrlf", "true"]);
    lab.write("b.txt", "one\r\n");
    lab.write("a.py", "def f():\r\n    return 1\r\n\r\ndef g():\r\n    return 2\r\n");
    assert_eq!(lab.told(), [""; 0]);
    lab.write("b.txt", "one\r\ntwo\r\n");
    lab.write("a.py", "def f():\r\n    return 1\r\n\r\ndef g():\r\n    return 3\r\n");
    assert_eq!(lab.told(), ["a.py modified g|g", "b.txt modified"]);
}

#[test]
fn pointers_to_large_files() {
    let lab = Lab::new();
    let pointer =
        |size| format!("version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize {size}\n", "a".repeat(64));
    lab.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n");
    lab.write("big.bin", &pointer(1));
    lab.commit("pointer");
    assert_eq!(lab.told(), [""; 0]);
    lab.write("big.bin", &pointer(2));
    assert_eq!(lab.told(), ["big.bin modified"]);
    // With a filter, the filtered text counts.
    lab.git(&["config", "filter.lfs.clean", "sed s/real/version/"]);
    lab.write("big.bin", &pointer(1).replace("version", "real"));
    assert_eq!(lab.told(), [""; 0]);
    // A failing filter hides nothing.
    lab.git(&["config", "filter.lfs.clean", "false"]);
    lab.git(&["config", "filter.lfs.required", "true"]);
    assert_eq!(lab.told(), ["big.bin modified"]);
}

#[test]
fn a_file_that_cannot_be_read_counts_as_changed() {
    let lab = Lab::new();
    fs::remove_file(lab.root.join("b.txt")).unwrap();
    // A link to itself is unreadable, even for root.
    symlink("b.txt", lab.root.join("b.txt")).unwrap();
    assert_eq!(lab.told(), ["b.txt type"]);
}

#[test]
fn huge_files() {
    let lab = Lab::new();
    let file = fs::File::create(lab.root.join("huge.py")).unwrap();
    file.set_len(64 << 20).unwrap();
    lab.commit("huge");
    assert_eq!(lab.told(), [""; 0]);
    file.set_len((64 << 20) + 1).unwrap();
    assert_eq!(lab.told(), ["huge.py modified"]);
}

#[test]
fn submodules() {
    let (lab, library) = (Lab::new(), Lab::new());
    lab.git(&["submodule", "--quiet", "add", library.root.to_str().unwrap(), "vendor/lib"]);
    lab.git(&["config", "--file", ".gitmodules", "submodule.vendor/lib.ignore", "all"]);
    lab.git(&["config", "submodule.vendor/lib.ignore", "all"]);
    lab.commit("with a submodule");
    assert_eq!(lab.told(), [""; 0]);
    let inside = lab.root.join("vendor/lib");
    let reset = || git_at(&inside, &["checkout", "--quiet", "--force", "origin/main"]);

    write_at(&inside.join("b.txt"), b"dirt\n");
    assert_eq!(lab.told(), ["vendor/lib submodule"]);
    assert_eq!(lab.changes().touching("vendor/lib/b.txt").count(), 1);
    reset();
    write_at(&inside.join("new.txt"), b"untracked\n");
    assert_eq!(lab.told(), ["vendor/lib submodule"]);
    fs::remove_file(inside.join("new.txt")).unwrap();
    assert_eq!(lab.told(), [""; 0]);

    git_at(&inside, &["update-index", "--assume-unchanged", "b.txt"]);
    assert_eq!(lab.told(), [""; 0]);
    write_at(&inside.join("b.txt"), b"hidden dirt\n");
    assert_eq!(lab.told(), ["vendor/lib submodule"]);
    git_at(&inside, &["update-index", "--no-assume-unchanged", "b.txt"]);
    reset();

    git_at(&inside, &["commit", "--quiet", "--allow-empty", "-m", "another"]);
    assert_eq!(lab.told(), ["vendor/lib submodule"]);
    lab.git(&["rm", "--quiet", "--force", "vendor/lib"]);
    assert!(lab.told().contains(&"vendor/lib submodule".to_owned()));
}

#[test]
fn a_submodule_that_is_not_checked_out() {
    let (lab, library) = (Lab::new(), Lab::new());
    lab.git(&["submodule", "--quiet", "add", library.root.to_str().unwrap(), "lib"]);
    lab.commit("with a submodule");
    lab.git(&["submodule", "--quiet", "deinit", "--force", "lib"]);
    assert_eq!(lab.told(), ["lib submodule"]);
    assert!(lab.find().clean_tree().unwrap().is_some());
    assert_eq!(super::chosen(&lab.base(&[])).1, &unflake_model::BaseChoice::Parent);
    fs::remove_dir(lab.root.join("lib")).unwrap();
    assert_eq!(lab.told(), ["lib submodule"]);
    write_at(&lab.root.join("lib/own.txt"), b"not of the submodule\n");
    assert_eq!(lab.changes().touching("lib/own.txt").count(), 1);
    assert!(lab.find().clean_tree().unwrap().is_none());
}

#[test]
fn a_repository_inside_that_nobody_knows_is_one_path() {
    let (lab, other) = (Lab::new(), Lab::new());
    git_at(&lab.root, &["clone", "--quiet", other.root.to_str().unwrap(), "nested"]);
    assert_eq!(lab.told(), ["nested untracked"]);
    assert_eq!(lab.changes().touching("nested/dir/c.txt").count(), 1);
}

#[test]
fn submodules_of_submodules_and_what_they_ignore() {
    let (lab, middle, library) = (Lab::new(), Lab::new(), Lab::new());
    middle.git(&["submodule", "--quiet", "add", library.root.to_str().unwrap(), "inner"]);
    middle.git(&["config", "--file", ".gitmodules", "submodule.inner.ignore", "all"]);
    middle.write(".gitignore", "*.so\n");
    middle.commit("with a submodule");
    lab.git(&["submodule", "--quiet", "add", middle.root.to_str().unwrap(), "outer"]);
    lab.git(&["submodule", "--quiet", "update", "--init", "--recursive"]);
    lab.commit("with both");
    assert_eq!(lab.told(), [""; 0]);
    lab.write("outer/built.so", "x");
    assert_eq!(lab.told(), [""; 0]);
    assert!(lab.changes().ignores("outer/built.so") && !lab.changes().ignores("outer/b.txt"));
    lab.write("outer/inner/new.txt", "dirt deep down\n");
    assert_eq!(lab.told(), ["outer submodule"]);
}

#[test]
fn a_partial_clone_fetches_nothing() {
    let lab = Lab::new();
    lab.write("a.py", "def f():\n    return 5\n");
    lab.git(&["mv", "b.txt", "moved.txt"]);
    lab.write("moved.txt", "one and a half\n");
    lab.commit("second");
    lab.git(&["config", "uploadpack.allowFilter", "true"]);
    lab.git(&["config", "uploadpack.allowAnySHA1InWant", "true"]);
    let room = tempfile::TempDir::new().unwrap();
    let root = room.path().canonicalize().unwrap().join("clone");
    let url = format!("file://{}", lab.root.display());
    git_at(room.path(), &["clone", "--quiet", "--filter=blob:none", &url, root.to_str().unwrap()]);
    let copy = Lab { root, room };
    let missing = || copy.git(&["rev-list", "--objects", "--all", "--missing=print"]).matches('?').count();
    let before = missing();
    assert!(before > 0);
    let changes = copy.changes_since("HEAD^");
    let told: Vec<_> = changes.files.iter().map(super::spell).collect();
    assert_eq!(told, ["a.py modified", "b.txt deleted", "moved.txt added"]);
    assert_eq!(missing(), before);
}

#[test]
fn variables_of_a_hook_do_not_lead_astray() {
    let mut again = std::process::Command::new(std::env::current_exe().unwrap());
    again.args(["--exact", "tests::changes::staged", "tests::changes::mode_only_and_mode_with_contents"]);
    for name in ["GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"] {
        again.env(name, "/nonexistent");
    }
    let output = again.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("2 passed"), "{said}");
}
