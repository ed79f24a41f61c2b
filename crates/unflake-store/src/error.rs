use std::error::Error;
use std::path::Path;
use std::{fmt, io};

use rusqlite::{ErrorCode, ffi};

use crate::{StoreLocation, database};

type Cause = Box<dyn Error + Send + Sync>;

/// Why the history cannot be used. Each says what happened, why, and what to do next.
#[derive(Debug)]
pub enum StoreError {
    /// Its tables are of a version that only a newer unflake knows. They were not touched.
    Newer {
        at: At,
        found: i32,
        known: i32,
    },
    /// Its tables are of an older version, and this user may not change them.
    Older {
        at: At,
        found: i32,
        known: i32,
        source: Cause,
    },
    /// It cannot be made or written.
    Unwritable {
        at: At,
        source: Cause,
    },
    /// No room. What was recorded before is intact and readable; the store can be used again once there is room.
    Full {
        at: At,
    },
    /// Not a database, or a damaged one. The file was not touched.
    Corrupt {
        at: At,
        source: Cause,
    },
    /// Somebody else kept the history locked for longer than it was worth waiting.
    Busy {
        at: At,
    },
    /// There is no server, or it is gone.
    Unreachable {
        at: At,
        source: Cause,
    },
    /// The server does not let us in.
    Refused {
        at: At,
        source: Cause,
        next: &'static str,
    },
    /// Not the history that was to be taken over, or not only that.
    Differs {
        at: At,
        table: &'static str,
    },
    Other {
        at: At,
        source: Cause,
    },
}

/// The place of a history in words, never with a password.
#[derive(Clone, Debug)]
pub struct At {
    words: String,
    is_server: bool,
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

impl From<&StoreLocation> for At {
    fn from(place: &StoreLocation) -> Self {
        Self { words: place.words(), is_server: place.is_server() }
    }
}

impl StoreError {
    pub(crate) fn of_file(path: &Path, error: io::Error) -> Self {
        let at = At { words: path.display().to_string(), is_server: false };
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full { at },
            _ => Self::Unwritable { at, source: error.into() },
        }
    }

    pub(crate) fn of(place: &StoreLocation, error: database::Error) -> Self {
        let at = At::from(place);
        match &error {
            database::Error::Sqlite(told) => match told.sqlite_error() {
                Some(told) => of_sqlite(at, *told, error),
                None => Self::Other { at, source: error.into() },
            },
            database::Error::Said { code, .. } => of_server(at, &code.clone(), error),
            database::Error::Gone(_) => Self::Unreachable { at, source: error.into() },
            database::Error::Refused { next, .. } => {
                let next = *next;
                Self::Refused { at, source: error.into(), next }
            }
            database::Error::Differs(table) => Self::Differs { at, table },
            database::Error::Changed(found) => Self::Newer { at, found: *found, known: crate::schema::KNOWN },
            database::Error::Unreadable(_) | database::Error::Missing => Self::Other { at, source: error.into() },
        }
    }
}

fn of_sqlite(at: At, told: ffi::Error, error: database::Error) -> StoreError {
    match (told.code, told.extended_code) {
        // SQLite knows a full disk only by ENOSPC: a quota comes as a failed write, and no room for the shared
        // memory of the journal as a failed resize.
        (ErrorCode::DiskFull, _) | (_, ffi::SQLITE_IOERR_WRITE | ffi::SQLITE_IOERR_SHMSIZE) => StoreError::Full { at },
        (ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked, _) => StoreError::Busy { at },
        (ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase, _) => StoreError::Corrupt { at, source: error.into() },
        (ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied, _) => {
            StoreError::Unwritable { at, source: error.into() }
        }
        _ => StoreError::Other { at, source: error.into() },
    }
}

pub(crate) const LET_IN: &str =
    "Give a user and a password that the server knows: in the address, in PGPASSWORD, or in ~/.pgpass";

