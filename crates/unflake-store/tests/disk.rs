//! Tests of full and read-only disks, and of damaged files.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{attempted, batch, facts, failing, passing};
use rusqlite::config::DbConfig;
use unflake_store::{Store, StoreError};

/// A mounted file system, unmounted on drop. None, with a message, if this user may not mount.
struct TmpfsMount(PathBuf, #[allow(dead_code)] tempfile::TempDir);

impl TmpfsMount {
    fn tmpfs(options: &str) -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().to_owned();
        if run("mount", &["-t", "tmpfs", "-o", options, "tmpfs", path.to_str().unwrap()]) {
            Some(Self(path, dir))
        } else {
            println!("skipped: nothing can be mounted here");
            None
        }
    }
}

impl Drop for TmpfsMount {
    fn drop(&mut self) {
        run("umount", &["-l", self.0.to_str().unwrap()]);
    }
}

fn run(program: &str, arguments: &[&str]) -> bool {
    cfg!(target_os = "linux")
        && Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success())
}

#[test]
fn a_full_disk_loses_no_recorded_attempt() {
    let Some(mount) = TmpfsMount::tmpfs("size=1m") else { return };
    let ballast = mount.0.join("ballast");
    fs::write(&ballast, [1; 200_000]).unwrap();
    let dir = mount.0.join(".unflake");
    let mut store = Store::open(&dir).unwrap();
    let run = store.begin(&facts()).unwrap();
    let mut recorded = 0;
    let error = loop {
        assert!(recorded < 100_000, "the disk never filled up");
        let mut events = batch(recorded, 49);
        events.extend(attempted([failing("long", recorded, &recorded.to_string().repeat(500))]));
        match store.record(run, &events) {
            Ok(()) => recorded += 50,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, StoreError::Full { .. }), "{error:?}");
    assert!(recorded > 0);
    assert_eq!(store.attempts_in(run).unwrap().len(), recorded as usize, "while the disk is full");
    drop(store);
    let store = Store::open(&dir).unwrap();
    assert_eq!(store.attempts_in(run).unwrap().len(), recorded as usize, "opened again, with the disk still full");
    drop(store);

    fs::remove_file(ballast).unwrap();
    let mut store = Store::open(&dir).unwrap();
    store.record(run, &batch(recorded, 50)).unwrap();
    assert_eq!(store.attempts_in(run).unwrap().len(), recorded as usize + 50, "with room again");
}

#[test]
fn a_store_works_again_once_there_is_space() {
    let Some(mount) = TmpfsMount::tmpfs("size=1m") else { return };
    let dir = mount.0.join(".unflake");
    let mut store = Store::open(&dir).unwrap();
    let run = store.begin(&facts()).unwrap();
    store.record(run, &batch(0, 10)).unwrap();
    let ballast = mount.0.join("ballast");
    // Fills the rest of the disk: the write fails, and what it wrote stays.
    fs::write(&ballast, vec![1; 2_000_000]).unwrap_err();
    let long = "x".repeat(50_000);
    let events = attempted([passing("new", 10), failing("new", 11, &long)]);
    let error = store.record(run, &events).unwrap_err();
    assert!(matches!(error, StoreError::Full { .. }), "{error:?}");
    fs::remove_file(ballast).unwrap();
    store.record(run, &events).unwrap();
    assert_eq!(store.attempts_in(run).unwrap().len(), 12);
    assert_eq!(store.attempts_of(&"new".into(), 9).unwrap()[0].attempt, failing("new", 11, &long));
}

#[test]
fn a_history_can_be_read_on_a_full_disk() {
    let Some(mount) = TmpfsMount::tmpfs("size=1m") else { return };
    let dir = mount.0.join(".unflake");
    let mut store = Store::open(&dir).unwrap();
    let run = store.begin(&facts()).unwrap();
    store.record(run, &batch(0, 10)).unwrap();
    drop(store);
    fs::write(mount.0.join("ballast"), vec![1; 2_000_000]).unwrap_err();
    let store = Store::open(&dir).unwrap();
    assert_eq!(store.attempts_in(run).unwrap().len(), 10);
}

#[test]
fn creating_a_history_on_a_full_disk_fails() {
    let Some(mount) = TmpfsMount::tmpfs("size=64k") else { return };
    fs::write(mount.0.join("ballast"), vec![1; 2_000_000]).unwrap_err();
    let error = Store::open(mount.0.join(".unflake")).unwrap_err();
    assert!(matches!(error, StoreError::Full { .. }), "{error:?}");
}

#[test]
fn a_read_only_directory_is_refused() {
    let check = |dir: &Path| {
        let error = Store::open(dir).unwrap_err();
        assert!(matches!(error, StoreError::Unwritable { .. }), "{error:?}");
    };
    if let Some(mount) = TmpfsMount::tmpfs("size=1m") {
        let dir = mount.0.join(".unflake");
        let mut store = Store::open(&dir).unwrap();
        let run_id = store.begin(&facts()).unwrap();
        store.record(run_id, &batch(0, 10)).unwrap();
        drop(store);
        assert!(run("mount", &["-o", "remount,ro", mount.0.to_str().unwrap()]));
        check(&dir);
        check(&mount.0.join("elsewhere"));
    } else {
        let dir = tempfile::tempdir().unwrap();
        let mut permissions = fs::metadata(dir.path()).unwrap().permissions();
        permissions.set_readonly(true);
        fs::set_permissions(dir.path(), permissions).unwrap();
        if fs::write(dir.path().join("probe"), "").is_ok() {
            println!("skipped: permissions do not bind this user");
            return;
        }
        check(dir.path());
        check(&dir.path().join(".unflake"));
    }
}

