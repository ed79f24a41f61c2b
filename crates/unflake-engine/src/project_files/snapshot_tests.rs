//! Files are put back, whatever was done to them.

use std::collections::BTreeSet;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use crate::project_files::backup::Displaced;
use crate::project_files::snapshot::Files;

fn look(project: &Path, place: &Path) -> Files {
    let displaced = Displaced::new(place);
    Files::look(
        &[project.to_owned(), project.join("sub")],
        BTreeSet::from(["py".into()]),
        &["__pycache__"],
        &place.join("files"),
        displaced,
    )
    .unwrap()
}

#[test]
fn whatever_was_done_is_undone() {
    let (project, place) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let at = |name: &str| project.path().join(name);
    fs::create_dir_all(at("sub/deep")).unwrap();
    fs::write(at("sub/deep/data"), "data").unwrap();
    fs::write(at("script"), "run").unwrap();
    fs::set_permissions(at("script"), Permissions::from_mode(0o755)).unwrap();
    symlink("script", at("link")).unwrap();
    let mut files = look(project.path(), place.path());
    assert!(!files.may_have_changed());

    fs::remove_dir_all(at("sub")).unwrap();
    fs::write(at("sub"), "a file now").unwrap();
    fs::remove_file(at("link")).unwrap();
    fs::create_dir(at("link")).unwrap();
    fs::write(at("link/inside"), "").unwrap();
    fs::set_permissions(at("script"), Permissions::from_mode(0o644)).unwrap();
    symlink("nowhere", at("dangling")).unwrap();
    assert!(files.may_have_changed());
    files.restore().unwrap();

    assert_eq!(fs::read_to_string(at("sub/deep/data")).unwrap(), "data");
    assert_eq!(fs::read_link(at("link")).unwrap(), Path::new("script"));
    assert_eq!(at("script").metadata().unwrap().permissions().mode() & 0o777, 0o755);
    assert!(at("dangling").symlink_metadata().is_err());
    assert!(files.left.is_empty() && !files.may_have_changed());
    // What was made anew is watched again.
    fs::write(at("sub/deep/data"), "other").unwrap();
    assert!(files.may_have_changed());
    files.restore().unwrap();
    assert_eq!(fs::read_to_string(at("sub/deep/data")).unwrap(), "data");
}

#[test]
fn what_tools_keep_for_themselves_is_nobodys_business() {
    let (project, place) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut files = look(project.path(), place.path());
    fs::create_dir(project.path().join("__pycache__")).unwrap();
    fs::write(project.path().join("__pycache__/x.pyc"), "").unwrap();
    assert!(!files.may_have_changed());
    files.restore().unwrap();
    assert!(project.path().join("__pycache__/x.pyc").exists());
}

#[test]
fn a_file_that_this_process_has_open_is_its_own() {
    let (project, place) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let history = project.path().join("history.db");
    let _open = File::create(&history).unwrap();
    let mut files = look(project.path(), place.path());
    fs::write(&history, "more").unwrap();
    fs::write(project.path().join("history.db-wal"), "more").unwrap();
    assert!(!files.may_have_changed());
    fs::write(project.path().join("history.db.txt"), "").unwrap();
    assert!(files.may_have_changed());
    files.restore().unwrap();
    assert_eq!(fs::read_to_string(&history).unwrap(), "more");
    assert!(project.path().join("history.db-wal").exists() && !project.path().join("history.db.txt").exists());
}

#[test]
fn source_is_left_and_said_to_be() {
    let (project, place) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let at = |name: &str| project.path().join(name);
    fs::write(at("edited.py"), "old").unwrap();
    let mut files = look(project.path(), place.path());
    fs::write(at("edited.py"), "new").unwrap();
    fs::write(at("generated.py"), "new").unwrap();
    files.restore().unwrap();
    assert_eq!(fs::read_to_string(at("edited.py")).unwrap(), "new");
    assert!(!at("generated.py").exists());
    assert_eq!(files.left, BTreeSet::from(["edited.py".into()]));
    // From now on it is as it is.
    assert!(!files.may_have_changed());
}

#[test]
fn whoever_goes_to_another_revision_is_left_alone() {
    let (project, place) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let at = |name: &str| project.path().join(name);
    fs::create_dir_all(at(".git/logs")).unwrap();
    fs::write(at("data"), "old").unwrap();
    let mut files = look(project.path(), place.path());
    fs::write(at(".git/logs/HEAD"), "checkout: moving from main to other").unwrap();
    fs::write(at("data"), "new").unwrap();
    files.restore().unwrap();
    assert_eq!(fs::read_to_string(at("data")).unwrap(), "new");
    assert_eq!(files.left, BTreeSet::from(["data".into()]));
    fs::write(at("data"), "newer").unwrap();
    files.restore().unwrap();
    assert_eq!(fs::read_to_string(at("data")).unwrap(), "new");
}
