//! The tables on a server: their version, and how they come to it.

use rusqlite::types::ToSql;

use super::{Client, dialect};
use crate::database::{self, Error, Result};
use crate::schema::{KNOWN, STEPS};

impl Client {
    /// The version of the tables. 0: there are none.
    pub(crate) fn version(&mut self) -> Result<i32> {
        let schema = self.address.schema.clone();
        if self.number(&format!("SELECT CASE WHEN to_regclass('\"{schema}\".history') IS NULL THEN 0 ELSE 1 END"))? == 0
        {
            return Ok(0);
        }
        self.number("SELECT version FROM history")
    }

    /// Brings the tables to the version that this unflake writes. All or nothing; the caller has made sure that they are
    /// not newer. A client with which this has failed is of no more use.
    pub(crate) fn migrate(&mut self) -> Result<()> {
        // Where there is no table yet there is nothing else to wait at. Before the transaction: within it the server would go on
        // believing what it knew of tables when it began.
        let key = format!("hashtext('unflake {}')", self.address.schema);
        self.batch(&format!("SELECT pg_advisory_lock({key})"))?;
        self.batch("BEGIN")?;
        self.steps()?;
        self.commit()?;
        self.batch(&format!("SELECT pg_advisory_unlock({key})"))
    }

    fn steps(&mut self) -> Result<()> {
        let schema = self.address.schema.clone();
        // Asked again, now that nobody else does the same: another process may have been quicker.
        let done = match self.version()? {
            0 => {
                // Who may make tables in a schema need not be allowed to make schemas.
                if self
                    .number(&format!("SELECT CASE WHEN to_regnamespace('\"{schema}\"') IS NULL THEN 0 ELSE 1 END"))?
                    == 0
                {
                    self.batch(&format!("CREATE SCHEMA \"{schema}\""))?;
                }
                self.batch("CREATE TABLE history (version INTEGER NOT NULL); INSERT INTO history VALUES (0)")?;
                0
            }
            found => {
                self.lock()?;
                found as usize
            }
        };
        for (number, step) in STEPS.iter().enumerate().skip(done) {
            self.batch(&format!("{}\n{}", dialect::step(step), dialect::beside(number + 1)))?;
        }
        self.batch(&format!("UPDATE history SET version = {KNOWN}"))
    }

    fn number(&mut self, sql: &str) -> Result<i32> {
        let mut found = None;
        self.each(sql, std::iter::once(&[] as &[&dyn ToSql]), &mut |_, row| {
            found = Some(database::Row::Postgres(row).get(0)?);
            Ok(())
        })?;
        found.ok_or(Error::Missing)
    }
}
