//! Migrates the tables on a server.

use super::{Client, dialect};
use crate::database::{self, DatabaseError, Result};
use crate::schema::{CURRENT_VERSION, MIGRATIONS};

impl Client {
    /// The version of the tables; 0 means that there are none.
    pub(crate) fn version(&mut self) -> Result<i32> {
        let schema = &self.address.schema;
        // Read from the catalog, and not by `to_regclass`, which may answer from a cache that is
        // older than a table that another process has just made.
        let sql = format!(
            "SELECT count(*) FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
             WHERE c.relname = 'history' AND n.nspname = '{schema}'"
        );
        if self.number(&sql)? == 0 { Ok(0) } else { self.number("SELECT version FROM history") }
    }

    /// Migrates the tables to the current version in one transaction; the caller has checked that
    /// they are not newer.
    pub(crate) fn migrate(&mut self) -> Result<()> {
        let opening = self.opening("");
        self.batch(&opening)?;
        self.enter();
        let result = self.run_migrations().and_then(|()| self.commit());
        if result.is_err() {
            let _ = self.rollback();
        }
        result
    }

    fn run_migrations(&mut self) -> Result<()> {
        let schema = self.address.schema.clone();
        // Before the first migration there is no table to lock.
        self.batch(&format!("SELECT pg_advisory_xact_lock(hashtext('unflake {schema}'))"))?;
        // Checked again under the lock: another process may have migrated the tables.
        let done = match self.version()? {
            0 => {
                // A user who may create tables in a schema may lack the right to create schemas.
                let sql = format!("SELECT count(*) FROM pg_catalog.pg_namespace WHERE nspname = '{schema}'");
                if self.number(&sql)? == 0 {
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

    /// Makes the space of deleted rows usable again. Not in a transaction, and only by the owner.
    pub(crate) fn vacuum(&mut self) -> Result<()> {
        let schema = &self.address.schema;
        let sql = format!("SELECT tablename::text FROM pg_catalog.pg_tables WHERE schemaname = '{schema}'");
        let mut tables: Vec<String> = Vec::new();
        self.each(&sql, &[], &mut |row| {
            tables.push(database::Row::Postgres(row).get(0)?);
            Ok(())
        })?;
        let schema = self.address.schema.clone();
        tables.iter().try_for_each(|table| self.batch(&format!("VACUUM (ANALYZE) \"{schema}\".\"{table}\"")))
    }

    fn number(&mut self, sql: &str) -> Result<i32> {
        let mut found = None;
        self.each(sql, &[], &mut |row| {
            found = Some(database::Row::Postgres(row).get(0)?);
            Ok(())
        })?;
        found.ok_or(DatabaseError::Missing)
    }
}
