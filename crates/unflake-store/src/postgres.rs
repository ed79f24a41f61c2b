//! A history on a PostgreSQL server.
//!
//! Every statement runs in a transaction that sets what it needs, and none is prepared under a
//! name: so a pooler may give each transaction to another session.

mod address;
mod connection;
mod dialect;
mod password_file;
mod rows;
mod service_file;
mod tables;
mod tls;
mod transport;
mod value;

use std::fmt;
use std::pin::{Pin, pin};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::{join, maybe_done, poll_immediate};
use rusqlite::types::ToSql;
use tokio_postgres::types::{ToSql as PgToSql, Type};
use tokio_postgres::{Error, RowStream};

use crate::database::{DatabaseError, Result};
use connection::ServerConnection;
use rows::ArrayStatement;
use value::PgValue;

pub(crate) use address::{ServerAddress, is_address};
pub(crate) use dialect::SIZE;
pub(crate) use value::PgRow;

/// How long to wait for other writers.
const BUSY_TIMEOUT: Duration = Duration::from_secs(20);
/// Rows that one statement takes, and roughly their bytes.
const BATCH_ROWS: usize = 2_000;
const BATCH_BYTES: usize = 1 << 20;
/// Most rows of a result that are taken at once.
const READY_ROWS: usize = 512;

pub(crate) struct Client {
    address: ServerAddress,
    connection: ServerConnection,
    /// Statements that have not been sent, in order.
    pending: Vec<Pending>,
    pending_size: BatchSize,
    in_transaction: bool,
    /// A statement of the transaction has failed, so the server will roll it back.
    has_failed: bool,
    busy_timeout: Duration,
}

/// One statement, to run with each of these rows of parameters.
struct Pending {
    sql: String,
    rows: Vec<Vec<PgValue>>,
}

#[derive(Default)]
struct BatchSize {
    rows: usize,
    bytes: usize,
}

impl BatchSize {
    fn add(&mut self, row: &[PgValue]) {
        self.rows += 1;
        self.bytes += row.iter().map(PgValue::size).sum::<usize>();
    }

    fn is_full(&self) -> bool {
        self.rows >= BATCH_ROWS || self.bytes >= BATCH_BYTES
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.address)
    }
}

impl Client {
    pub(crate) fn connect(address: &ServerAddress) -> Result<Self> {
        Ok(Self {
            address: address.clone(),
            connection: ServerConnection::open(address)?,
            pending: Vec::new(),
            pending_size: BatchSize::default(),
            in_transaction: false,
            has_failed: false,
            busy_timeout: BUSY_TIMEOUT,
        })
    }

    pub(crate) fn set_busy_timeout(&mut self, timeout: Duration) {
        self.busy_timeout = timeout;
    }

    /// Reconnects after an error if the connection was lost outside of a transaction. True means
    /// that the statement can be retried.
    pub(crate) fn reconnect_after<T>(&mut self, result: &Result<T>) -> Result<bool> {
        let ended = match result {
            Err(DatabaseError::Lost(_)) => true,
            Err(DatabaseError::Server { code, .. }) => dialect::ends_connection(code),
            _ => false,
        };
        if !ended || self.in_transaction {
            return Ok(false);
        }
        self.connection = ServerConnection::open(&self.address)?;
        Ok(true)
    }

    /// What begins a transaction. The timeout frees the locks of a client whose machine is gone.
    fn opening(&self, mode: &str) -> String {
        format!(
            "BEGIN {mode}; SET LOCAL search_path = \"{}\"; SET LOCAL lock_timeout = {};
             SET LOCAL idle_in_transaction_session_timeout = '2min'; SET LOCAL client_min_messages = warning",
            self.address.schema,
            self.busy_timeout.as_millis().max(1)
        )
    }

    /// Starts a transaction that excludes other writers.
    pub(crate) fn begin(&mut self, version: i32) -> Result<()> {
        let opening = self.opening("");
        let result = self.batch(&opening);
        if self.reconnect_after(&result)? {
            self.batch(&opening)?;
        } else {
            result?;
        }
        self.enter();
        match self.lock()? {
            Some(found) if found == version => Ok(()),
            found => Err(DatabaseError::VersionChanged(found.unwrap_or(0))),
        }
    }

    fn enter(&mut self) {
        self.in_transaction = true;
        self.has_failed = false;
        self.forget_pending();
    }

    fn forget_pending(&mut self) {
        self.pending.clear();
        self.pending_size = BatchSize::default();
    }

    /// Waits for the write lock. Returns the version of the tables.
    fn lock(&mut self) -> Result<Option<i32>> {
        let mut found = None;
        self.each(dialect::LOCK, &[], &mut |row| {
            found = Some(crate::database::Row::Postgres(row).get(0)?);
            Ok(())
        })?;
        Ok(found)
    }

