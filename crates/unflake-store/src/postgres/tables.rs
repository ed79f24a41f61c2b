//! Migrates the tables on a server.

use rusqlite::types::ToSql;

use super::{Client, dialect};
use crate::database::{self, DatabaseError, Result};
use crate::schema::{CURRENT_VERSION, MIGRATIONS};

impl Client {
    /// The version of the tables; 0 means that there are none.
    pub(crate) fn version(&mut self) -> Result<i32> {
        let schema = self.address.schema.clone();
        if self.number(&format!("SELECT CASE WHEN to_regclass('\"{schema}\".history') IS NULL THEN 0 ELSE 1 END"))? == 0
        {
            return Ok(0);
        }
        self.number("SELECT version FROM history")
    }

    /// Migrates the tables to the current version in one transaction; the caller has checked that
    /// they are not newer. After an error the client cannot be used any more.
    pub(crate) fn migrate(&mut self) -> Result<()> {
        // Before the first migration there is no table to lock, so an advisory lock is used. It is
        // taken before the transaction, whose catalog snapshot would otherwise be too old.
        let key = format!("hashtext('unflake {}')", self.address.schema);
        self.batch(&format!("SELECT pg_advisory_lock({key})"))?;
        self.batch("BEGIN")?;
        self.run_migrations()?;
        self.commit()?;
        self.batch(&format!("SELECT pg_advisory_unlock({key})"))
    }

    fn run_migrations(&mut self) -> Result<()> {
        let schema = self.address.schema.clone();
        // Checked again under the lock: another process may have migrated the tables.
        let done = match self.version()? {
            0 => {
                // A user who may create tables in a schema may lack the right to create schemas.
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
        for (number, migration) in MIGRATIONS.iter().enumerate().skip(done) {
            self.batch(&format!("{}\n{}", dialect::migration(migration), dialect::after_migration(number + 1)))?;
        }
        self.batch(&format!("UPDATE history SET version = {CURRENT_VERSION}"))
    }

    fn number(&mut self, sql: &str) -> Result<i32> {
        let mut found = None;
        self.each(sql, std::iter::once(&[] as &[&dyn ToSql]), &mut |_, row| {
            found = Some(database::Row::Postgres(row).get(0)?);
            Ok(())
        })?;
        found.ok_or(DatabaseError::Missing)
    }
}
