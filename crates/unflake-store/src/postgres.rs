//! A client for PostgreSQL, no larger than the store needs: questions with parameters, many of them sent before the first
//! answer is read, and transactions. Of the protocol it leaves out encryption, COPY and cancelling.

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

use crate::database::{Error, Result};
use wire::{Message, Wire};

pub(crate) use address::{Address, is_address};
pub(crate) use value::Row;

/// A server that says nothing for so long is not there any more.
const SILENCE: Duration = Duration::from_secs(300);
/// How long to wait for others that write.
const PATIENCE: Duration = Duration::from_secs(20);
/// Questions that are under way before their answers are read. More could fill the server's way back while ours is full.
const AT_ONCE: usize = 400;
const BYTES_AT_ONCE: usize = 64 << 10;

pub(crate) struct Client {
    address: Address,
    wire: Wire,
    statements: HashMap<String, Arc<Statement>>,
    /// Questions that were put, and whose answers nobody has read.
    unread: usize,
    in_transaction: bool,
    patience: Duration,
}

/// A question that the server knows, by the number in its name.
struct Statement {
    number: usize,
    takes: Vec<u32>,
    gives: Vec<u32>,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.address)
    }
}

impl Client {
    /// A connection on which questions about the tables of the address can be asked. Whether there are any is not looked at.
    pub(crate) fn connect(address: &Address) -> Result<Self> {
        let wire = login::connect(address)?;
        let address = address.clone();
        let mut client =
            Self { address, wire, statements: HashMap::new(), unread: 0, in_transaction: false, patience: PATIENCE };
        client.settle()?;
        Ok(client)
    }

    /// What holds for the whole connection. A client whose machine is gone must not keep others waiting for ever.
    fn settle(&mut self) -> Result<()> {
        self.wire.patience(SILENCE)?;
        self.batch(&format!(
            "SET search_path = \"{}\"; SET lock_timeout = {}; SET idle_in_transaction_session_timeout = '2min';
             SET tcp_keepalives_idle = 60; SET client_min_messages = warning",
            self.address.schema,
            self.patience.as_millis().max(1)
        ))
    }

    pub(crate) fn patience(&mut self, patience: Duration) -> Result<()> {
        self.patience = patience;
        self.batch(&format!("SET lock_timeout = {}", patience.as_millis().max(1)))
    }

    /// After an answer: whether the connection has ended, and nothing was under way that has ended with it. Then it is made anew, and what
    /// was asked can be asked again.
    pub(crate) fn revive<T>(&mut self, answer: &Result<T>) -> Result<bool> {
        let ended = match answer {
            Err(Error::Gone(_)) => true,
            Err(Error::Said { code, .. }) => dialect::has_ended(code),
            _ => false,
        };
        if !ended || self.in_transaction {
            return Ok(false);
        }
        let patience = self.patience;
        *self = Self::connect(&self.address)?;
        self.patience(patience)?;
        Ok(true)
    }

    /// A transaction that is the only one that writes.
    pub(crate) fn begin(&mut self, version: i32) -> Result<()> {
        let answer = self.batch("BEGIN");
        if self.revive(&answer)? {
            self.batch("BEGIN")?;
        } else {
            answer?;
        }
        self.in_transaction = true;
        match self.lock()? {
            Some(found) if found == version => Ok(()),
            found => Err(Error::Changed(found.unwrap_or(0))),
        }
    }

    /// Waits until nobody else writes. The version of the tables.
    fn lock(&mut self) -> Result<Option<i32>> {
        let mut found = None;
        self.each(dialect::LOCK, std::iter::once(&[] as &[&dyn ToSql]), &mut |_, row| {
            found = Some(crate::database::Row::Postgres(row).get(0)?);
            Ok(())
        })?;
        Ok(found)
    }