#[test]
fn a_directory_that_is_a_file_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(".unflake");
    fs::write(&path, "a file").unwrap();
    let error = Store::open(&path).unwrap_err();
    assert!(matches!(error, StoreError::Unwritable { .. }), "{error:?}");
}

#[test]
fn a_history_is_hidden_from_git_unless_the_directory_is_in_use() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().join("project/.unflake");
    drop(Store::open(&dir).unwrap());
    let ignore = dir.join(".gitignore");
    assert_eq!(fs::read_to_string(&ignore).unwrap(), "*\n!quarantine.toml\n");
    fs::remove_file(&ignore).unwrap();
    drop(Store::open(&dir).unwrap());
    assert!(!ignore.exists());

    let project = dir.parent().unwrap();
    drop(Store::open(project).unwrap());
    assert!(!project.join(".gitignore").exists(), "what was there before is not hidden");
}

/// The names and contents of all files in a directory, except for the shared memory, which is
/// recreated each time.
fn contents(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| !path.to_string_lossy().ends_with("-shm"))
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect();
    files.sort();
    files
}

/// Far above any version of the tables.
const NEWER: i32 = 1000;

#[test]
fn a_newer_history_is_refused_and_unchanged() {
    let dir = tempfile::tempdir().unwrap();
    drop(Store::open(dir.path()).unwrap());
    let path = dir.path().join(unflake_store::FILE);
    let connection = rusqlite::Connection::open(&path).unwrap();
    // The state that a killed newer unflake leaves: the version is in the log, and not yet in the
    // database.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).unwrap();
    connection.pragma_update(None, "user_version", NEWER).unwrap();
    drop(connection);
    let before = contents(dir.path());

    let error = Store::open(dir.path()).unwrap_err();
    let StoreError::Newer { found: NEWER, known, .. } = error else { panic!("{error:?}") };
    assert_eq!(
        error.to_string().replace(path.to_str().unwrap(), "history.db"),
        format!(
            "the history in history.db was written by a newer unflake and was left as it is. Its tables have version {NEWER}, and this \
             unflake knows them up to {known}. Use the newer unflake, or move the file away to begin a new history."
        )
    );
    assert!(contents(dir.path()) == before);
}

#[test]
fn other_files_are_refused_and_unchanged() {
    for junk in ["no database".to_owned(), "no database ".repeat(10_000)] {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(unflake_store::FILE), &junk).unwrap();
        let before = contents(dir.path());
        let error = Store::open(dir.path()).unwrap_err();
        assert!(matches!(error, StoreError::Corrupt { .. }), "{error:?}");
        assert!(error.to_string().contains("Move the file and those with the same prefix away"), "{error}");
        assert!(contents(dir.path()) == before);
    }
}

#[test]
fn a_damaged_history_is_reported_and_not_deleted() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(dir.path()).unwrap();
    let run = store.begin(&facts()).unwrap();
    store.record(run, &batch(0, 2_000)).unwrap();
    drop(store);
    let path = dir.path().join(unflake_store::FILE);
    let mut bytes = fs::read(&path).unwrap();
    // Keeps the first page, which contains the names of the tables.
    bytes[4096..].fill(0x55);
    fs::write(&path, &bytes).unwrap();
    let error = Store::open(dir.path()).and_then(|store| store.attempts_in(run)).unwrap_err();
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error:?}");
    assert!(fs::read(&path).unwrap() == bytes);
}

#[test]
fn a_locked_history_is_busy() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(dir.path()).unwrap();
    let other = rusqlite::Connection::open(store.location_text()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    store.set_busy_timeout(std::time::Duration::from_millis(50)).unwrap();
    let error = store.begin(&facts()).unwrap_err();
    assert!(matches!(error, StoreError::Busy { .. }), "{error:?}");
    other.execute_batch("ROLLBACK").unwrap();
    store.begin(&facts()).unwrap();
}

/// A command that ends does not wait until the disk has what the log has, and loses none of it.
#[test]
fn a_log_that_is_left_has_the_last_run() {
    let dir = tempfile::tempdir().unwrap();
    let record = |number| {
        let mut store = Store::open(dir.path()).unwrap();
        store.leave_log();
        let run = store.begin(&facts()).unwrap();
        store.record(run, &batch(number, 3)).unwrap();
        run
    };
    let runs = [record(0), record(10)];
    assert!(fs::metadata(dir.path().join("history.db-wal")).unwrap().len() > 0);
    let store = Store::open(dir.path()).unwrap();
    assert!(runs.iter().all(|run| store.attempts_in(*run).unwrap().len() == 3));
    drop(store);
    assert!(!dir.path().join("history.db-wal").exists(), "the log was moved into the file");
}