    /// Starts a transaction that reads one consistent snapshot.
    pub(crate) fn begin_reading(&mut self) -> Result<()> {
        let opening = self.opening("ISOLATION LEVEL REPEATABLE READ READ ONLY");
        let result = self.batch(&opening);
        if self.reconnect_after(&result)? {
            self.batch(&opening)?;
        } else {
            result?;
        }
        self.enter();
        Ok(())
    }

    pub(crate) fn commit(&mut self) -> Result<()> {
        self.flush()?;
        // PostgreSQL answers the COMMIT of a failed transaction with ROLLBACK instead of an error.
        if self.has_failed {
            return Err(DatabaseError::Unreadable("the server aborted the transaction".to_owned()));
        }
        self.batch("COMMIT")?;
        self.in_transaction = false;
        Ok(())
    }

    pub(crate) fn rollback(&mut self) -> Result<()> {
        self.forget_pending();
        let result = self.batch("ROLLBACK");
        // A lost connection has rolled back its transaction.
        self.in_transaction = result.is_err() && !self.connection.is_lost();
        result
    }

    /// Runs one or several statements without parameters.
    pub(crate) fn batch(&mut self, sql: &str) -> Result<()> {
        self.flush()?;
        let result = self.connection.wait(|client| client.batch_execute(sql));
        self.noted(result)
    }

    fn noted<T>(&mut self, result: Result<T>) -> Result<T> {
        self.has_failed |= result.is_err();
        result
    }

    /// Calls `each` for every row, in order.
    pub(crate) fn each(
        &mut self,
        sql: &str,
        params: &[&dyn ToSql],
        each: &mut dyn FnMut(&PgRow) -> Result<()>,
    ) -> Result<()> {
        let params = typed(params)?;
        if self.in_transaction {
            self.flush()?;
            return self.each_row(&dialect::query(sql), params, 0, each);
        }
        let result = self.each_outside(&dialect::query(sql), params, each);
        let end = if result.is_ok() { "COMMIT" } else { "ROLLBACK" };
        let ended = self.batch(end);
        result.and(ended)
    }

    /// Opens a transaction, which the caller ends, in the round trip of the query.
    fn each_outside(
        &mut self,
        query: &str,
        params: Vec<(PgValue, Type)>,
        each: &mut dyn FnMut(&PgRow) -> Result<()>,
    ) -> Result<()> {
        let opening = self.opening("READ ONLY");
        let rows = self.connection.wait(|client| async move {
            let (opened, rows) = join(client.batch_execute(&opening), client.query_typed_raw(query, params)).await;
            opened.and(rows)
        })?;
        self.each_of_stream(rows, 0, each)
    }

    fn each_row<P: PgToSql + Sync>(
        &mut self,
        query: &str,
        params: Vec<(P, Type)>,
        skipped: usize,
        each: &mut dyn FnMut(&PgRow) -> Result<()>,
    ) -> Result<()> {
        let rows = self.connection.wait(|client| client.query_typed_raw(query, params));
        let rows = self.noted(rows)?;
        self.each_of_stream(rows, skipped, each)
    }

    fn each_of_stream(
        &mut self,
        rows: RowStream,
        skipped: usize,
        each: &mut dyn FnMut(&PgRow) -> Result<()>,
    ) -> Result<()> {
        // Whatever has arrived is taken at once. `each` runs outside of the runtime, because it may
        // use another connection.
        let mut rows = pin!(rows.ready_chunks(READY_ROWS));
        loop {
            let ready = self.connection.complete(async { Ok(rows.next().await) });
            let Some(ready) = self.noted(ready)? else { return Ok(()) };
            for row in ready {
                let row = self.noted(row.map_err(connection::converted))?;
                each(&PgRow::new(row, skipped))?;
            }
        }
    }

