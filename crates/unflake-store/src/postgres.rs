//! A minimal PostgreSQL client: parametrized queries, pipelining and transactions. It has no TLS,
//! no COPY and no cancellation.

mod address;
mod auth;
mod dialect;
mod login;
mod tables;
mod value;
mod wire;

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::types::ToSql;

use crate::database::{DatabaseError, Result};
use wire::{Message, Wire};

pub(crate) use address::{ServerAddress, is_address};
pub(crate) use value::PgRow;

/// A server that sends nothing for this long is considered lost.
const READ_TIMEOUT: Duration = Duration::from_secs(300);
/// How long to wait for other writers.
const BUSY_TIMEOUT: Duration = Duration::from_secs(20);
/// Queries that are sent before their results are read. More could fill both socket buffers and
/// deadlock.
const PIPELINE_QUERIES: usize = 400;
const PIPELINE_BYTES: usize = 64 << 10;

pub(crate) struct Client {
    address: ServerAddress,
    wire: Wire,
    statements: HashMap<String, Arc<Statement>>,
    /// Queries whose results have not been read.
    unread: usize,
    in_transaction: bool,
    busy_timeout: Duration,
}

/// A prepared statement; its name is this number.
struct Statement {
    number: usize,
    parameters: Vec<u32>,
    columns: Vec<u32>,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.address)
    }
}

impl Client {
    /// Connects and selects the schema of the address, without checking that it has tables.
    pub(crate) fn connect(address: &ServerAddress) -> Result<Self> {
        let wire = login::connect(address)?;
        let address = address.clone();
        let mut client = Self {
            address,
            wire,
            statements: HashMap::new(),
            unread: 0,
            in_transaction: false,
            busy_timeout: BUSY_TIMEOUT,
        };
        client.configure()?;
        Ok(client)
    }

    /// Configures the connection. The keepalive settings release the locks of a client whose
    /// machine is gone.
    fn configure(&mut self) -> Result<()> {
        self.wire.set_timeout(READ_TIMEOUT)?;
        self.batch(&format!(
            "SET search_path = \"{}\"; SET lock_timeout = {}; SET idle_in_transaction_session_timeout = '2min';
             SET tcp_keepalives_idle = 60; SET client_min_messages = warning",
            self.address.schema,
            self.busy_timeout.as_millis().max(1)
        ))
    }

    pub(crate) fn set_busy_timeout(&mut self, timeout: Duration) -> Result<()> {
        self.busy_timeout = timeout;
        self.batch(&format!("SET lock_timeout = {}", timeout.as_millis().max(1)))
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
        let timeout = self.busy_timeout;
        *self = Self::connect(&self.address)?;
        self.set_busy_timeout(timeout)?;
        Ok(true)
    }

    /// Starts a transaction that excludes other writers.
    pub(crate) fn begin(&mut self, version: i32) -> Result<()> {
        let result = self.batch("BEGIN");
        if self.reconnect_after(&result)? {
            self.batch("BEGIN")?;
        } else {
            result?;
        }
        self.in_transaction = true;
        match self.lock()? {
            Some(found) if found == version => Ok(()),
            found => Err(DatabaseError::VersionChanged(found.unwrap_or(0))),
        }
    }

    /// Waits for the write lock. Returns the version of the tables.
    fn lock(&mut self) -> Result<Option<i32>> {
        let mut found = None;
        self.each(dialect::LOCK, std::iter::once(&[] as &[&dyn ToSql]), &mut |_, row| {
            found = Some(crate::database::Row::Postgres(row).get(0)?);
            Ok(())
        })?;
        Ok(found)
    }

    /// Starts a transaction that reads one consistent snapshot.
    pub(crate) fn begin_reading(&mut self) -> Result<()> {
        self.batch("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")?;
        self.in_transaction = true;
        Ok(())
    }

    pub(crate) fn commit(&mut self) -> Result<()> {
        self.drain()?;
        self.batch("COMMIT")?;
        self.in_transaction = false;
        Ok(())
    }

    pub(crate) fn rollback(&mut self) -> Result<()> {
        // Errors of earlier writes do not matter, because everything is rolled back.
        let _ = self.drain();
        let result = self.batch("ROLLBACK");
        // A lost connection has rolled back its transaction.
        self.in_transaction = result.is_err() && !self.wire.is_broken();
        result
    }

    /// Runs one or several statements without parameters.
    pub(crate) fn batch(&mut self, sql: &str) -> Result<()> {
        self.drain()?;
        self.wire.put(b'Q', |out| wire::text(out, sql));
        self.wire.send()?;
        let mut tag = String::new();
        self.read_results(&mut |message| {
            if message.kind == b'C' {
                tag = message.reader().text();
            }
            Ok(())
        })?;
        // PostgreSQL answers the COMMIT of a failed transaction with ROLLBACK instead of an error.
        if sql == "COMMIT" && tag != "COMMIT" {
            return Err(DatabaseError::Unreadable("the server aborted the transaction".to_owned()));
        }
        Ok(())
    }

