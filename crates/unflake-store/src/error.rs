//! Errors of the store, each with what failed, why, and what to do.

use std::path::Path;
use std::{fmt, io};

use rusqlite::{ErrorCode, ffi};

use crate::{StoreLocation, database};

type ErrorCause = Box<dyn std::error::Error + Send + Sync>;

/// Why the history cannot be used. The message says what failed, why, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A newer unflake wrote the tables. They were not changed.
    #[error(
        "the history in {at} was written by a newer unflake and was left as it is. Its tables have version \
         {found}, and this unflake knows them up to {known}. Use the newer unflake, or {} to begin a new history.",
        .at.start_new()
    )]
    Newer { at: LocationText, found: i32, known: i32 },
    /// The tables have an older version, and this user may not migrate them.
    #[error(
        "the history in {at} is older than this unflake and was left as it is. Its tables have version {found}, {known} is needed, \
         and they cannot be changed. The reason given is: {source}. Let the user that owns the tables run `unflake \
         history` once with this unflake."
    )]
    Older { at: LocationText, found: i32, known: i32, source: ErrorCause },
    /// The history cannot be created or written.
    #[error("the history in {at} cannot be written. The reason given is: {source}. {}.", .at.make_writable())]
    Unwritable { at: LocationText, source: ErrorCause },
    /// The disk is full. Everything recorded before is intact and readable; the store works again
    /// once there is space.
    #[error(
        "the history in {at} cannot grow. The disk is full, or a quota or a limit on file sizes (`ulimit -f`) is used \
         up. Make room and try again: everything recorded before is safe."
    )]
    Full { at: LocationText },
    /// The file is not a database, or is damaged. It was not changed.
    #[error(
        "the history in {at} cannot be read and was left as it is. It is damaged or no database at all: \
         {source}. Move the file and those with the same prefix away to start a new history."
    )]
    Corrupt { at: LocationText, source: ErrorCause },
    /// The file is not a history of unflake, or a link to a file elsewhere. It was not changed.
    #[error("the history in {at} was left as it is: {why}")]
    Foreign { at: LocationText, why: String },
    /// Another process held the lock for longer than the busy timeout.
    #[error(
        "the history in {at} is in use. Another process has kept it locked for too long. Wait for that process \
         to end, or end it, and try again."
    )]
    Busy { at: LocationText },
    /// The server cannot be reached, or the connection was lost.
    #[error(
        "the history in {at} cannot be reached. The reason given is: {source}. Check that the server runs and accepts connections, and try again: recorded runs are safe."
    )]
    Unreachable { at: LocationText, source: ErrorCause },
    /// The server rejected the login.
    #[error("the history in {at} cannot be opened. The reason given is: {source}. {next}.")]
    Refused { at: LocationText, source: ErrorCause, next: &'static str },
    /// The target of a copy contains rows that the source does not have.
    #[error(
        "the history in {at} was left as it is: its table `{table}` has something in it that the other history has not. \
         Two histories do not become one. Name a place without a history, or the one that this was copied to before."
    )]
    Differs { at: LocationText, table: &'static str },
    #[error(
        "the history in {at} could not be used. The reason given is: {source}. If it happens again, {} to begin a \
         new history.",
        .at.start_new()
    )]
    Other { at: LocationText, source: ErrorCause },
}

/// The location of a history as text, never with a password.
#[derive(Clone, Debug)]
pub struct LocationText {
    text: String,
    is_server: bool,
}

impl fmt::Display for LocationText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl LocationText {
    fn start_new(&self) -> &'static str {
        if self.is_server { "name another schema (`?schema=NAME`)" } else { "move the file away" }
    }

    fn make_writable(&self) -> &'static str {
        if self.is_server {
            "Ask the owner of the tables for write permission, or name another user. Reading may still work"
        } else {
            "Make the file and its directory writable, or choose another directory"
        }
    }
}

impl From<&StoreLocation> for LocationText {
    fn from(location: &StoreLocation) -> Self {
        Self { text: location.text(), is_server: location.is_server() }
    }
}

