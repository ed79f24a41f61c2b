//! The audit log: who changed what, and when.

use rusqlite::params;
use unflake_model::Timestamp;

use crate::database::Result;
use crate::read::limit_param;
use crate::write::Writer;
use crate::{Store, StoreError};

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    pub at: Timestamp,
    pub who: String,
    /// Such as `quarantine-add`.
    pub action: String,
    /// What was changed, such as the name of a test.
    pub what: String,
    pub detail: String,
}

impl Store {
    /// Makes a change outside of the history, and logs it: if the change fails, nothing is logged, and
    /// where nothing can be logged, nothing is changed.
    pub fn audited<T, E: From<StoreError>>(
        &mut self,
        entry: &AuditEntry,
        change: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let mut refused = None;
        let written = self.write(|writer| {
            writer.audit(entry)?;
            // On a server what was put is not sent yet.
            writer.database.find("SELECT max(id) FROM audit", &[])?;
            match change() {
                Ok(changed) => Ok(changed),
                Err(error) => {
                    refused = Some(error);
                    // Ends the transaction without a change.
                    Err(crate::database::DatabaseError::Missing)
                }
            }
        });
        match (written, refused) {
            (_, Some(error)) => Err(error),
            (written, None) => written.map_err(E::from),
        }
    }

    /// The changes, newest first, from the `skip`th on.
    pub fn audit_log(&self, skip: usize, limit: usize) -> Result<Vec<AuditEntry>, StoreError> {
        self.list(
            "SELECT at, who, action, what, detail FROM audit ORDER BY id DESC LIMIT ? OFFSET ?",
            params![limit_param(limit), limit_param(skip)],
            |row| {
                Ok(AuditEntry {
                    at: Timestamp(row.get(0)?),
                    who: row.get(1)?,
                    action: row.get(2)?,
                    what: row.get(3)?,
                    detail: row.get(4)?,
                })
            },
        )
    }

    /// How many changes were logged.
    pub fn audit_count(&self) -> Result<usize, StoreError> {
        let found = self.list("SELECT count(*) FROM audit", &[], |row| row.get::<i64>(0))?;
        Ok(found.into_iter().next().map_or(0, |count| count.max(0) as usize))
    }
}

impl Writer<'_> {
    pub(crate) fn audit(&mut self, entry: &AuditEntry) -> Result<()> {
        self.database.put(
            "INSERT INTO audit (at, who, action, what, detail) VALUES (?, ?, ?, ?, ?)",
            params![entry.at.0, entry.who, entry.action, entry.what, entry.detail],
        )
    }
}
