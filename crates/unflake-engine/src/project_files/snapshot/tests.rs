//! Tests of `snapshot`.

use std::collections::BTreeSet;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use crate::project_files::backup::Backups;
use crate::project_files::snapshot::ProjectSnapshot;

fn take(project: &Path, place: &Path) -> ProjectSnapshot {
    let backups = Backups::new(place);
    ProjectSnapshot::take(
        &[project.to_owned(), project.join("sub")],
        BTreeSet::from(["py".into()]),
        &["__pycache__"],
        &place.join("files"),
        backups,
    )
    .unwrap()
}

#[test]
fn every_kind_of_change_is_restored() {
    let (project, place) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let at = |name: &str| project.path().join(name);
    fs::create_dir_all(at("sub/deep")).unwrap();
    fs::write(at("sub/deep/data"), "data").unwrap();
    fs::write(at("script"), "run").unwrap();
    fs::set_permissions(at("script"), Permissions::from_mode(0o755)).unwrap();
    symlink("script", at("link")).unwrap();
    let mut snapshot = take(project.path(), place.path());
    assert!(!snapshot.may_have_changed());

    fs::remove_dir_all(at("sub")).unwrap();
    fs::write(at("sub"), "a file now").unwrap();
    fs::remove_file(at("link")).unwrap();
    fs::create_dir(at("link")).unwrap();
    fs::write(at("link/inside"), "").unwrap();
    fs::set_permissions(at("script"), Permissions::from_mode(0o644)).unwrap();
    symlink("nowhere", at("dangling")).unwrap();
    assert!(snapshot.may_have_changed());
    snapshot.restore().unwrap();

    assert_eq!(fs::read_to_string(at("sub/deep/data")).unwrap(), "data");
    assert_eq!(fs::read_link(at("link")).unwrap(), Path::new("script"));
    assert_eq!(at("script").metadata().unwrap().permissions().mode() & 0o777, 0o755);
    assert!(at("dangling").symlink_metadata().is_err());
    assert!(snapshot.unrestored.is_empty() && !snapshot.may_have_changed());
    // A recreated directory is watched again.
    fs::write(at("sub/deep/data"), "other").unwrap();
    assert!(snapshot.may_have_changed());
    snapshot.restore().unwrap();
    assert_eq!(fs::read_to_string(at("sub/deep/data")).unwrap(), "data");
}

#[test]
fn caches_of_tools_are_ignored() {
    let (project, place) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut snapshot = take(project.path(), place.path());
    fs::create_dir(project.path().join("__pycache__")).unwrap();
    fs::write(project.path().join("__pycache__/x.pyc"), "").unwrap();
    assert!(!snapshot.may_have_changed());
    snapshot.restore().unwrap();
    assert!(project.path().join("__pycache__/x.pyc").exists());
}

#[test]
fn files_that_this_process_has_open_are_ignored() {
    let (project, place) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let history = project.path().join("history.db");
    let _open = File::create(&history).unwrap();
    let mut snapshot = take(project.path(), place.path());
    fs::write(&history, "more").unwrap();
    fs::write(project.path().join("history.db-wal"), "more").unwrap();
    assert!(!snapshot.may_have_changed());
    fs::write(project.path().join("history.db.txt"), "").unwrap();
    assert!(snapshot.may_have_changed());
    snapshot.restore().unwrap();
    assert_eq!(fs::read_to_string(&history).unwrap(), "more");
    assert!(project.path().join("history.db-wal").exists() && !project.path().join("history.db.txt").exists());
}

#[test]
fn source_files_are_not_overwritten() {
    let (project, place) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let at = |name: &str| project.path().join(name);
    fs::write(at("edited.py"), "old").unwrap();
    let mut snapshot = take(project.path(), place.path());
    fs::write(at("edited.py"), "new").unwrap();
    fs::write(at("generated.py"), "new").unwrap();
    snapshot.restore().unwrap();
    assert_eq!(fs::read_to_string(at("edited.py")).unwrap(), "new");
    assert!(!at("generated.py").exists());
    assert_eq!(snapshot.unrestored, BTreeSet::from(["edited.py".into()]));
    // From now on it counts as unchanged.
    assert!(!snapshot.may_have_changed());
}

#[test]
fn nothing_is_restored_after_a_checkout() {
    let (project, place) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let at = |name: &str| project.path().join(name);
    fs::create_dir_all(at(".git/logs")).unwrap();
    fs::write(at("data"), "old").unwrap();
    let mut snapshot = take(project.path(), place.path());
    fs::write(at(".git/logs/HEAD"), "checkout: moving from main to other").unwrap();
    fs::write(at("data"), "new").unwrap();
    snapshot.restore().unwrap();
    assert_eq!(fs::read_to_string(at("data")).unwrap(), "new");
    assert_eq!(snapshot.unrestored, BTreeSet::from(["data".into()]));
    fs::write(at("data"), "newer").unwrap();
    snapshot.restore().unwrap();
    assert_eq!(fs::read_to_string(at("data")).unwrap(), "new");
}
