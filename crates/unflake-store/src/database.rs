//! The one place that knows which database it is. Everything else is written once, in SQL that both understand: parameters
//! as `?` or `?1`, values as SQLite has them.

use std::cell::RefCell;
use std::fmt;
use std::io;
use std::time::Duration;

use rusqlite::types::{FromSql, FromSqlError, ToSql, ValueRef};
use rusqlite::{Connection, OptionalExtension};

use crate::postgres::{self, Client};
use crate::schema;

pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug)]
pub(crate) enum Database {
    Sqlite(Connection),
    /// Answers are read while others look at them, so it is borrowed for each question.
    Postgres(Box<RefCell<Client>>),
}

/// One row of an answer.
pub(crate) enum Row<'a> {
    Sqlite(&'a rusqlite::Row<'a>),
    Postgres(&'a postgres::Row<'a>),
}

#[derive(Debug)]
pub(crate) enum Error {
    Sqlite(rusqlite::Error),
    /// What a server says, with the code of five letters that PostgreSQL has for it.
    Said {
        code: String,
        text: String,
    },
    /// A server cannot be reached, or is gone.
    Gone(io::Error),
    /// The server asks for something that is not done; and what to do next.
    Refused {
        why: String,
        next: &'static str,
    },
    /// The tables have another version than they had when the store was opened.
    Changed(i32),
    /// A value that is not what it should be.
    Unreadable(String),
    /// What has to be there is not.
    Missing,
    /// Two histories that are to be one have something else in a table.
    Differs(&'static str),
}

impl Database {
    /// Calls back for each row, in order. What is called must not ask the same database anything.
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
                let answer = client.each(sql, std::iter::once(params), &mut |_, row| {
                    shown = true;
                    each(&Row::Postgres(row))
                });
                if shown || !client.revive(&answer)? {
                    return answer;
                }
                client.each(sql, std::iter::once(params), &mut |_, row| each(&Row::Postgres(row)))
            }
        }
    }

    /// Asks the same for many parameters, and calls back for each row with the number of those it answers.
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
                client.borrow_mut().each(sql, all, &mut |number, row| each(number, &Row::Postgres(row)))
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

    /// How many rows it changed.
    pub(crate) fn execute(&self, sql: &str, params: &[&dyn ToSql]) -> Result<u64> {
        match self {
            Self::Sqlite(connection) => Ok(connection.prepare_cached(sql)?.execute(params)? as u64),
            Self::Postgres(client) => client.borrow_mut().execute(sql, params),
        }
    }

    /// The ids of new rows, in the order in which they are given.
    pub(crate) fn insert<const N: usize>(&self, sql: &str, rows: &[[&dyn ToSql; N]]) -> Result<Vec<i64>> {
        match self {
            Self::Sqlite(connection) => {
                let mut statement = connection.prepare_cached(sql)?;
                rows.iter().map(|params| Ok(statement.insert(params.as_slice())?)).collect()
            }
            Self::Postgres(client) => {
                let mut ids = Vec::with_capacity(rows.len());
                let all = rows.iter().map(|params| params.as_slice());
                client.borrow_mut().each(&format!("{sql} RETURNING id"), all, &mut |_, row| {
                    ids.push(Row::Postgres(row).get(0)?);
                    Ok(())
                })?;
                Ok(ids)
            }
        }
    }

    /// Within a transaction. Nobody waits for the answer: that it failed may be told by what is asked next, and is at the latest when the
    /// transaction ends.
    pub(crate) fn put(&self, sql: &str, params: &[&dyn ToSql]) -> Result<()> {
        match self {
            Self::Sqlite(connection) => connection.prepare_cached(sql)?.execute(params).map(drop).map_err(Error::from),
            Self::Postgres(client) => client.borrow_mut().put(sql, params),
        }
    }

    /// Everything that `work` writes, or nothing where it fails. It takes the lock for writing at once: a transaction that reads
    /// first and finds out later that somebody else has written could not be saved by waiting.
    pub(crate) fn write<T>(&self, work: impl FnOnce(&Self) -> Result<T>) -> Result<T> {
        let mut open = Transaction(Some(self));
        match self {
            Self::Sqlite(connection) => connection.execute_batch("BEGIN IMMEDIATE")?,
            Self::Postgres(client) => client.borrow_mut().begin(schema::KNOWN)?,
        }
        let result = work(self)?;
        match self {
            Self::Sqlite(connection) => connection.execute_batch("COMMIT")?,
            Self::Postgres(client) => client.borrow_mut().commit()?,
        }
        open.0 = None;
        Ok(result)
    }

    /// All that `work` reads is of one moment.
    pub(crate) fn read<T>(&self, work: impl FnOnce(&Self) -> Result<T>) -> Result<T> {
        let _open = Transaction(Some(self));
        match self {
            Self::Sqlite(connection) => connection.execute_batch("BEGIN")?,
            Self::Postgres(client) => client.borrow_mut().begin_reading()?,
        }
        work(self)
    }

    /// How long to wait for others that write.
    pub(crate) fn patience(&self, patience: Duration) -> Result<()> {
        match self {
            Self::Sqlite(connection) => Ok(connection.busy_timeout(patience)?),
            Self::Postgres(client) => client.borrow_mut().patience(patience),
        }
    }

    /// To be said after rows came in with the ids that they have elsewhere: new ones follow after them.
    pub(crate) fn count_on(&self, table: &str) -> Result<()> {
        match self {
            // It looks for itself.
            Self::Sqlite(_) => Ok(()),
            Self::Postgres(client) => client.borrow_mut().count_on(table),
        }
    }
}

/// Comes to nothing unless somebody says otherwise: also where a panic ends it.
struct Transaction<'a>(Option<&'a Database>);

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        // Where even that fails, the database has done so by itself, or will when the connection ends.
        let _ = match self.0 {
            None => Ok(()),
            Some(Database::Sqlite(connection)) => connection.execute_batch("ROLLBACK").map_err(Error::from),
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

fn unreadable(at: usize, error: &FromSqlError) -> Error {
    Error::Unreadable(format!("column {at} of a row: {error}"))
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Gone(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(error) => error.fmt(f),
            Self::Said { code, text } => write!(f, "{text} ({code})"),
            Self::Gone(error) => match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => f.write_str("it does not answer"),
                io::ErrorKind::UnexpectedEof => f.write_str("it has closed the connection"),
                _ => error.fmt(f),
            },
            Self::Refused { why, .. } | Self::Unreadable(why) => f.write_str(why),
            Self::Changed(version) => write!(f, "its tables have been brought to version {version}"),
            Self::Differs(table) => write!(f, "its table `{table}` has something else"),
            Self::Missing => f.write_str("what it is about is not there"),
        }
    }
}

impl std::error::Error for Error {}
