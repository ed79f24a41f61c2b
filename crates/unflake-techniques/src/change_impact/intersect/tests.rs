//! Tests of `intersect`.

use std::path::PathBuf;

use unflake_model::{Base, BaseChoice, ChangedFunctions, NameUsers};

use super::*;

fn changed(files: &[(&str, ChangeKind)]) -> Changes {
    let change = |(path, kind): &(&str, ChangeKind)| FileChange {
        path: (*path).to_owned(),
        kind: kind.clone(),
        functions: None,
    };
    Changes {
        base: Base { revision: "1".repeat(40), chosen: BaseChoice::Head },
        head: None,
        root: PathBuf::from("/p"),
        files: files.iter().map(change).collect(),
        ignored: vec!["local.cfg".to_owned()],
        caches: Default::default(),
        new_directories: Default::default(),
        for_all: Vec::new(),
        for_directory: Vec::new(),
        by_function: Vec::new(),
        descriptive: Default::default(),
        for_installation: Default::default(),
        ignore_case: false,
        unknown: Vec::new(),
    }
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn depends() -> Dependencies {
    Dependencies {
        root: PathBuf::from("/p"),
        executed: [("tests/test_a.py".to_owned(), None), ("shop/cart.py".to_owned(), None)].into(),
        read: set(&["data/prices.json"]),
        listed: set(&["plugins"]),
        looked: set(&["templates"]),
        missed: set(&["shop/local_settings.py", "extra"]),
        searched: [("".to_owned(), set(&["json", "shop"])), ("tests".to_owned(), set(&["helpers"]))].into(),
        ..Dependencies::default()
    }
}

fn touched_how(path: &str, kind: ChangeKind) -> Option<String> {
    let overlap = intersect(&changed(&[(path, kind)]), &depends(), Granularity::File);
    assert_eq!(overlap.unknown, Vec::<String>::new());
    overlap.touched.first().map(|touch| touch.how.clone())
}

#[test]
fn every_kind_of_dependency_is_touched_by_its_change_only() {
    use ChangeKind::*;
    let check = |path: &str, kind: ChangeKind, how: Option<&str>| {
        assert_eq!(touched_how(path, kind.clone()).as_deref(), how, "{path} {kind:?}");
    };
    check("shop/cart.py", Modified, Some("is run by it"));
    check("shop/cart.py", Deleted, Some("is run by it"));
    check("shop/cart.py", ModeOnly, Some("is run by it"));
    check("shop/mail.py", Modified, None);
    check("shop/new.py", Renamed { from: "shop/cart.py".to_owned() }, Some("is run by it"));
    check("shop", Submodule, Some("is run by it"));
    check("data/prices.json", TypeChanged, Some("is read by it"));
    check("plugins/more.txt", Untracked, Some("is in a directory that it lists"));
    check("plugins/deep/more.txt", Added, Some("is in a directory that it lists"));
    check("plugins/there.txt", Modified, None);
    check("templates/a.html", Deleted, Some("is in a directory that it looks for"));
    check("templates/a.html", Added, None);
    check("shop/local_settings.py", Untracked, Some("is looked for by it"));
    check("extra/a/b.txt", Added, Some("is below a path that it looks for"));
    check("json.py", Untracked, Some("is where it looks for a module"));
    check("json/__init__.py", Added, Some("is where it looks for a module"));
    check("json.abi3-x86_64.so", Untracked, Some("is where it looks for a module"));
    check("jsonlib.py", Untracked, None);
    check("json.egg-info/PKG-INFO", Added, None);
    check("tests/helpers.py", Renamed { from: "old/helpers.py".to_owned() }, Some("is where it looks for a module"));
    check("docs/helpers.py", Added, None);
    check("docs/readme.md", Modified, None);
}

#[test]
fn a_looked_up_directory_may_be_new() {
    let mut changes = changed(&[("templates/a.html", ChangeKind::Added)]);
    assert!(intersect(&changes, &depends(), Granularity::File).is_empty());
    changes.new_directories.insert("templates".to_owned());
    assert_eq!(intersect(&changes, &depends(), Granularity::File).touched.len(), 1);
}

#[test]
fn global_inputs_affect_every_test() {
    let mut changes = changed(&[("tox.ini", ChangeKind::Modified)]);
    assert!(intersect(&changes, &depends(), Granularity::File).is_empty());
    changes.for_all.push("tox.ini".to_owned());
    assert_eq!(intersect(&changes, &depends(), Granularity::File).touched[0].how, "counts for every test");
}

#[test]
fn inputs_of_a_directory_affect_what_uses_it() {
    let touched = |path: &str| {
        let mut changes = changed(&[(path, ChangeKind::Modified)]);
        changes.for_directory.push(path.to_owned());
        intersect(&changes, &depends(), Granularity::File).touched.len()
    };
    assert_eq!((touched("setup.x"), touched("shop/setup.x"), touched("examples/setup.x")), (1, 1, 0));
}

#[test]
fn paths_of_a_nested_project_are_relative_to_the_repository() {
    let on = Dependencies { root: PathBuf::from("/p/service"), ..depends() };
    let meets = |path: &str, kind| !intersect(&changed(&[(path, kind)]), &on, Granularity::File).is_empty();
    assert!(meets("service/shop/cart.py", ChangeKind::Modified));
    assert!(meets("service/json.py", ChangeKind::Added));
    assert!(!meets("shop/cart.py", ChangeKind::Modified));
    let elsewhere = Dependencies { root: PathBuf::from("/other"), ..depends() };
    let overlap = intersect(&changed(&[]), &elsewhere, Granularity::File);
    assert!(overlap.unknown[0].contains("known only for /p"), "{overlap:?}");
}

#[test]
fn functions_are_compared_only_where_both_sides_know_them() {
    let mut changes = changed(&[("shop/cart.py", ChangeKind::Modified)]);
    let functions = |names: &[&str], bodies: &[&str]| ChangedFunctions {
        before: set(names),
        after: set(names),
        bodies: set(bodies),
        ..ChangedFunctions::default()
    };
    changes.files[0].functions = Some(functions(&["Cart.pay"], &[]));
    let entered = |names: &[&str]| Dependencies {
        root: PathBuf::from("/p"),
        executed: [("shop/cart.py".to_owned(), Some(set(names)))].into(),
        ..Dependencies::default()
    };
    let met = |changes: &Changes, on: &Dependencies, by| {
        intersect(changes, on, by).touched.pop().map(|touch| touch.functions)
    };
    let both = Granularity::Function;
    assert_eq!(met(&changes, &entered(&["<module>", "Cart.add"]), both), None);
    assert_eq!(met(&changes, &entered(&["<module>", "Cart.pay"]), both), Some(vec!["Cart.pay".to_owned()]));
    assert_eq!(met(&changes, &entered(&["Cart.add"]), Granularity::File), Some(Vec::new()));
    assert_eq!(met(&changes, &depends(), both), Some(Vec::new()), "which functions it entered is not known");
    changes.files[0].functions = Some(functions(&["<module>"], &["<module>"]));
    assert_eq!(met(&changes, &entered(&["Cart.add"]), both), Some(vec!["<module>".to_owned()]));
    changes.files[0].functions = Some(functions(&[], &[]));
    assert_eq!(met(&changes, &entered(&["Cart.add"]), both), None, "comments only");
    changes.for_all.push("shop/cart.py".to_owned());
    assert_eq!(met(&changes, &entered(&["Cart.add"]), both), None, "comments only");
    assert!(met(&changes, &entered(&["Cart.add"]), Granularity::File).is_some());
}

#[test]
fn unknown_dependencies_are_reported() {
    let unknown = |changes: &Changes, on: &Dependencies| intersect(changes, on, Granularity::File).unknown.join("; ");
    let unseen = Dependencies { unknown: vec!["git was started".to_owned()], ..depends() };
    assert_eq!(unknown(&changed(&[]), &unseen), "git was started");
    let later = Dependencies { after: 2, ..depends() };
    assert_eq!(unknown(&changed(&[]), &later), "2 attempts ran before it in its process");
    let mut ignored = Dependencies { read: set(&["local.cfg"]), ..depends() };
    assert!(unknown(&changed(&[]), &ignored).contains("which git ignores"));
    ignored.written = set(&["local.cfg"]);
    assert!(unknown(&changed(&[]), &ignored).contains("which git ignores"), "what was in it before?");
    ignored.missed = set(&["local.cfg"]);
    assert_eq!(unknown(&changed(&[]), &ignored), "", "it made that itself");
    let listing = Dependencies { listed: set(&["."]), ..depends() };
    assert!(unknown(&changed(&[]), &listing).contains("it lists a directory with local.cfg"));
    let made = Dependencies { written: set(&["local.cfg"]), missed: set(&["local.cfg"]), ..listing.clone() };
    assert_eq!(unknown(&changed(&[]), &made), "", "it made that itself");
    let mut changes = changed(&[]);
    changes.caches.insert("local.cfg".to_owned());
    assert_eq!(unknown(&changes, &listing), "", "a cache comes and goes");
    let mut changes = changed(&[]);
    changes.unknown.push("a submodule may have changed".to_owned());
    assert_eq!(unknown(&changes, &depends()), "a submodule may have changed");
}

#[test]
fn the_referring_line_is_reported() {
    let mut on = depends();
    on.via.insert("shop/cart.py".to_owned(), "tests/test_a.py:7".to_owned());
    let overlap = intersect(&changed(&[("shop/cart.py", ChangeKind::Modified)]), &on, Granularity::File);
    assert_eq!(overlap.touched[0].via.as_deref(), Some("tests/test_a.py:7"));
}

#[test]
fn names_count_for_those_who_ran_the_file_and_use_them() {
    let mut changes = changed(&[("shop/rates.py", ChangeKind::Modified)]);
    let functions = |file: &str, names: &[&str]| (file.to_owned(), set(names));
    let change =
        |users: Option<NameUsers>| ChangedFunctions { names: set(&["RATE"]), users, ..ChangedFunctions::default() };
    let users = NameUsers {
        functions: [functions("shop/cart.py", &["Cart.pay"]), functions("shop/till.py", &["<module>"])].into(),
        texts: set(&["shop/page.html"]),
    };
    let entered = |files: &[(&str, &[&str])], read: &[&str]| Dependencies {
        root: PathBuf::from("/p"),
        executed: files.iter().map(|(file, names)| ((*file).to_owned(), Some(set(names)))).collect(),
        read: set(read),
        ..Dependencies::default()
    };
    let rates = ("shop/rates.py", &["<module>"][..]);
    let mut check = |users: &Option<NameUsers>, on: &Dependencies, expected: bool| {
        changes.files[0].functions = Some(change(users.clone()));
        assert_eq!(!intersect(&changes, on, Granularity::Function).is_empty(), expected, "{on:?}");
    };
    let users = Some(users);
    check(&users, &entered(&[rates], &[]), false);
    check(&users, &entered(&[rates, ("shop/cart.py", &["<module>", "Cart.add"])], &[]), false);
    check(&users, &entered(&[rates, ("shop/cart.py", &["<module>", "Cart.pay"])], &[]), true);
    check(&users, &entered(&[rates, ("shop/cart.py", &["Cart.pay.<locals>.<lambda>"])], &[]), true);
    check(&users, &entered(&[("shop/cart.py", &["<module>", "Cart.pay"])], &[]), false);
    check(&users, &entered(&[rates, ("shop/till.py", &["f"])], &[]), true);
    check(&users, &entered(&[rates], &["shop/page.html"]), true);
    check(&None, &entered(&[rates], &[]), true);
}

#[test]
fn a_configuration_that_only_describes_matters_to_those_who_read_it() {
    let mut changes = changed(&[("pyproject.toml", ChangeKind::Modified)]);
    let on = |read: &[&str]| Dependencies {
        root: PathBuf::from("/p"),
        configured: set(&["pyproject.toml"]),
        read: set(read),
        ..Dependencies::default()
    };
    let is_met = |changes: &Changes, on: &Dependencies| !intersect(changes, on, Granularity::File).is_empty();
    assert!(is_met(&changes, &on(&[])));
    changes.descriptive.insert("pyproject.toml".to_owned());
    assert!(!is_met(&changes, &on(&[])) && is_met(&changes, &on(&["pyproject.toml"])));
}

#[test]
fn code_among_the_global_inputs_counts_by_function_where_that_is_known() {
    let mut changes = changed(&[("conf.py", ChangeKind::Modified)]);
    changes.for_all.push("conf.py".to_owned());
    changes.files[0].functions = Some(ChangedFunctions { before: set(&["f"]), ..ChangedFunctions::default() });
    let on = |names: &[&str]| Dependencies {
        root: PathBuf::from("/p"),
        executed: [("conf.py".to_owned(), Some(set(names)))].into(),
        ..Dependencies::default()
    };
    let is_met = |changes: &Changes, names: &[&str], by| !intersect(changes, &on(names), by).is_empty();
    assert!(is_met(&changes, &["g"], Granularity::Function));
    changes.by_function.push("conf.py".to_owned());
    assert!(!is_met(&changes, &["g"], Granularity::Function) && is_met(&changes, &["f"], Granularity::Function));
    assert!(is_met(&changes, &["g"], Granularity::File));
}
