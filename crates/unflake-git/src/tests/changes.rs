//! Tests of each kind of change.

use std::fs;
use std::os::unix::fs::symlink;

use super::TestRepository;

#[test]
fn a_clean_tree_has_no_changes() {
    let repo = TestRepository::new();
    assert_eq!(repo.change_lines(), [""; 0]);
    assert_eq!(repo.find().clean_tree().unwrap(), Some(repo.git(&["rev-parse", "HEAD^{tree}"])));
    assert_eq!(repo.find().tree("main").unwrap(), repo.git(&["rev-parse", "HEAD^{tree}"]));
}

#[test]
fn rewritten_files_are_unchanged_and_the_index_is_not_refreshed() {
    let repo = TestRepository::new();
    let index = || fs::read(repo.root.join(".git/index")).unwrap();
    let text = fs::read(repo.root.join("b.txt")).unwrap();
    fs::remove_file(repo.root.join("b.txt")).unwrap();
    fs::write(repo.root.join("b.txt"), text).unwrap();
    let before = index();
    assert_eq!(repo.change_lines(), [""; 0]);
    assert_eq!(index(), before);
}

#[test]
fn unstaged_changes_are_found() {
    let repo = TestRepository::new();
    repo.write("b.txt", "two\n");
    fs::remove_file(repo.root.join("dir/c.txt")).unwrap();
    repo.write("new.py", "x = 1\n");
    repo.write("dir/deep/new.txt", "");
    assert_eq!(
        repo.change_lines(),
        ["b.txt modified", "dir/c.txt deleted", "dir/deep/new.txt untracked", "new.py untracked"]
    );
    assert_eq!(repo.changes().new_directories.into_iter().collect::<Vec<_>>(), ["dir/deep"]);
    assert_eq!(repo.find().clean_tree().unwrap(), None);
}

#[test]
fn changes_of_the_same_length_and_time_are_found() {
    let repo = TestRepository::new();
    for text in ["two\n", "owt\n"] {
        repo.write("b.txt", text);
        assert_eq!(repo.change_lines(), ["b.txt modified"]);
    }
}

#[test]
fn staged_changes_are_found() {
    let repo = TestRepository::new();
    repo.write("b.txt", "two\n");
    repo.write("new.txt", "new\n");
    repo.git(&["rm", "--quiet", "dir/c.txt"]);
    repo.git(&["add", "--all"]);
    assert_eq!(repo.change_lines(), ["b.txt modified", "dir/c.txt deleted", "new.txt added"]);
}

#[test]
fn staged_and_reverted_is_no_change() {
    let repo = TestRepository::new();
    repo.write("b.txt", "two\n");
    repo.git(&["add", "--all"]);
    repo.write("b.txt", "one\n");
    assert_eq!(repo.change_lines(), [""; 0]);
}

#[test]
fn intent_to_add_is_an_addition() {
    let repo = TestRepository::new();
    repo.write("new.txt", "new\n");
    repo.git(&["add", "--intent-to-add", "new.txt"]);
    assert_eq!(repo.change_lines(), ["new.txt added"]);
}

#[test]
fn files_removed_from_the_index_are_found() {
    let repo = TestRepository::new();
    repo.git(&["rm", "--quiet", "--cached", "b.txt"]);
    assert_eq!(repo.change_lines(), ["b.txt modified"]);
    repo.write(".gitignore", "b.txt\n");
    assert_eq!(repo.change_lines(), [".gitignore untracked", "b.txt deleted"]);
}

#[test]
fn committed_changes_are_found() {
    let repo = TestRepository::new();
    repo.git(&["mv", "b.txt", "moved.txt"]);
    repo.write("extra.txt", "more\n");
    repo.commit("second");
    let changes = repo.changes_since("HEAD^");
    let lines: Vec<_> = changes.files.iter().map(super::change_line).collect();
    assert_eq!(lines, ["extra.txt added", "moved.txt renamed from b.txt"]);
    assert_eq!(changes.touching("b.txt").count(), 1);
    assert_eq!(changes.head, Some(repo.git(&["rev-parse", "HEAD"])));
    assert_eq!((changes.base.revision, changes.root), (repo.git(&["rev-parse", "HEAD^"]), repo.root.clone()));
}

