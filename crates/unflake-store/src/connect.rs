//! From a directory to a connection that is ready for use.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, Result};

use crate::{FILE, StoreError, schema};

/// How long to wait for another process before giving up. Its transactions take milliseconds.
const PATIENCE: Duration = Duration::from_secs(20);

/// Makes the directory and its `.gitignore`, and returns the path of the database. Where the database is there
/// already, a `.gitignore` that somebody took away stays away.
pub(crate) fn prepare(dir: &Path) -> Result<PathBuf, StoreError> {
    let path = dir.join(FILE);
    if !path.exists() {
        fs::create_dir_all(dir).map_err(|error| StoreError::of_file(dir, error))?;
        let ignore = dir.join(".gitignore");
        match OpenOptions::new().write(true).create_new(true).open(&ignore).and_then(|mut file| file.write_all(b"*\n"))
        {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(StoreError::of_file(&ignore, error)),
            _ => {}
        }
    }
    Ok(path)
}

pub(crate) fn open(path: &Path, shared: bool) -> Result<Connection, StoreError> {
    let failed = |error| StoreError::of_database(path, error);
    let mut connection = Connection::open(path).map_err(failed)?;
    connection.busy_timeout(PATIENCE).map_err(failed)?;
    connection.set_prepared_statement_cache_capacity(64);
    // Before anything is written, be it only the kind of journal.
    let found = schema::version(&connection).map_err(failed)?;
    if !(0..=schema::KNOWN).contains(&found) {
        // Else the last one to close a database moves its journal into it.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map_err(failed)?;
        return Err(StoreError::Newer { path: path.to_owned(), found, known: schema::KNOWN });
    }
    if connection.is_readonly("main").map_err(failed)? {
        let source = "the file is read-only".into();
        return Err(StoreError::Unwritable { path: path.to_owned(), source });
    }
    choose_journal(&connection, shared).map_err(failed)?;
    schema::migrate(&mut connection).map_err(failed)?;
    Ok(connection)
}

/// A write-ahead log where it works: one write per transaction, and readers are not held up. Else a rollback journal,
/// which is slower and needs nothing but locks.
fn choose_journal(connection: &Connection, shared: bool) -> Result<()> {
    if !shared && set_journal(connection, "wal").is_ok_and(|mode| mode == "wal") {
        // Written in order, forced to the disk only now and then.
        return connection.pragma_update(None, "synchronous", "NORMAL");
    }
    set_journal(connection, "truncate")?;
    connection.pragma_update(None, "synchronous", "FULL")
}

/// Returns the kind that holds afterwards. While others open the database for the first time SQLite answers "busy" at
/// once instead of waiting, so the waiting is done here.
fn set_journal(connection: &Connection, mode: &str) -> Result<String> {
    const STEP: Duration = Duration::from_millis(10);
    let mut waited = Duration::ZERO;
    loop {
        match connection.pragma_update_and_check(None, "journal_mode", mode, |row| row.get(0)) {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && waited < PATIENCE => {
                thread::sleep(STEP);
                waited += STEP;
            }
            answer => return answer,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(shared: bool, journal: &str, synchronous: i64) {
        let dir = tempfile::tempdir().unwrap();
        let path = prepare(dir.path()).unwrap();
        let connection = open(&path, shared).unwrap();
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
        drop(open(&path, false).unwrap());
        let connection = open(&path, true).unwrap();
        let holds: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
        assert_eq!(holds, "truncate");
    }
}