impl StoreError {
    /// What to do, where the message does not say it.
    pub fn hint(&self) -> Option<&'static str> {
        let is_foreign = matches!(self, Self::Foreign { .. });
        is_foreign.then_some("move it away to begin a new history, or choose another directory with `--store`")
    }

    pub(crate) fn of_file(path: &Path, error: io::Error) -> Self {
        let at = LocationText { text: path.display().to_string(), is_server: false };
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full { at },
            _ => Self::Unwritable { at, source: error.into() },
        }
    }

    pub(crate) fn of(location: &StoreLocation, error: database::DatabaseError) -> Self {
        let at = LocationText::from(location);
        match &error {
            database::DatabaseError::Sqlite(sqlite) => match sqlite.sqlite_error() {
                Some(sqlite) => of_sqlite(at, *sqlite, error),
                None => Self::Other { at, source: error.into() },
            },
            database::DatabaseError::Server { code, .. } => of_server(at, &code.clone(), error),
            database::DatabaseError::Lost(_) => Self::Unreachable { at, source: error.into() },
            database::DatabaseError::Refused { next, .. } => {
                let next = *next;
                Self::Refused { at, source: error.into(), next }
            }
            database::DatabaseError::Tls(_) => Self::Refused { at, source: error.into(), next: CHECK_CERTIFICATES },
            database::DatabaseError::Differs(table) => Self::Differs { at, table },
            database::DatabaseError::VersionChanged(found) => {
                Self::Newer { at, found: *found, known: crate::schema::CURRENT_VERSION }
            }
            database::DatabaseError::Unreadable(_) | database::DatabaseError::Missing => {
                Self::Other { at, source: error.into() }
            }
        }
    }
}

fn of_sqlite(at: LocationText, sqlite: ffi::Error, error: database::DatabaseError) -> StoreError {
    match (sqlite.code, sqlite.extended_code) {
        // SQLite recognizes a full disk only by ENOSPC: an exceeded quota is a failed write, and no
        // space for the shared memory of the log is a failed resize.
        (ErrorCode::DiskFull, _) | (_, ffi::SQLITE_IOERR_WRITE | ffi::SQLITE_IOERR_SHMSIZE) => StoreError::Full { at },
        (ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked, _) => StoreError::Busy { at },
        (ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase, _) => StoreError::Corrupt { at, source: error.into() },
        (ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied, _) => {
            StoreError::Unwritable { at, source: error.into() }
        }
        _ => StoreError::Other { at, source: error.into() },
    }
}

pub(crate) const GIVE_PASSWORD: &str = "Give a valid user and password: in the address, in PGPASSWORD, or in ~/.pgpass";
pub(crate) const CHECK_ADDRESS: &str = "Check the address";
const CHECK_CERTIFICATES: &str = "Check the certificate of the server, and sslmode and sslrootcert in the address";

fn of_server(at: LocationText, code: &str, error: database::DatabaseError) -> StoreError {
    let source = error.into();
    match code {
        "28P01" => StoreError::Refused { at, source, next: GIVE_PASSWORD },
        "28000" => {
            let next = "Check that pg_hba.conf admits this user from here, with or without TLS (sslmode)";
            StoreError::Refused { at, source, next }
        }
        "3D000" => {
            StoreError::Refused { at, source, next: "Create the database (createdb NAME), or name an existing one" }
        }
        // Insufficient privilege; read-only standby.
        "42501" | "25006" => StoreError::Unwritable { at, source },
        "53100" => StoreError::Full { at },
        "55P03" | "40001" | "40P01" => StoreError::Busy { at },
        // Too many connections, starting up, shutting down.
        "53300" | "57P01" | "57P02" | "57P03" | "57P05" | "25P03" => StoreError::Unreachable { at, source },
        _ => StoreError::Other { at, source },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(error: StoreError, expected: &str) {
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn messages_contain_failure_reason_and_hint() {
        let location = StoreLocation::from(Path::new(".unflake"));
        let sqlite = |code| {
            let text = "what SQLite says".to_owned();
            StoreError::of(&location, rusqlite::Error::SqliteFailure(ffi::Error::new(code), Some(text)).into())
        };
        check(
            sqlite(ffi::SQLITE_FULL),
            "the history in .unflake/history.db cannot grow. The disk is full, or a quota or a limit on file sizes (`ulimit \
             -f`) is used up. Make room and try again: everything recorded before is safe.",
        );
        check(
            sqlite(ffi::SQLITE_READONLY),
            "the history in .unflake/history.db cannot be written. The reason given is: what SQLite says. \
             Make the file and its directory writable, or choose another directory.",
        );
        check(
            sqlite(ffi::SQLITE_NOTADB),
            "the history in .unflake/history.db cannot be read and was left as it is. It is damaged or no database at \
             all: what SQLite says. Move the file and those with the same prefix away to start a new history.",
        );
        check(
            sqlite(ffi::SQLITE_BUSY),
            "the history in .unflake/history.db is in use. Another process has kept it locked for too long. Wait for \
             that process to end, or end it, and try again.",
        );
    }
}
