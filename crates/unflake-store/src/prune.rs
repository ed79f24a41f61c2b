//! Removes old results, when the user asks for it, and what nothing refers to any more.

use rusqlite::params;
use rusqlite::types::ToSql;
use unflake_model::Timestamp;

use crate::database::{Database, DatabaseError, Result};
use crate::write::RowIds;
use crate::{Store, StoreError};

/// What to remove.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// Runs and imported reports that started before. Findings, feedback, dependencies and the
    /// names of tests stay.
    pub runs_before: Option<Timestamp>,
    /// What attempts printed before. Outcomes and failures stay.
    pub output_before: Option<Timestamp>,
}

/// What was removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PruneCounts {
    pub runs: u64,
    pub reports: u64,
    pub attempts: u64,
    /// Attempts that lost their output.
    pub outputs: u64,
    pub texts: u64,
}

/// A run without an end was killed, or is still going on: nothing runs for so long.
const LONGEST_RUN: i64 = 7 * 24 * 3600 * 1_000_000;

/// The columns that refer to texts. Without an index on them, the database would read each table
/// whole for each text that it removes, to see whether it is still referred to.
const TEXT_COLUMNS: [(&str, &str); 14] = [
    ("attempt", "stdout"),
    ("attempt", "stderr"),
    ("failure", "kind"),
    ("failure", "message"),
    ("failure", "trace"),
    ("failure", "file"),
    ("dependency", "own"),
    ("dependency", "searched"),
    ("reported_failure", "kind"),
    ("reported_failure", "message"),
    ("reported_failure", "trace"),
    ("sample", "groups"),
    ("split", "body"),
    ("shard", "planned"),
];

impl Store {
    /// Removes in one transaction. With `dry_run` nothing changes, and the counts are what would be
    /// removed.
    pub fn prune(&mut self, retention: &Retention, dry_run: bool) -> Result<PruneCounts, StoreError> {
        let mut counts = PruneCounts::default();
        let result = self.database.write(|database| {
            counts = remove(database, retention)?;
            // Ends the transaction without a change.
            if dry_run { Err(DatabaseError::Missing) } else { Ok(()) }
        });
        // Ids of removed rows are invalid.
        self.ids = RowIds::default();
        match result {
            Err(DatabaseError::Missing) if dry_run => Ok(counts),
            result => result.map(|()| counts).map_err(|error| self.failed(error)),
        }
    }

    /// Gives the space of removed rows back: to the file system, or on a server to the tables.
    pub fn compact(&mut self) -> Result<(), StoreError> {
        self.database.compact().map_err(|error| self.failed(error))
    }

    /// The bytes that the history takes.
    pub fn size(&self) -> Result<u64, StoreError> {
        self.database.size().map_err(|error| self.failed(error))
    }
}

fn remove(database: &Database, retention: &Retention) -> Result<PruneCounts> {
    let indexes = || TEXT_COLUMNS.iter().chain(&[("sample", "assertion")]).enumerate();
    for (number, (table, column)) in indexes() {
        let sql = format!("CREATE INDEX prune_{number} ON {table} ({column}) WHERE {column} IS NOT NULL");
        database.execute(&sql, &[])?;
    }
    let counts = remove_rows(database, retention)?;
    for (number, _) in indexes() {
        database.execute(&format!("DROP INDEX prune_{number}"), &[])?;
    }
    Ok(counts)
}

fn remove_rows(database: &Database, retention: &Retention) -> Result<PruneCounts> {
    let mut counts = PruneCounts::default();
    let count = |sql: &str, params: &[&dyn ToSql]| database.execute(sql, params);
    if let Some(before) = retention.output_before {
        let sql = "UPDATE attempt SET stdout = NULL, stderr = NULL
                   WHERE started < ? AND (stdout IS NOT NULL OR stderr IS NOT NULL)";
        counts.outputs = count(sql, params![before.0])?;
    }
    if let Some(before) = retention.runs_before {
        let old = "started < ?1 AND (ended IS NOT NULL OR started < ?2)";
        let limits = params![before.0, before.0.saturating_sub(LONGEST_RUN)];
        let of_old = format!("SELECT id FROM run WHERE {old}");
        let circumstances = format!("SELECT id FROM circumstance WHERE run IN ({of_old})");
        let attempts = format!("SELECT id FROM attempt WHERE circumstance IN ({circumstances})");
        count(&format!("DELETE FROM failure WHERE attempt IN ({attempts})"), limits)?;
        counts.attempts = count(&format!("DELETE FROM attempt WHERE circumstance IN ({circumstances})"), limits)?;
        for table in ["circumstance", "event", "sample", "prepared", "shard"] {
            count(&format!("DELETE FROM {table} WHERE run IN ({of_old})"), limits)?;
        }
        count("DELETE FROM assertion WHERE id IN (SELECT id FROM assertion EXCEPT SELECT assertion FROM sample)", &[])?;
        count(
            "DELETE FROM split WHERE suite NOT IN (SELECT suite FROM shard)
             AND id NOT IN (SELECT max(id) FROM split GROUP BY shards)",
            &[],
        )?;
        // A run that something refers to stays, without attempts.
        counts.runs = count(
            &format!(
                "DELETE FROM run WHERE {old} AND id NOT IN (
                     SELECT run FROM finding UNION SELECT run FROM dependency UNION SELECT run FROM renamed
                     UNION SELECT back FROM renamed WHERE back IS NOT NULL)"
            ),
            limits,
        )?;
        counts.runs += count(&format!("UPDATE run SET attempts = 0 WHERE {old} AND attempts > 0"), limits)?;
        let reports = "SELECT id FROM report WHERE started < ?";
        for table in ["reported_failure", "packed"] {
            count(&format!("DELETE FROM {table} WHERE report IN ({reports})"), params![before.0])?;
        }
        counts.reports = count("DELETE FROM report WHERE started < ?", params![before.0])?;
        count("DELETE FROM world WHERE hash NOT IN (SELECT world FROM circumstance WHERE world IS NOT NULL)", &[])?;
    }
    let used: Vec<String> =
        TEXT_COLUMNS.iter().map(|(table, column)| format!("EXCEPT SELECT {column} FROM {table}")).collect();
    let unused = format!("SELECT id FROM text {}", used.join(" "));
    counts.texts = count(&format!("DELETE FROM text WHERE id IN ({unused})"), &[])?;
    Ok(counts)
}