    /// A transaction in which everything that is read is of one moment.
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
        // What was put may have failed: that it is undone is all that is wanted.
        let _ = self.drain();
        let undone = self.batch("ROLLBACK");
        // A connection that has ended has taken the transaction with it.
        self.in_transaction = undone.is_err() && !self.wire.is_broken();
        undone
    }

    /// One or several statements without parameters.
    pub(crate) fn batch(&mut self, sql: &str) -> Result<()> {
        self.drain()?;
        self.wire.put(b'Q', |out| wire::text(out, sql));
        self.wire.send()?;
        let mut tag = String::new();
        self.answers(&mut |message| {
            if message.kind == b'C' {
                tag = message.reader().text();
            }
            Ok(())
        })?;
        // A transaction in which something went wrong is given up with a kind word.
        if sql == "COMMIT" && tag != "COMMIT" {
            return Err(Error::Unreadable("the server has given up what was written".to_owned()));
        }
        Ok(())
    }

    /// Asks the same with many parameters, and calls back for each row with the number of those that it answers.
    pub(crate) fn each<'p>(
        &mut self,
        sql: &str,
        all: impl Iterator<Item = &'p [&'p dyn ToSql]>,
        each: &mut dyn FnMut(usize, &Row) -> Result<()>,
    ) -> Result<()> {
        self.drain()?;
        let statement = self.statement(sql)?;
        let mut all = all.peekable();
        let mut first = 0;
        while all.peek().is_some() {
            let mut asked = 0;
            while let Some(params) = all.next_if(|_| asked < AT_ONCE && self.wire.waiting() < BYTES_AT_ONCE) {
                let put = self.ask(&statement, params);
                if put.is_err() {
                    // Those before it are still to be read.
                    self.unread = asked;
                    return put;
                }
                asked += 1;
            }
            self.sync()?;
            let mut number = first;
            self.answers(&mut |message| {
                match message.kind {
                    b'D' => each(number, &Row::new(&mut message.body, &statement.gives))?,
                    b'C' => number += 1,
                    _ => {}
                }
                Ok(())
            })?;
            first += asked;
        }
        Ok(())
    }

    /// How many rows it changed.
    pub(crate) fn execute(&mut self, sql: &str, params: &[&dyn ToSql]) -> Result<u64> {
        self.drain()?;
        let statement = self.statement(sql)?;
        self.ask(&statement, params)?;
        self.sync()?;
        let mut changed = 0;
        self.answers(&mut |message| {
            if message.kind == b'C' {
                let tag = message.reader().text();
                changed = tag.rsplit(' ').next().and_then(|count| count.parse().ok()).unwrap_or(0);
            }
            Ok(())
        })?;
        Ok(changed)
    }

    /// Without waiting for the answer.
    pub(crate) fn put(&mut self, sql: &str, params: &[&dyn ToSql]) -> Result<()> {
        let statement = self.statement(sql)?;
        self.ask(&statement, params)?;
        self.unread += 1;
        if self.unread >= AT_ONCE || self.wire.waiting() >= BYTES_AT_ONCE { self.drain() } else { Ok(()) }
    }

    pub(crate) fn count_on(&mut self, table: &str) -> Result<()> {
        self.batch(&dialect::count_on(table))
    }

    /// Reads the answers to what was put.
    fn drain(&mut self) -> Result<()> {
        if self.unread == 0 {
            return Ok(());
        }
        self.unread = 0;
        self.sync()?;
        self.answers(&mut |_| Ok(()))
    }

    /// Ends a row of questions and sends them.
    fn sync(&mut self) -> Result<()> {
        self.wire.put(b'S', |_| {});
        Ok(self.wire.send()?)
    }

    fn ask(&mut self, statement: &Statement, params: &[&dyn ToSql]) -> Result<()> {
        let mut values = Vec::new();
        value::encode(params, &statement.takes, &mut values)?;
        self.wire.put(b'B', |out| {
            out.push(0);
            wire::text(out, &statement.number.to_string());
            // Everything there and back as bytes, not as text.
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
            wire::text(out, &dialect::question(sql));
            out.extend([0; 2]);
        });
        self.wire.put(b'D', |out| {
            out.push(b'S');
            wire::text(out, &name);
        });
        self.sync()?;
        let mut statement = Statement { number, takes: Vec::new(), gives: Vec::new() };
        self.answers(&mut |message| {
            match message.kind {
                b't' => statement.takes = value::parameters(message.reader()),
                b'T' => statement.gives = value::columns(message.reader()),
                _ => {}
            }
            Ok(())
        })?;
        let statement = Arc::new(statement);
        self.statements.insert(sql.to_owned(), Arc::clone(&statement));
        Ok(statement)
    }

    /// Reads all answers up to the server's word that it waits for the next question. The first thing that went wrong is what is
    /// told; what comes after it is read all the same, so that question and answer stay together.
    fn answers(&mut self, each: &mut dyn FnMut(&mut Message) -> Result<()>) -> Result<()> {
        let mut result = Ok(());
        let mut message = Message { kind: 0, body: Vec::new() };
        loop {
            self.wire.receive_into(&mut message)?;
            match message.kind {
                b'Z' => return result,
                b'E' => {
                    let error = login::said(&message);
                    // After this it says nothing more.
                    if matches!(&error, Error::Said { code, .. } if dialect::has_ended(code)) {
                        return result.and(Err(error));
                    }
                    result = result.and(Err(error));
                }
                // Notices, and settings that changed: nobody asked.
                b'N' | b'S' | b'A' => {}
                _ if result.is_ok() => result = each(&mut message),
                _ => {}
            }
        }
    }
}

impl Drop for Client {
    /// Without it the server writes into its log that we have died.
    fn drop(&mut self) {
        self.wire.put(b'X', |_| {});
        let _: io::Result<()> = self.wire.send();
    }
}
