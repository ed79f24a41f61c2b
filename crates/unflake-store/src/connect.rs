//! Opens a SQLite history: creates its directory, chooses a journal mode and migrates the tables.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, Result};

use crate::{FILE, QUARANTINE, StoreError, StoreLocation, schema};

/// How long to wait for a lock of another process.
const BUSY_TIMEOUT: Duration = Duration::from_secs(20);

/// Hides everything in the directory from git except the quarantine file, which people commit.
const GITIGNORE: &str = "*\n!quarantine.toml\n";
/// The `.gitignore` that older versions wrote.
const OLD_GITIGNORE: &str = "*\n";

/// Creates the directory and returns the path of the database. A new or empty directory gets a
/// `.gitignore` that hides it; any other directory is left unchanged.
pub(crate) fn prepare(dir: &Path) -> Result<PathBuf, StoreError> {
    let path = dir.join(FILE);
    if !path.exists() {
        create_hidden_dir(dir).map_err(|error| StoreError::of_file(dir, error))?;
    }
    Ok(path)
}

/// Creates a directory, and hides it from git if it is empty.
pub fn create_hidden_dir(dir: &Path) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    let ours = |entry: io::Result<fs::DirEntry>| entry.is_ok_and(|entry| entry.file_name() == QUARANTINE);
    if fs::read_dir(dir)?.all(ours) { fs::write(dir.join(".gitignore"), GITIGNORE) } else { Ok(()) }
}

/// Makes [`QUARANTINE`] visible to git in a directory whose `.gitignore` an older version wrote.
pub fn unhide_quarantine(dir: &Path) -> io::Result<()> {
    let ignore = dir.join(".gitignore");
    let old = fs::read_to_string(&ignore).is_ok_and(|text| text == OLD_GITIGNORE);
    if old { fs::write(ignore, GITIGNORE) } else { Ok(()) }
}

pub(crate) fn open(location: &StoreLocation, path: &Path, shared: bool) -> Result<Connection, StoreError> {
    let failed = |error: rusqlite::Error| StoreError::of(location, error.into());
    let foreign = |why| StoreError::Foreign { at: location.into(), why };
    foreign_file(path).map_or(Ok(()), |why| Err(foreign(why)))?;
    let (mut connection, version, journal) = match connect(path, "NORMAL") {
        Err(error) if lacks_shared_memory(&error) => {
            let (connection, version) = connect(path, "EXCLUSIVE").map_err(failed)?;
            (connection, version, JournalMode::Exclusive)
        }
        result => {
            let (connection, version) = result.map_err(failed)?;
            (connection, version, if shared { JournalMode::Rollback } else { JournalMode::WriteAhead })
        }
    };
    if schema::is_foreign(&connection).map_err(failed)? {
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map_err(failed)?;
        return Err(foreign("it is a database of another program".to_owned()));
    }
    if !(0..=schema::CURRENT_VERSION).contains(&version) {
        // Otherwise the last connection to close checkpoints the log into the database.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map_err(failed)?;
        return Err(StoreError::Newer { at: location.into(), found: version, known: schema::CURRENT_VERSION });
    }
    if connection.is_readonly("main").map_err(failed)? {
        let source = "the file is read-only".into();
        return Err(StoreError::Unwritable { at: location.into(), source });
    }
    use_journal(&connection, journal).map_err(failed)?;
    schema::migrate(&mut connection).map_err(failed)?;
    Ok(connection)
}

/// Why the database, or a file that SQLite keeps next to it, must not be opened: SQLite would follow
/// a link and write to a file that another user has chosen.
fn foreign_file(path: &Path) -> Option<String> {
    ["", "-wal", "-shm", "-journal"].iter().find_map(|ending| {
        let file = format!("{}{ending}", path.display());
        let kind = fs::symlink_metadata(&file).ok()?.file_type();
        let what = if kind.is_symlink() { "a symbolic link" } else { "no regular file" };
        (!kind.is_file()).then(|| format!("{file} is {what}"))
    })
}

/// A connection that has written nothing yet, and the version of the tables.
fn connect(path: &Path, locking: &str) -> Result<(Connection, i32)> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(64);
    connection.pragma_update(None, "locking_mode", locking)?;
    let version = schema::version(&connection)?;
    Ok((connection, version))
}

/// How SQLite makes transactions atomic.
enum JournalMode {
    /// One write per transaction, and readers never wait. Needs shared memory.
    WriteAhead,
    /// Slower, and needs nothing but file locks.
    Rollback,
    /// A write-ahead log exists, and its shared memory cannot be created: the database was copied
    /// from another disk, or the disk is completely full. Only one process at a time can use it.
    Exclusive,
}

fn lacks_shared_memory(error: &rusqlite::Error) -> bool {
    use rusqlite::ffi::{SQLITE_IOERR_SHMLOCK, SQLITE_IOERR_SHMMAP, SQLITE_IOERR_SHMOPEN, SQLITE_IOERR_SHMSIZE};
    error.sqlite_error().is_some_and(|error| {
        [SQLITE_IOERR_SHMLOCK, SQLITE_IOERR_SHMMAP, SQLITE_IOERR_SHMOPEN, SQLITE_IOERR_SHMSIZE]
            .contains(&error.extended_code)
    })
}

fn use_journal(connection: &Connection, journal: JournalMode) -> Result<()> {
    match journal {
        JournalMode::WriteAhead => match set_journal(connection, "wal") {
            // The log is written in order and synced only at checkpoints.
            Ok(mode) if mode == "wal" => return connection.pragma_update(None, "synchronous", "NORMAL"),
            Err(error) if is_busy(&error) => return Err(error),
            _ => set_journal(connection, "truncate").map(drop)?,
        },
        JournalMode::Rollback => set_journal(connection, "truncate").map(drop)?,
        // If even this fails the disk is full, and the database can still be read.
        JournalMode::Exclusive => {
            if set_journal(connection, "truncate").is_ok_and(|mode| mode == "truncate") {
                connection.pragma_update(None, "locking_mode", "NORMAL")?;
            }
        }
    }
    connection.pragma_update(None, "synchronous", "FULL")
}

/// Returns the journal mode in effect afterwards. While other processes open the database for the
/// first time SQLite returns "busy" without waiting, so this function retries.
fn set_journal(connection: &Connection, mode: &str) -> Result<String> {
    let start = Instant::now();
    loop {
        match connection.pragma_update_and_check(None, "journal_mode", mode, |row| row.get(0)) {
            Err(error) if is_busy(&error) && start.elapsed() < BUSY_TIMEOUT => thread::sleep(Duration::from_millis(10)),
            result => return result,
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
        let actual: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
        assert_eq!(actual, journal);
        let actual: i64 = connection.pragma_query_value(None, "synchronous", |row| row.get(0)).unwrap();
        assert_eq!(actual, synchronous);
    }

    #[test]
    fn uses_a_write_ahead_log_on_a_local_disk() {
        check(false, "wal", 1);
    }

    #[test]
    fn uses_a_rollback_journal_on_a_shared_file_system() {
        check(true, "truncate", 2);
    }

    #[test]
    fn switches_to_a_rollback_journal_on_a_shared_file_system() {
        let dir = tempfile::tempdir().unwrap();
        let path = prepare(dir.path()).unwrap();
        drop(open(&dir.path().into(), &path, false).unwrap());
        let connection = open(&dir.path().into(), &path, true).unwrap();
        let actual: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
        assert_eq!(actual, "truncate");
    }
}