    /// Runs the same query with many sets of parameters, and calls `each` for every row with the
    /// index of its set.
    pub(crate) fn each<'p>(
        &mut self,
        sql: &str,
        all: impl Iterator<Item = &'p [&'p dyn ToSql]>,
        each: &mut dyn FnMut(usize, &PgRow) -> Result<()>,
    ) -> Result<()> {
        self.drain()?;
        let statement = self.statement(sql)?;
        let mut all = all.peekable();
        let mut first = 0;
        while all.peek().is_some() {
            let mut sent = 0;
            while let Some(params) = all.next_if(|_| sent < PIPELINE_QUERIES && self.wire.pending() < PIPELINE_BYTES) {
                let put = self.bind(&statement, params);
                if put.is_err() {
                    // The results of the earlier queries are still unread.
                    self.unread = sent;
                    return put;
                }
                sent += 1;
            }
            self.sync()?;
            let mut number = first;
            self.read_results(&mut |message| {
                match message.kind {
                    b'D' => each(number, &PgRow::new(&mut message.body, &statement.columns))?,
                    b'C' => number += 1,
                    _ => {}
                }
                Ok(())
            })?;
            first += sent;
        }
        Ok(())
    }

    /// Returns the number of changed rows.
    pub(crate) fn execute(&mut self, sql: &str, params: &[&dyn ToSql]) -> Result<u64> {
        self.drain()?;
        let statement = self.statement(sql)?;
        self.bind(&statement, params)?;
        self.sync()?;
        let mut changed = 0;
        self.read_results(&mut |message| {
            if message.kind == b'C' {
                let tag = message.reader().text();
                changed = tag.rsplit(' ').next().and_then(|count| count.parse().ok()).unwrap_or(0);
            }
            Ok(())
        })?;
        Ok(changed)
    }

    /// Sends a statement without pending for its result.
    pub(crate) fn put(&mut self, sql: &str, params: &[&dyn ToSql]) -> Result<()> {
        let statement = self.statement(sql)?;
        self.bind(&statement, params)?;
        self.unread += 1;
        if self.unread >= PIPELINE_QUERIES || self.wire.pending() >= PIPELINE_BYTES { self.drain() } else { Ok(()) }
    }

    pub(crate) fn advance_ids(&mut self, table: &str) -> Result<()> {
        self.batch(&dialect::advance_ids(table))
    }

    /// Reads the results of statements that were sent with `put`.
    fn drain(&mut self) -> Result<()> {
        if self.unread == 0 {
            return Ok(());
        }
        self.unread = 0;
        self.sync()?;
        self.read_results(&mut |_| Ok(()))
    }

    /// Ends a pipeline and sends it.
    fn sync(&mut self) -> Result<()> {
        self.wire.put(b'S', |_| {});
        Ok(self.wire.send()?)
    }

    fn bind(&mut self, statement: &Statement, params: &[&dyn ToSql]) -> Result<()> {
        let mut values = Vec::new();
        value::encode(params, &statement.parameters, &mut values)?;
        self.wire.put(b'B', |out| {
            out.push(0);
            wire::text(out, &statement.number.to_string());
            // Parameters and results in the binary format.
            out.extend([0, 1, 0, 1]);
            out.extend(&values);
            out.extend([0, 1, 0, 1]);
        });
        self.wire.put(b'E', |out| out.extend([0; 5]));
        Ok(())
    }

    fn statement(&mut self, sql: &str) -> Result<Arc<Statement>> {
        if let Some(known) = self.statements.get(sql) {
            return Ok(Arc::clone(known));
        }
        self.drain()?;
        let number = self.statements.len();
        let name = number.to_string();
        self.wire.put(b'P', |out| {
            wire::text(out, &name);
            wire::text(out, &dialect::query(sql));
            out.extend([0; 2]);
        });
        self.wire.put(b'D', |out| {
            out.push(b'S');
            wire::text(out, &name);
        });
        self.sync()?;
        let mut statement = Statement { number, parameters: Vec::new(), columns: Vec::new() };
        self.read_results(&mut |message| {
            match message.kind {
                b't' => statement.parameters = value::parameters(message.reader()),
                b'T' => statement.columns = value::columns(message.reader()),
                _ => {}
            }
            Ok(())
        })?;
        let statement = Arc::new(statement);
        self.statements.insert(sql.to_owned(), Arc::clone(&statement));
        Ok(statement)
    }

    /// Reads all messages until the server is ready for the next query. Returns the first error,
    /// and still reads what follows it, so that queries and results stay in step.
    fn read_results(&mut self, each: &mut dyn FnMut(&mut Message) -> Result<()>) -> Result<()> {
        let mut result = Ok(());
        let mut message = Message { kind: 0, body: Vec::new() };
        loop {
            self.wire.receive_into(&mut message)?;
            match message.kind {
                b'Z' => return result,
                b'E' => {
                    let error = login::server_error(&message);
                    // The server sends nothing after this error.
                    if matches!(&error, DatabaseError::Server { code, .. } if dialect::ends_connection(code)) {
                        return result.and(Err(error));
                    }
                    result = result.and(Err(error));
                }
                // Notices and changed settings.
                b'N' | b'S' | b'A' => {}
                _ if result.is_ok() => result = each(&mut message),
                _ => {}
            }
        }
    }
}

impl Drop for Client {
    /// Without this message the server logs an unexpected disconnect.
    fn drop(&mut self) {
        self.wire.put(b'X', |_| {});
        let _: io::Result<()> = self.wire.send();
    }
}
