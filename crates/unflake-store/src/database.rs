//! Abstracts over SQLite and PostgreSQL. The rest of the crate writes each statement once, in SQL
//! that both accept: parameters as `?` or `?1`, values with SQLite's types.

use std::cell::RefCell;
use std::io;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::types::{FromSql, FromSqlError, ToSql, ValueRef};
use rusqlite::{Connection, OptionalExtension};

use crate::postgres::{self, Client};
use crate::schema;

pub(crate) type Result<T, E = DatabaseError> = std::result::Result<T, E>;

#[derive(Debug)]
pub(crate) enum Database {
    Sqlite(Connection),
    /// Borrowed per statement, because rows are processed while a result is being read.
    Postgres(Box<RefCell<Client>>),
}

/// One row of a result.
pub(crate) enum Row<'a> {
    Sqlite(&'a rusqlite::Row<'a>),
    Postgres(&'a postgres::PgRow),
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum DatabaseError {
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    /// An error that the server reported, with its SQLSTATE code.
    #[error("{text} ({code})")]
    Server { code: String, text: String },
    /// The server cannot be reached, or the connection was lost.
    #[error("{}", connection_error(.0))]
    Lost(#[from] io::Error),
    /// The connection cannot be encrypted, or the server does not prove who it is.
    #[error("TLS failed: {0}")]
    Tls(String),
    /// The server requires something that this client does not support, with a hint.
    #[error("{why}")]
    Refused { why: String, next: &'static str },
    /// The version of the tables changed after the store was opened.
    #[error("its tables have been brought to version {0}")]
    VersionChanged(i32),
    /// A value that cannot be decoded.
    #[error("{0}")]
    Unreadable(String),
    /// A row that must exist does not.
    #[error("it does not exist")]
    Missing,
    /// Two histories that should be equal differ in this table.
    #[error("its table `{0}` has something else")]
    Differs(&'static str),
}

fn connection_error(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => "it does not respond".to_owned(),
        io::ErrorKind::UnexpectedEof => "it closed the connection".to_owned(),
        _ => error.to_string(),
    }
}

impl Database {
    /// Calls `each` for every row, in order. The callback must not use the same database.
    pub(crate) fn each(
        &self,
        sql: &str,
        params: &[&dyn ToSql],
        each: &mut dyn FnMut(&Row) -> Result<()>,
    ) -> Result<()> {
        match self {
            Self::Sqlite(connection) => {
                let mut statement = connection.prepare_cached(sql)?;
                let mut rows = statement.query(params)?;
                while let Some(row) = rows.next()? {
                    each(&Row::Sqlite(row))?;
                }
                Ok(())
            }
            Self::Postgres(client) => {
                let mut client = client.borrow_mut();
                let mut shown = false;
                let result = client.each(sql, params, &mut |row| {
                    shown = true;
                    each(&Row::Postgres(row))
                });
                if shown || !client.reconnect_after(&result)? {
                    return result;
                }
                client.each(sql, params, &mut |row| each(&Row::Postgres(row)))
            }
        }
    }

    /// Runs the same query with many sets of parameters, and calls `each` for every row with the
    /// index of its set.
    pub(crate) fn each_of<const N: usize>(
        &self,
        sql: &str,
        all: &[[&dyn ToSql; N]],
        each: &mut dyn FnMut(usize, &Row) -> Result<()>,
    ) -> Result<()> {
        match self {
            Self::Sqlite(_) => all
                .iter()
                .enumerate()
                .try_for_each(|(number, params)| self.each(sql, params, &mut |row| each(number, row))),
            Self::Postgres(client) => {
                let all = all.iter().map(|params| params.as_slice());
                client.borrow_mut().each_of(sql, all, &mut |number, row| each(number, &Row::Postgres(row)))
            }
        }
    }

    /// The number in the first column of the first row.
    pub(crate) fn find(&self, sql: &str, params: &[&dyn ToSql]) -> Result<Option<i64>> {
        match self {
            Self::Sqlite(connection) => {
                Ok(connection.prepare_cached(sql)?.query_row(params, |row| row.get(0)).optional()?)
            }
            Self::Postgres(_) => {
                let mut found = None;
                self.each(sql, params, &mut |row| {
                    found = found.or(Some(row.get(0)?));
                    Ok(())
                })?;
                Ok(found)
            }
        }
    }

    /// Returns the number of changed rows.
    pub(crate) fn execute(&self, sql: &str, params: &[&dyn ToSql]) -> Result<u64> {
        match self {
            Self::Sqlite(connection) => Ok(connection.prepare_cached(sql)?.execute(params)? as u64),
            Self::Postgres(client) => client.borrow_mut().execute(sql, params),
        }
    }

    /// The ids of new rows, in the order of `rows`.
    pub(crate) fn insert<const N: usize>(&self, sql: &str, rows: &[[&dyn ToSql; N]]) -> Result<Vec<i64>> {
        match self {
            Self::Sqlite(connection) => {
                let mut statement = connection.prepare_cached(sql)?;
                rows.iter().map(|params| Ok(statement.insert(params.as_slice())?)).collect()
            }
            Self::Postgres(client) => client.borrow_mut().insert(sql, rows.iter().map(|params| params.as_slice())),
        }
    }

    /// Writes within a transaction without waiting for the result: an error is reported by a later
    /// statement, at the latest by the commit.
    pub(crate) fn put(&self, sql: &str, params: &[&dyn ToSql]) -> Result<()> {
        match self {
            Self::Sqlite(connection) => {
                connection.prepare_cached(sql)?.execute(params).map(drop).map_err(DatabaseError::from)
            }
            Self::Postgres(client) => client.borrow_mut().put(sql, params),
        }
    }

    /// Runs `work` in one write transaction, which is rolled back if it fails. The write lock is
    /// taken at the start: a transaction that reads first and finds out later that another process
    /// has written cannot be saved by waiting.
    pub(crate) fn write<T>(&self, work: impl FnOnce(&Self) -> Result<T>) -> Result<T> {
        let mut open = Transaction(Some(self));
        match self {
            Self::Sqlite(connection) => connection.execute_batch("BEGIN IMMEDIATE")?,
            Self::Postgres(client) => client.borrow_mut().begin(schema::CURRENT_VERSION)?,
        }
        let result = work(self)?;
        match self {
            Self::Sqlite(connection) => connection.execute_batch("COMMIT")?,
            Self::Postgres(client) => client.borrow_mut().commit()?,
        }
        open.0 = None;
        Ok(result)
    }

    /// Runs `work` on one consistent snapshot.
    pub(crate) fn read<T>(&self, work: impl FnOnce(&Self) -> Result<T>) -> Result<T> {
        let _open = Transaction(Some(self));
        match self {
            Self::Sqlite(connection) => connection.execute_batch("BEGIN")?,
            Self::Postgres(client) => client.borrow_mut().begin_reading()?,
        }
        work(self)
    }

    /// See [`Store::leave_log`](crate::Store::leave_log).
    pub(crate) fn leave_log(&self) {
        if let Self::Sqlite(connection) = self {
            // Where it cannot be set, closing takes longer.
            let _ = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
        }
    }

    /// Sets how long to wait for other writers.
    pub(crate) fn set_busy_timeout(&self, timeout: Duration) -> Result<()> {
        match self {
            Self::Sqlite(connection) => Ok(connection.busy_timeout(timeout)?),
            Self::Postgres(client) => {
                client.borrow_mut().set_busy_timeout(timeout);
                Ok(())
            }
        }
    }

    /// Gives the space of deleted rows back.
    pub(crate) fn compact(&self) -> Result<()> {
        match self {
            Self::Sqlite(connection) => {
                connection.execute_batch("VACUUM")?;
                // Until then the file has its old size. Another process may read the old pages.
                let _ = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
                Ok(())
            }
            Self::Postgres(client) => client.borrow_mut().vacuum(),
        }
    }

    /// The bytes that the tables take.
    pub(crate) fn size(&self) -> Result<u64> {
        let sql = match self {
            Self::Sqlite(_) => "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()",
            Self::Postgres(_) => postgres::SIZE,
        };
        Ok(self.find(sql, &[])?.unwrap_or_default().cast_unsigned())
    }

    /// Must be called after rows were inserted with explicit ids, so that new ids follow them.
    pub(crate) fn advance_ids(&self, table: &str) -> Result<()> {
        match self {
            // SQLite derives the next id from the table.
            Self::Sqlite(_) => Ok(()),
            Self::Postgres(client) => client.borrow_mut().advance_ids(table),
        }
    }
}

/// Rolls back on drop, also after a panic, unless it was committed.
struct Transaction<'a>(Option<&'a Database>);

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        // If the rollback fails, the database has rolled back itself, or does so when the
        // connection ends.
        let _ = match self.0 {
            None => Ok(()),
            Some(Database::Sqlite(connection)) => connection.execute_batch("ROLLBACK").map_err(DatabaseError::from),
            Some(Database::Postgres(client)) => client.borrow_mut().rollback(),
        };
    }
}

impl Row<'_> {
    pub(crate) fn value(&self, at: usize) -> Result<ValueRef<'_>> {
        match self {
            Self::Sqlite(row) => Ok(row.get_ref(at)?),
            Self::Postgres(row) => row.value(at),
        }
    }

    pub(crate) fn get<T: FromSql>(&self, at: usize) -> Result<T> {
        T::column_result(self.value(at)?).map_err(|error| unreadable(at, &error))
    }

    pub(crate) fn text(&self, at: usize) -> Result<&str> {
        self.value(at)?.as_str().map_err(|error| unreadable(at, &error))
    }

    pub(crate) fn bytes(&self, at: usize) -> Result<&[u8]> {
        self.value(at)?.as_blob().map_err(|error| unreadable(at, &error))
    }
}

fn unreadable(at: usize, error: &FromSqlError) -> DatabaseError {
    DatabaseError::Unreadable(format!("column {at} of a row: {error}"))
}