fn of_server(at: At, code: &str, error: database::Error) -> StoreError {
    let source = error.into();
    match code {
        "28P01" => StoreError::Refused { at, source, next: LET_IN },
        "28000" => {
            let next = "See that the server lets this user in from here (pg_hba.conf); this unflake does not encrypt connections";
            StoreError::Refused { at, source, next }
        }
        "3D000" => {
            StoreError::Refused { at, source, next: "Make the database (createdb NAME), or name one that is there" }
        }
        // No privilege; a server that only follows another one.
        "42501" | "25006" => StoreError::Unwritable { at, source },
        "53100" => StoreError::Full { at },
        "55P03" | "40001" | "40P01" => StoreError::Busy { at },
        // Too many connections, starting up, shutting down.
        "53300" | "57P01" | "57P02" | "57P03" | "57P05" | "25P03" => StoreError::Unreachable { at, source },
        _ => StoreError::Other { at, source },
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Newer { at, found, known } => {
                let anew = anew(at);
                write!(
                    f,
                    "the history in {at} was written by a newer unflake and was left as it is. Its tables have version \
                     {found}, and this unflake knows them up to {known}. Use the newer unflake, or {anew} to begin a new history."
                )
            }
            Self::Older { at, found, known, source } => write!(
                f,
                "the history in {at} is older than this unflake and was left as it is. Its tables have version {found}, {known} is needed, \
                 and they cannot be changed. The reason given is: {source}. Let the user that owns the tables run `unflake \
                 history` once with this unflake."
            ),
            Self::Unwritable { at, source } => {
                let next = if at.is_server {
                    "Let the owner of the tables grant this user to write, or name a user that may. Reading it may work all the same"
                } else {
                    "Make the file and its directory writable, or choose another directory"
                };
                write!(f, "the history in {at} cannot be written. The reason given is: {source}. {next}.")
            }
            Self::Full { at } => write!(
                f,
                "the history in {at} cannot grow. The disk is full or a quota is used up. Make room and try again: \
                 everything recorded before is safe."
            ),
            Self::Corrupt { at, source } => write!(
                f,
                "the history in {at} cannot be read and was left as it is. It is damaged or no database at all: \
                 {source}. Move the file away, with those beside it whose names begin the same, to begin a new history."
            ),
            Self::Busy { at } => write!(
                f,
                "the history in {at} is in use. Another process has kept it locked for too long. Wait for that process \
                 to end, or end it, and try again."
            ),
            Self::Unreachable { at, source } => write!(
                f,
                "the history in {at} cannot be reached. The reason given is: {source}. See that the server runs and takes connections \
                 there, and try again: what was recorded before is safe, and what was not yet is kept whole or not at all."
            ),
            Self::Refused { at, source, next } => {
                write!(f, "the history in {at} cannot be opened. The reason given is: {source}. {next}.")
            }
            Self::Differs { at, table } => write!(
                f,
                "the history in {at} was left as it is: its table `{table}` has something in it that the other history has not. \
                 Two histories do not become one. Name a place without a history, or the one that this was copied to before."
            ),
            Self::Other { at, source } => {
                let anew = anew(at);
                write!(
                    f,
                    "the history in {at} could not be used. The reason given is: {source}. If it happens again, {anew} to begin a \
                     new history."
                )
            }
        }
    }
}

/// What makes room for another history.
fn anew(at: &At) -> &'static str {
    if at.is_server { "name another schema (`?schema=NAME`)" } else { "move the file away" }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Older { source, .. }
            | Self::Unwritable { source, .. }
            | Self::Corrupt { source, .. }
            | Self::Unreachable { source, .. }
            | Self::Refused { source, .. }
            | Self::Other { source, .. } => Some(source.as_ref()),
            Self::Newer { .. } | Self::Full { .. } | Self::Busy { .. } | Self::Differs { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(error: StoreError, expected: &str) {
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn each_says_what_happened_and_why_and_what_to_do() {
        let place = StoreLocation::from(Path::new(".unflake"));
        let sqlite = |code| {
            let text = "what SQLite says".to_owned();
            StoreError::of(&place, rusqlite::Error::SqliteFailure(ffi::Error::new(code), Some(text)).into())
        };
        check(
            sqlite(ffi::SQLITE_FULL),
            "the history in .unflake/history.db cannot grow. The disk is full or a quota is used up. Make room and try \
             again: everything recorded before is safe.",
        );
        check(
            sqlite(ffi::SQLITE_READONLY),
            "the history in .unflake/history.db cannot be written. The reason given is: what SQLite says. \
             Make the file and its directory writable, or choose another directory.",
        );
        check(
            sqlite(ffi::SQLITE_NOTADB),
            "the history in .unflake/history.db cannot be read and was left as it is. It is damaged or no database at \
             all: what SQLite says. Move the file away, with those beside it whose names begin the same, to begin \
             a new history.",
        );
        check(
            sqlite(ffi::SQLITE_BUSY),
            "the history in .unflake/history.db is in use. Another process has kept it locked for too long. Wait for \
             that process to end, or end it, and try again.",
        );
    }
}
