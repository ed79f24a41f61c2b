//! From a directory to a connection with SQLite that is ready for use.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, Result};

use crate::{FILE, QUARANTINE, StoreError, StoreLocation, schema};

/// How long to wait for another process before giving up.
const PATIENCE: Duration = Duration::from_secs(20);

/// Hides everything in the directory from git but the file there that is for people, and git.
const HIDDEN: &str = "*\n!quarantine.toml\n";
/// What older versions hid everything with.
const ALL_HIDDEN: &str = "*\n";

/// Makes the directory, and returns the path of the database. A directory that has nothing in it yet gets a
/// `.gitignore` that hides it; one that has is somebody's, and stays as it is.
pub(crate) fn prepare(dir: &Path) -> Result<PathBuf, StoreError> {
    let path = dir.join(FILE);
    if !path.exists() {
        make_hidden(dir).map_err(|error| StoreError::of_file(dir, error))?;
    }
    Ok(path)
}

/// Makes a directory, and hides it from git where nothing is in it yet.
pub fn make_hidden(dir: &Path) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    let ours = |entry: io::Result<fs::DirEntry>| entry.is_ok_and(|entry| entry.file_name() == QUARANTINE);
    if fs::read_dir(dir)?.all(ours) { fs::write(dir.join(".gitignore"), HIDDEN) } else { Ok(()) }
}

/// Lets git see [`QUARANTINE`] in a directory whose `.gitignore` an older version wrote.
pub fn let_git_see(dir: &Path) -> io::Result<()> {
    let ignore = dir.join(".gitignore");
    let old = fs::read_to_string(&ignore).is_ok_and(|text| text == ALL_HIDDEN);
    if old { fs::write(ignore, HIDDEN) } else { Ok(()) }
}

pub(crate) fn open(place: &StoreLocation, path: &Path, shared: bool) -> Result<Connection, StoreError> {
    let failed = |error: rusqlite::Error| StoreError::of(place, error.into());
    let (mut connection, found, journal) = match connect(path, "NORMAL") {
        Err(error) if lacks_shared_memory(&error) => {
            let (connection, found) = connect(path, "EXCLUSIVE").map_err(failed)?;
            (connection, found, Journal::Stuck)
        }
        answer => {
            let (connection, found) = answer.map_err(failed)?;
            (connection, found, if shared { Journal::Rollback } else { Journal::WriteAhead })
        }
    };
    if !(0..=schema::KNOWN).contains(&found) {
        // Else the last one to close a database moves its journal into it.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map_err(failed)?;
        return Err(StoreError::Newer { at: place.into(), found, known: schema::KNOWN });
    }
    if connection.is_readonly("main").map_err(failed)? {
        let source = "the file is read-only".into();
        return Err(StoreError::Unwritable { at: place.into(), source });
    }
    use_journal(&connection, journal).map_err(failed)?;
    schema::migrate(&mut connection).map_err(failed)?;
    Ok(connection)
}

/// A connection that has written nothing yet, and the version of the tables.
fn connect(path: &Path, locking: &str) -> Result<(Connection, i32)> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(PATIENCE)?;
    connection.set_prepared_statement_cache_capacity(64);
    connection.pragma_update(None, "locking_mode", locking)?;
    let version = schema::version(&connection)?;
    Ok((connection, version))
}

/// How a transaction becomes one.
enum Journal {
    /// One write per transaction, and readers are not held up. Needs memory that all users of the database share.
    WriteAhead,
    /// Slower, and needs nothing but locks.
    Rollback,
    /// There is a write-ahead log and no shared memory for it: a copy from another disk, or a disk that is full to the
    /// last block. One process at a time can use it.
    Stuck,
}

fn lacks_shared_memory(error: &rusqlite::Error) -> bool {
    use rusqlite::ffi::{SQLITE_IOERR_SHMLOCK, SQLITE_IOERR_SHMMAP, SQLITE_IOERR_SHMOPEN, SQLITE_IOERR_SHMSIZE};
    error.sqlite_error().is_some_and(|error| {
        [SQLITE_IOERR_SHMLOCK, SQLITE_IOERR_SHMMAP, SQLITE_IOERR_SHMOPEN, SQLITE_IOERR_SHMSIZE]
            .contains(&error.extended_code)
    })
}

fn use_journal(connection: &Connection, journal: Journal) -> Result<()> {
    match journal {
        Journal::WriteAhead => match set_journal(connection, "wal") {
            // Written in order, forced to the disk only now and then.
            Ok(mode) if mode == "wal" => return connection.pragma_update(None, "synchronous", "NORMAL"),
            Err(error) if is_busy(&error) => return Err(error),
            _ => set_journal(connection, "truncate").map(drop)?,
        },
        Journal::Rollback => set_journal(connection, "truncate").map(drop)?,
        // Where even that fails there is no room, and what is there can be read.
        Journal::Stuck => {
            if set_journal(connection, "truncate").is_ok_and(|mode| mode == "truncate") {
                connection.pragma_update(None, "locking_mode", "NORMAL")?;
            }
        }
    }
    connection.pragma_update(None, "synchronous", "FULL")
}

/// Returns the kind that holds afterwards. While others open the database for the first time SQLite answers "busy" at
/// once instead of waiting, so the waiting is done here.
fn set_journal(connection: &Connection, mode: &str) -> Result<String> {
    let begun = Instant::now();
    loop {
        match connection.pragma_update_and_check(None, "journal_mode", mode, |row| row.get(0)) {
            Err(error) if is_busy(&error) && begun.elapsed() < PATIENCE => thread::sleep(Duration::from_millis(10)),
            answer => return answer,
        }
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(shared: bool, journal: &str, synchronous: i64) {
        let dir = tempfile::tempdir().unwrap();
        let path = prepare(dir.path()).unwrap();
        let connection = open(&dir.path().into(), &path, shared).unwrap();
        let holds: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
        assert_eq!(holds, journal);
        let holds: i64 = connection.pragma_query_value(None, "synchronous", |row| row.get(0)).unwrap();
        assert_eq!(holds, synchronous);
    }

    #[test]
    fn a_local_disk_gets_a_write_ahead_log() {
        check(false, "wal", 1);
    }

    #[test]
    fn a_shared_file_system_gets_a_rollback_journal() {
        check(true, "truncate", 2);
    }

    #[test]
    fn a_history_that_moved_to_a_shared_file_system_loses_its_log() {
        let dir = tempfile::tempdir().unwrap();
        let path = prepare(dir.path()).unwrap();
        drop(open(&dir.path().into(), &path, false).unwrap());
        let connection = open(&dir.path().into(), &path, true).unwrap();
        let holds: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
        assert_eq!(holds, "truncate");
    }
}
