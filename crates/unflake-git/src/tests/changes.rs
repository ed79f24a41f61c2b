//! Tests of each kind of change.

use std::fs;
use std::os::unix::fs::symlink;

use super::Lab;

#[test]
fn nothing_changed() {
    let lab = Lab::new();
    assert_eq!(lab.told(), [""; 0]);
    assert_eq!(lab.find().clean_tree().unwrap(), Some(lab.git(&["rev-parse", "HEAD^{tree}"])));
    assert_eq!(lab.find().tree("main").unwrap(), lab.git(&["rev-parse", "HEAD^{tree}"]));
}

#[test]
fn files_that_were_only_written_anew_are_as_they_were_and_the_index_is_left_alone() {
    let lab = Lab::new();
    let index = || fs::read(lab.root.join(".git/index")).unwrap();
    let text = fs::read(lab.root.join("b.txt")).unwrap();
    fs::remove_file(lab.root.join("b.txt")).unwrap();
    fs::write(lab.root.join("b.txt"), text).unwrap();
    let before = index();
    assert_eq!(lab.told(), [""; 0]);
    assert_eq!(index(), before);
}

#[test]
fn in_the_working_tree() {
    let lab = Lab::new();
    lab.write("b.txt", "two\n");
    fs::remove_file(lab.root.join("dir/c.txt")).unwrap();
    lab.write("new.py", "x = 1\n");
    lab.write("dir/deep/new.txt", "");
    assert_eq!(lab.told(), ["b.txt modified", "dir/c.txt deleted", "dir/deep/new.txt untracked", "new.py untracked"]);
    assert_eq!(lab.changes().new_directories.into_iter().collect::<Vec<_>>(), ["dir/deep"]);
    assert_eq!(lab.find().clean_tree().unwrap(), None);
}

#[test]
fn of_the_same_length_in_the_same_moment() {
    let lab = Lab::new();
    for text in ["two\n", "owt\n"] {
        lab.write("b.txt", text);
        assert_eq!(lab.told(), ["b.txt modified"]);
    }
}

#[test]
fn staged() {
    let lab = Lab::new();
    lab.write("b.txt", "two\n");
    lab.write("new.txt", "new\n");
    lab.git(&["rm", "--quiet", "dir/c.txt"]);
    lab.git(&["add", "--all"]);
    assert_eq!(lab.told(), ["b.txt modified", "dir/c.txt deleted", "new.txt added"]);
}

#[test]
fn staged_and_taken_back_is_no_change() {
    let lab = Lab::new();
    lab.write("b.txt", "two\n");
    lab.git(&["add", "--all"]);
    lab.write("b.txt", "one\n");
    assert_eq!(lab.told(), [""; 0]);
}

#[test]
fn announced_but_not_added() {
    let lab = Lab::new();
    lab.write("new.txt", "new\n");
    lab.git(&["add", "--intent-to-add", "new.txt"]);
    assert_eq!(lab.told(), ["new.txt added"]);
}

#[test]
fn taken_out_of_the_index_and_still_there() {
    let lab = Lab::new();
    lab.git(&["rm", "--quiet", "--cached", "b.txt"]);
    assert_eq!(lab.told(), ["b.txt modified"]);
    lab.write(".gitignore", "b.txt\n");
    assert_eq!(lab.told(), [".gitignore untracked", "b.txt deleted"]);
}

#[test]
fn committed_since_the_base() {
    let lab = Lab::new();
    lab.git(&["mv", "b.txt", "moved.txt"]);
    lab.write("extra.txt", "more\n");
    lab.commit("second");
    let changes = lab.changes_since("HEAD^");
    let told: Vec<_> = changes.files.iter().map(super::spell).collect();
    assert_eq!(told, ["extra.txt added", "moved.txt renamed from b.txt"]);
    assert_eq!(changes.touching("b.txt").count(), 1);
    assert_eq!(changes.head, Some(lab.git(&["rev-parse", "HEAD"])));
    assert_eq!((changes.base.revision, changes.root), (lab.git(&["rev-parse", "HEAD^"]), lab.root.clone()));
}

#[test]
fn mode_only_and_mode_with_contents() {
    let lab = Lab::new();
    lab.make_executable("a.py");
    lab.make_executable("b.txt");
    assert_eq!(lab.told(), ["a.py mode", "b.txt mode"]);
    lab.git(&["add", "--all"]);
    lab.write("a.py", "def f():\n    return 1\n\ndef g():\n    return 3\n");
    assert_eq!(lab.told(), ["a.py modified", "b.txt mode"]);
    lab.git(&["config", "core.fileMode", "false"]);
    assert_eq!(lab.told(), ["a.py modified", "b.txt mode"]);
}

