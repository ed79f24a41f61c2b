use std::error::Error;
use std::path::{Path, PathBuf};
use std::{fmt, io};

use rusqlite::{ErrorCode, ffi};

/// Why the history cannot be used. Each says what happened, why, and what to do next.
#[derive(Debug)]
pub enum StoreError {
    /// Its tables are of a version that only a newer unflake knows. The file was not touched.
    Newer {
        path: PathBuf,
        found: i32,
        known: i32,
    },
    /// The file or its directory cannot be made or written.
    Unwritable {
        path: PathBuf,
        source: Box<dyn Error + Send + Sync>,
    },
    /// No room. What was recorded before is intact and readable; the store can be used again once there is room.
    Full {
        path: PathBuf,
    },
    /// Not a database, or a damaged one. The file was not touched.
    Corrupt {
        path: PathBuf,
        source: Box<dyn Error + Send + Sync>,
    },
    /// Another process kept the history locked for longer than it was worth waiting.
    Busy {
        path: PathBuf,
    },
    Other {
        path: PathBuf,
        source: Box<dyn Error + Send + Sync>,
    },
}

impl StoreError {
    pub(crate) fn of_file(path: &Path, error: io::Error) -> Self {
        let path = path.to_owned();
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full { path },
            _ => Self::Unwritable { path, source: error.into() },
        }
    }

    pub(crate) fn of_database(path: &Path, error: rusqlite::Error) -> Self {
        let path = path.to_owned();
        let Some(told) = error.sqlite_error() else {
            return Self::Other { path, source: error.into() };
        };
        match (told.code, told.extended_code) {
            // SQLite knows a full disk only by ENOSPC: a quota comes as a failed write, and no room for the shared
            // memory of the journal as a failed resize.
            (ErrorCode::DiskFull, _) | (_, ffi::SQLITE_IOERR_WRITE | ffi::SQLITE_IOERR_SHMSIZE) => Self::Full { path },
            (ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked, _) => Self::Busy { path },
            (ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase, _) => Self::Corrupt { path, source: error.into() },
            (ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied, _) => {
                Self::Unwritable { path, source: error.into() }
            }
            _ => Self::Other { path, source: error.into() },
        }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Newer { path, found, known } => write!(
                f,
                "the history in {} was written by a newer unflake and was left as it is. Its tables have version \
                 {found}, and this unflake knows them up to {known}. Use the newer unflake, or move the file away to \
                 begin a new history.",
                path.display()
            ),
            Self::Unwritable { path, source } => write!(
                f,
                "the history in {} cannot be written. The reason given is: {source}. Make the file and its directory \
                 writable, or choose another directory.",
                path.display()
            ),
            Self::Full { path } => write!(
                f,
                "the history in {} cannot grow. The disk is full or a quota is used up. Make room and try again: \
                 everything recorded before is safe.",
                path.display()
            ),
            Self::Corrupt { path, source } => write!(
                f,
                "the history in {} cannot be read and was left as it is. It is damaged or no database at all: \
                 {source}. Move the file away, with those beside it whose names begin the same, to begin a new history.",
                path.display()
            ),
            Self::Busy { path } => write!(
                f,
                "the history in {} is in use. Another process has kept it locked for too long. Wait for that process \
                 to end, or end it, and try again.",
                path.display()
            ),
            Self::Other { path, source } => write!(
                f,
                "the history in {} could not be used. The reason given is: {source}. If it happens again, move the \
                 file away to begin a new history.",
                path.display()
            ),
        }
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Unwritable { source, .. } | Self::Corrupt { source, .. } | Self::Other { source, .. } => {
                Some(source.as_ref())
            }
            Self::Newer { .. } | Self::Full { .. } | Self::Busy { .. } => None,
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
        let path = PathBuf::from(".unflake/history.db");
        let sqlite = |code| {
            let text = "what SQLite says".to_owned();
            StoreError::of_database(&path, rusqlite::Error::SqliteFailure(ffi::Error::new(code), Some(text)))
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