    /// Runs the same query with many sets of parameters, and calls `each` for every row with the
    /// index of its set.
    pub(crate) fn each_of<'p>(
        &mut self,
        sql: &str,
        all: impl Iterator<Item = &'p [&'p dyn ToSql]>,
        each: &mut dyn FnMut(usize, &PgRow) -> Result<()>,
    ) -> Result<()> {
        self.flush()?;
        let mut first = 0;
        for_batches(all, &mut |batch| {
            let count = batch.len();
            let ArrayStatement { sql, params } = rows::query(sql, batch);
            self.each_row(&sql, params, 1, &mut |row| {
                let number = row.skipped_number(0)?;
                each(first + usize::try_from(number - 1).unwrap_or_default(), row)
            })?;
            first += count;
            Ok(())
        })
    }

    /// The ids of new rows, in the order of `all`.
    pub(crate) fn insert<'p>(&mut self, sql: &str, all: impl Iterator<Item = &'p [&'p dyn ToSql]>) -> Result<Vec<i64>> {
        self.flush()?;
        let mut ids = Vec::new();
        for_batches(all, &mut |batch| {
            let first = ids.len();
            let statement = rows::insert(&format!("{sql} RETURNING id"), batch);
            let ArrayStatement { sql, params } =
                statement.map_err(|_| DatabaseError::Unreadable("this statement inserts no rows".to_owned()))?;
            self.each_row(&sql, params, 0, &mut |row| {
                ids.push(crate::database::Row::Postgres(row).get(0)?);
                Ok(())
            })?;
            // The rows got ascending numbers, whatever order they are returned in.
            ids[first..].sort_unstable();
            Ok(())
        })?;
        Ok(ids)
    }

    /// Returns the number of changed rows.
    pub(crate) fn execute(&mut self, sql: &str, params: &[&dyn ToSql]) -> Result<u64> {
        self.flush()?;
        let (query, params) = (dialect::query(sql), typed(params)?);
        let result = self.connection.wait(|client| execute(client, query, params));
        self.noted(result)
    }

    /// Sends a statement with the next ones, in order. Its errors appear there.
    pub(crate) fn put(&mut self, sql: &str, params: &[&dyn ToSql]) -> Result<()> {
        let row = values(params)?;
        self.pending_size.add(&row);
        match self.pending.last_mut() {
            Some(last) if last.sql == sql => last.rows.push(row),
            _ => self.pending.push(Pending { sql: sql.to_owned(), rows: vec![row] }),
        }
        if self.pending_size.is_full() { self.flush() } else { Ok(()) }
    }

    /// Runs the statements that were put.
    fn flush(&mut self) -> Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        self.pending_size = BatchSize::default();
        let pending = std::mem::take(&mut self.pending);
        let result = self.connection.wait(|client| {
            let mut sent: Vec<Sent> = Vec::new();
            for Pending { sql, rows } in pending {
                match rows::insert(&sql, rows) {
                    Ok(ArrayStatement { sql, params }) => sent.push(Box::pin(execute(client, sql, params))),
                    Err(rows) => {
                        for row in rows {
                            let params = row.into_iter().map(PgValue::typed).collect();
                            sent.push(Box::pin(execute(client, dialect::query(&sql), params)));
                        }
                    }
                }
            }
            pipelined(sent)
        });
        self.noted(result)
    }

    pub(crate) fn advance_ids(&mut self, table: &str) -> Result<()> {
        self.batch(&dialect::advance_ids(table))
    }
}

/// A statement that is on its way; its result is the number of changed rows.
type Sent<'c> = Pin<Box<dyn Future<Output = Result<u64, Error>> + 'c>>;

/// Sends all statements in order before it waits for the first result. Returns the first error.
async fn pipelined(statements: Vec<Sent<'_>>) -> Result<(), Error> {
    let mut sent: Vec<_> = statements.into_iter().map(|statement| Box::pin(maybe_done(statement))).collect();
    for statement in &mut sent {
        // A statement is sent when it is polled for the first time.
        poll_immediate(statement.as_mut()).await;
    }
    let mut result = Ok(());
    for mut statement in sent {
        statement.as_mut().await;
        result = result.and(statement.as_mut().take_output().unwrap_or(Ok(0)).map(drop));
    }
    result
}

async fn execute<P: PgToSql + Sync>(
    client: &tokio_postgres::Client,
    sql: String,
    params: Vec<(P, Type)>,
) -> Result<u64, Error> {
    let params: Vec<(&(dyn PgToSql + Sync), Type)> =
        params.iter().map(|(param, kind)| (param as &(dyn PgToSql + Sync), kind.clone())).collect();
    client.execute_typed(&sql, &params).await
}

fn values(params: &[&dyn ToSql]) -> Result<Vec<PgValue>> {
    params.iter().map(|param| PgValue::new(*param)).collect()
}

fn typed(params: &[&dyn ToSql]) -> Result<Vec<(PgValue, Type)>> {
    Ok(values(params)?.into_iter().map(PgValue::typed).collect())
}

/// Calls `each` with so many rows at a time as one statement takes.
fn for_batches<'p>(
    all: impl Iterator<Item = &'p [&'p dyn ToSql]>,
    each: &mut dyn FnMut(Vec<Vec<PgValue>>) -> Result<()>,
) -> Result<()> {
    let (mut batch, mut size) = (Vec::new(), BatchSize::default());
    for params in all {
        let row = values(params)?;
        size.add(&row);
        batch.push(row);
        if size.is_full() {
            each(std::mem::take(&mut batch))?;
            size = BatchSize::default();
        }
    }
    if batch.is_empty() { Ok(()) } else { each(batch) }
}