#[test]
fn links() {
    let lab = Lab::new();
    symlink("b.txt", lab.root.join("link")).unwrap();
    symlink("dir", lab.root.join("way")).unwrap();
    lab.commit("links");
    assert_eq!(lab.told(), [""; 0]);
    let again = |path: &str, target: &str| {
        fs::remove_file(lab.root.join(path)).unwrap();
        symlink(target, lab.root.join(path)).unwrap();
    };
    again("link", "a.py");
    again("b.txt", "a.py");
    fs::remove_file(lab.root.join("way")).unwrap();
    lab.write("way", "dir");
    assert_eq!(lab.told(), ["b.txt type", "link modified", "way type"]);
    assert_eq!(lab.changes().touching("way/c.txt").count(), 1);
}

#[test]
fn a_directory_that_became_a_link_and_a_file_that_became_a_directory() {
    let lab = Lab::new();
    fs::rename(lab.root.join("dir"), lab.room.path().join("away")).unwrap();
    symlink(lab.room.path().join("away"), lab.root.join("dir")).unwrap();
    fs::remove_file(lab.root.join("b.txt")).unwrap();
    lab.write("b.txt/inner", "x");
    assert_eq!(lab.told(), ["b.txt deleted", "b.txt/inner untracked", "dir untracked", "dir/c.txt deleted"]);
}

#[test]
fn functions_of_python() {
    let lab = Lab::new();
    let check = |text: &str, expected: &str| {
        lab.write("a.py", text);
        assert_eq!(lab.told(), [expected], "{text}");
    };
    check("def f():\n    return 1\n\ndef g():\n    return 3\n", "a.py modified g|g");
    check("# why\ndef f():\n    return 1  # one\n\n\ndef g():\n    return 2\n", "a.py modified |");
    check("def f():\r\n    return 1\r\n\r\ndef g():\r\n    return 2\r\n", "a.py modified |");
    check("def f():\n    return 1\n", "a.py modified <module>,g|<module>");
    check("def f(:\n    return 1\n", "a.py modified");
    check(&format!("x = 1\n{}", "#".repeat(3 << 20)), "a.py modified");
    lab.write("a.py", "def f():\n    return 1\n\ndef g():\n    return 3\n");
    lab.git(&["add", "--all"]);
    assert_eq!(lab.told(), ["a.py modified g|g"]);
    lab.write(".gitattributes", "*.py filter=other\n");
    assert_eq!(lab.told(), [".gitattributes untracked", "a.py modified"]);
    lab.git(&["add", "--all"]);
    lab.git(&["commit", "--quiet", "-m", "attributes"]);
    lab.write("a.py", "def f():\n    return 1\n\ndef g():\n    return 4\n");
    assert_eq!(lab.told(), ["a.py modified"]);
    // Unusual attributes never hide a change.
    lab.write(".gitattributes", "*.py filter=\nz.py ident\n");
    lab.write("z.py", "x = 1\n");
    lab.commit("more attributes");
    lab.write("a.py", "def f():\n    return 1\n\ndef g():\n    return 5\n");
    lab.write("z.py", "x = 2\n");
    assert_eq!(lab.told(), ["a.py modified", "z.py modified"]);
}

#[test]
fn ignored_files_are_no_change_and_no_secret() {
    let lab = Lab::new();
    lab.write(".gitignore", "*.local\n/build/\n");
    lab.commit("ignore");
    lab.write("settings.local", "x");
    lab.write("build/deep/out.o", "x");
    lab.write("dir/own.local", "x");
    let changes = lab.changes();
    assert_eq!((changes.files.len(), changes.unknown.len()), (0, 0));
    // Also in an untracked directory.
    lab.write("new/deep/own.local", "x");
    lab.write("new/deep/open", "x");
    lab.write("other/own.local", "x");
    assert_eq!(lab.told(), ["new/deep/open untracked"]);
    assert!(lab.changes().ignores("new/deep/own.local") && lab.changes().ignores("other/own.local"));
    assert!(
        changes.ignores("settings.local") && changes.ignores("build/deep/out.o") && changes.ignores("dir/own.local")
    );
    assert!(!changes.ignores("dir/c.txt") && !changes.ignores("dir"));
}