#[test]
fn mode_changes_are_found() {
    let repo = TestRepository::new();
    repo.make_executable("a.py");
    repo.make_executable("b.txt");
    assert_eq!(repo.change_lines(), ["a.py mode", "b.txt mode"]);
    repo.git(&["add", "--all"]);
    repo.write("a.py", "def f():\n    return 1\n\ndef g():\n    return 3\n");
    assert_eq!(repo.change_lines(), ["a.py modified", "b.txt mode"]);
    repo.git(&["config", "core.fileMode", "false"]);
    assert_eq!(repo.change_lines(), ["a.py modified", "b.txt mode"]);
}

#[test]
fn symbolic_links_are_compared() {
    let repo = TestRepository::new();
    symlink("b.txt", repo.root.join("link")).unwrap();
    symlink("dir", repo.root.join("way")).unwrap();
    repo.commit("links");
    assert_eq!(repo.change_lines(), [""; 0]);
    let again = |path: &str, target: &str| {
        fs::remove_file(repo.root.join(path)).unwrap();
        symlink(target, repo.root.join(path)).unwrap();
    };
    again("link", "a.py");
    again("b.txt", "a.py");
    fs::remove_file(repo.root.join("way")).unwrap();
    repo.write("way", "dir");
    assert_eq!(repo.change_lines(), ["b.txt type", "link modified", "way type"]);
    assert_eq!(repo.changes().touching("way/c.txt").count(), 1);
}

#[test]
fn type_changes_of_directories_are_found() {
    let repo = TestRepository::new();
    fs::rename(repo.root.join("dir"), repo.parent.path().join("away")).unwrap();
    symlink(repo.parent.path().join("away"), repo.root.join("dir")).unwrap();
    fs::remove_file(repo.root.join("b.txt")).unwrap();
    repo.write("b.txt/inner", "x");
    assert_eq!(repo.change_lines(), ["b.txt deleted", "b.txt/inner untracked", "dir untracked", "dir/c.txt deleted"]);
}

#[test]
fn changed_python_functions_are_found() {
    let repo = TestRepository::new();
    let check = |text: &str, expected: &str| {
        repo.write("a.py", text);
        assert_eq!(repo.change_lines(), [expected], "{text}");
    };
    check("def f():\n    return 1\n\ndef g():\n    return 3\n", "a.py modified g|g");
    check("# why\ndef f():\n    return 1  # one\n\n\ndef g():\n    return 2\n", "a.py modified |");
    check("def f():\r\n    return 1\r\n\r\ndef g():\r\n    return 2\r\n", "a.py modified |");
    check("def f():\n    return 1\n", "a.py modified g|");
    check("def f(:\n    return 1\n", "a.py modified");
    check(&format!("x = 1\n{}", "#".repeat(3 << 20)), "a.py modified");
    repo.write("a.py", "def f():\n    return 1\n\ndef g():\n    return 3\n");
    repo.git(&["add", "--all"]);
    assert_eq!(repo.change_lines(), ["a.py modified g|g"]);
    repo.write(".gitattributes", "*.py filter=other\n");
    assert_eq!(repo.change_lines(), [".gitattributes untracked", "a.py modified"]);
    repo.git(&["add", "--all"]);
    repo.git(&["commit", "--quiet", "-m", "attributes"]);
    repo.write("a.py", "def f():\n    return 1\n\ndef g():\n    return 4\n");
    assert_eq!(repo.change_lines(), ["a.py modified"]);
    // Unusual attributes never hide a change.
    repo.write(".gitattributes", "*.py filter=\nz.py ident\n");
    repo.write("z.py", "x = 1\n");
    repo.commit("more attributes");
    repo.write("a.py", "def f():\n    return 1\n\ndef g():\n    return 5\n");
    repo.write("z.py", "x = 2\n");
    assert_eq!(repo.change_lines(), ["a.py modified", "z.py modified"]);
}

#[test]
fn users_of_changed_names_are_found_in_the_whole_repository() {
    let repo = TestRepository::empty();
    repo.write("shop/__init__.py", "from shop.rates import RATE as VALUE\n");
    repo.write("shop/rates.py", "RATE = 1\nTAX = 2\n");
    repo.write("shop/cart.py", "import shop\n\ndef pay():\n    return shop.VALUE\n\ndef add():\n    return TAX\n");
    repo.write("page.html", "{{ RATE }}");
    repo.write("other.html", "{{ RATES }}");
    repo.write("broken.py", "def f(:\n");
    repo.commit("base");
    let users = |text: &str| {
        repo.write("shop/rates.py", text);
        repo.changes().files[0].functions.clone().unwrap()
    };
    let found = users("RATE = 3\nTAX = 2\n");
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<std::collections::BTreeSet<_>>();
    assert_eq!((&found.names, found.bodies.is_empty()), (&names(&["RATE"]), true));
    let found = found.users.unwrap();
    assert_eq!(found.functions, [("shop/cart.py".to_owned(), names(&["pay"]))].into());
    assert_eq!(found.texts, names(&["page.html"]));
    // A name that is taken from a package may be a module.
    assert!(users("from shop.a import b\nRATE = 1\nTAX = 2\n").bodies.contains("<module>"));
    repo.write("shop/rates.py", "from shop import a\nRATE = 1\nTAX = 2\n");
    repo.commit("an import");
    assert!(users("from shop import a, b\nRATE = 1\nTAX = 2\n").bodies.is_empty());
    assert!(users("from shop import a, cart\nRATE = 1\nTAX = 2\n").bodies.contains("<module>"));
}

#[test]
fn configuration_that_only_describes_is_found() {
    let repo = TestRepository::empty();
    repo.write("settings.toml", "[project]\nversion = '1'\nname = 'shop'\n");
    repo.commit("base");
    let check = |text: &str, expected: bool| {
        repo.write("settings.toml", text);
        let base = repo.find().base(Some("HEAD"), &[]).unwrap();
        let keys = ["project.version"];
        let changes = repo.find().changes(&base, &["**/*.toml"], &[("**/settings.toml", &keys)], &[]).unwrap();
        assert_eq!((changes.descriptive.len() == 1, changes.for_all.is_empty()), (expected, expected), "{text}");
    };
    check("[project]\nversion = '2'\nname = 'shop'\n", true);
    check("[project]\nversion = '2'\nname = 'till'\n", false);
}

#[test]
fn configuration_that_says_what_to_install_is_found() {
    let repo = TestRepository::empty();
    let base = "[project]\nversion = '1'\ndependencies = []\n[tool.runner]\nquiet = true\n";
    repo.write("settings.toml", base);
    repo.commit("base");
    let check = |from: &str, to: &str, expected: bool| {
        repo.write("settings.toml", &base.replace(from, to));
        let base = repo.find().base(Some("HEAD"), &[]).unwrap();
        let (describes, installs) = (["project.version"], ["project.dependencies"]);
        let glob = "**/settings.toml";
        let changes = repo.find().changes(&base, &["**/*.toml"], &[(glob, &describes)], &[(glob, &installs)]).unwrap();
        let for_all = |changes: &unflake_model::Changes| changes.for_all.contains(&"settings.toml".to_owned());
        assert!(for_all(&changes), "{to}");
        assert_eq!(for_all(&changes.with_equal_installation()), !expected, "{to}");
        assert_eq!(changes.for_installation.len() == 1, expected, "{to}");
    };
    check("[]", "['a']", true);
    check("version = '1'\ndependencies = []", "version = '2'\ndependencies = ['a']", true);
    check("quiet = true", "quiet = false", false);
    check("[]\n[tool.runner]\nquiet = true", "['a']\n[tool.runner]\nquiet = false", false);
}

#[test]
fn ignored_files_are_listed_and_no_change() {
    let repo = TestRepository::new();
    repo.write(".gitignore", "*.local\n/build/\n");
    repo.commit("ignore");
    repo.write("settings.local", "x");
    repo.write("build/deep/out.o", "x");
    repo.write("dir/own.local", "x");
    let changes = repo.changes();
    assert_eq!((changes.files.len(), changes.unknown.len()), (0, 0));
    // Also in an untracked directory.
    repo.write("new/deep/own.local", "x");
    repo.write("new/deep/open", "x");
    repo.write("other/own.local", "x");
    assert_eq!(repo.change_lines(), ["new/deep/open untracked"]);
    assert!(repo.changes().ignores("new/deep/own.local") && repo.changes().ignores("other/own.local"));
    assert!(
        changes.ignores("settings.local") && changes.ignores("build/deep/out.o") && changes.ignores("dir/own.local")
    );
    assert!(!changes.ignores("dir/c.txt") && !changes.ignores("dir"));
}
