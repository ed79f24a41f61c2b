//! Copies a whole history from one store to another.

use rusqlite::types::{ToSql, Value};

use crate::database::{Database, DatabaseError, Result};
use crate::{Store, StoreError};

/// Rows that are read, compared and written per step.
const BATCH: i64 = 500;

struct CopiedTable {
    name: &'static str,
    /// The first `keys` of them are the primary key.
    columns: &'static [&'static str],
    keys: usize,
    /// The columns that may change after the row was inserted.
    mutable: &'static [&'static str],
}

/// In dependency order: each table follows the tables that it references.
const TABLES: &[CopiedTable] = &[
    table(
        "run",
        1,
        &[
            "id",
            "command",
            "cwd",
            "started",
            "ended",
            "exit",
            "version",
            "host",
            "os",
            "arch",
            "cpus",
            "commit_hash",
            "tree_hash",
            "dirty",
            "listed",
            "deselected",
            "attempts",
            "changed",
            "origin",
        ],
        &["ended", "exit", "commit_hash", "tree_hash", "dirty", "listed", "deselected", "attempts", "changed"],
    ),
    table("test", 1, &["id", "name", "file", "line"], &["file", "line"]),
    table("text", 1, &["id", "hash", "body"], &[]),
    table("split", 1, &["id", "suite", "shards", "body"], &[]),
    table("shard", 1, &["run", "number", "shards", "suite", "listed", "listing", "planned"], &[]),
    table("world", 1, &["hash", "body"], &[]),
    table("circumstance", 1, &["id", "run", "session", "environment", "purpose", "origin", "world"], &[]),
    table(
        "attempt",
        1,
        &[
            "id",
            "test",
            "circumstance",
            "position",
            "again",
            "outcome",
            "started",
            "seconds",
            "stdout",
            "stderr",
            "load",
        ],
        &[],
    ),
    table("failure", 1, &["attempt", "phase", "kind", "message", "trace", "file", "line"], &[]),
    table("event", 1, &["id", "run", "body"], &[]),
    table("dependency", 1, &["test", "run", "own", "searched"], &["run", "own", "searched"]),
    table(
        "report",
        1,
        &[
            "id",
            "key",
            "format",
            "path",
            "size",
            "started",
            "imported",
            "commit_hash",
            "branch",
            "ci_run",
            "ci_attempt",
            "executions",
            "ended",
            "job",
        ],
        &["executions", "ended"],
    ),
    table("packed", 2, &["report", "first", "body"], &[]),
    table("reported_failure", 2, &["report", "number", "kind", "message", "trace"], &[]),
    table("assertion", 1, &["id", "test", "file", "function", "expression", "ordinal"], &[]),
    table("sample", 2, &["run", "assertion", "body", "groups"], &[]),
    table("finding", 1, &["id", "run", "test", "fingerprint", "body"], &[]),
    table("prepared", 1, &["id", "run", "test", "tree", "body"], &[]),
    table("feedback", 1, &["id", "fingerprint", "useful", "at", "why"], &[]),
    table("audit", 1, &["id", "at", "who", "action", "what", "detail"], &[]),
    table("body", 1, &["test", "hash"], &["hash"]),
    table("renamed", 1, &["test", "now", "run", "back"], &["now", "back"]),
    table("test_file", 1, &["id", "path", "hash"], &["hash"]),
];

const fn table(
    name: &'static str,
    keys: usize,
    columns: &'static [&'static str],
    mutable: &'static [&'static str],
) -> CopiedTable {
    CopiedTable { name, columns, keys, mutable }
}

/// The number of rows in the copied history, and how many of them were new.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CopyCounts {
    pub rows: u64,
    pub new: u64,
}

impl Store {
    /// Copies everything from another history in one transaction; the source is not changed. Rows
    /// that exist here must exist in the source too: two histories cannot be merged.
    pub fn copy_from(&mut self, from: &Store) -> Result<CopyCounts, StoreError> {
        // A read error is reported for the source, every other error for the target.
        let mut read_error = None;
        let result = self.database.write(|to| {
            let mut copied = CopyCounts::default();
            from.database.read(|from| {
                for table in TABLES {
                    table.copy(from, to, &mut copied, &mut read_error)?;
                }
                Ok(())
            })?;
            Ok(copied)
        });
        match (result, read_error) {
            (Err(_), Some(error)) => Err(from.failed(error)),
            (result, _) => result.map_err(|error| self.failed(error)),
        }
    }
}

type RowValues = Vec<Value>;

impl CopiedTable {
    fn copy(
        &self,
        from: &Database,
        to: &Database,
        copied: &mut CopyCounts,
        read_error: &mut Option<DatabaseError>,
    ) -> Result<()> {
        let write = self.write();
        // Smaller than every key.
        let mut last: RowValues = vec![Value::Integer(i64::MIN); self.keys];
        loop {
            let rows = self.rows(from, "", &last, &[]).map_err(|error| {
                *read_error = Some(error);
                DatabaseError::Missing
            })?;
            let Some(end) = rows.last().map(|row| row[..self.keys].to_vec()) else {
                if !self.rows(to, "", &last, &[])?.is_empty() {
                    return Err(DatabaseError::Differs(self.name));
                }
                return if self.columns[0] == "id" { to.advance_ids(self.name) } else { Ok(()) };
            };
            let existing =
                self.rows(to, &format!("AND ({}) <= ({})", self.key(), placeholders(self.keys)), &last, &end)?;
            let mut existing = existing.iter().peekable();
            for row in &rows {
                copied.rows += 1;
                match existing.next_if(|other| other[..self.keys] == row[..self.keys]) {
                    Some(other) if other == row => continue,
                    Some(other) if !self.may_be_same_row(row, other) => return Err(DatabaseError::Differs(self.name)),
                    Some(_) => {}
                    None => copied.new += 1,
                }
                let values: Vec<&dyn ToSql> = row.iter().map(|value| value as &dyn ToSql).collect();
                to.put(&write, &values)?;
            }
            if existing.next().is_some() {
                return Err(DatabaseError::Differs(self.name));
            }
            last = end;
        }
    }

    /// Rows after a key, in key order.
    fn rows(&self, database: &Database, more: &str, after: &[Value], until: &[Value]) -> Result<Vec<RowValues>> {
        let (key, placeholders) = (self.key(), placeholders(self.keys));
        let limit = if until.is_empty() { BATCH } else { i64::MAX };
        let sql = format!(
            "SELECT {} FROM {} WHERE ({key}) > ({placeholders}) {more} ORDER BY {key} LIMIT {limit}",
            self.columns.join(", "),
            self.name
        );
        let values: Vec<&dyn ToSql> = after.iter().chain(until).map(|value| value as &dyn ToSql).collect();
        let mut rows = Vec::new();
        database.each(&sql, &values, &mut |row| {
            rows.push((0..self.columns.len()).map(|at| row.get(at)).collect::<Result<RowValues>>()?);
            Ok(())
        })?;
        Ok(rows)
    }

    fn key(&self) -> String {
        self.columns[..self.keys].join(", ")
    }

    fn write(&self) -> String {
        let sql = format!(
            "INSERT INTO {} ({}) VALUES ({})",
            self.name,
            self.columns.join(", "),
            placeholders(self.columns.len())
        );
        if self.mutable.is_empty() {
            return sql;
        }
        let changes: Vec<String> = self.mutable.iter().map(|column| format!("{column} = excluded.{column}")).collect();
        format!("{sql} ON CONFLICT ({}) DO UPDATE SET {}", self.key(), changes.join(", "))
    }

    /// Whether both can be the same row at different times.
    fn may_be_same_row(&self, one: &RowValues, other: &RowValues) -> bool {
        (self.columns.iter().zip(one.iter().zip(other)))
            .all(|(column, (one, other))| one == other || self.mutable.contains(column))
    }
}

fn placeholders(count: usize) -> String {
    vec!["?"; count].join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_and_every_column_is_copied() {
        let store = Store::in_memory().unwrap();
        let names = |sql: &str| store.list(sql, &[], |row| row.get::<String>(0)).unwrap();
        // Tokens let people into one history only.
        let mut known: Vec<&str> = TABLES.iter().map(|table| table.name).chain(["token"]).collect();
        known.sort();
        assert_eq!(names("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name"), known);
        for table in TABLES {
            let columns = names(&format!("SELECT name FROM pragma_table_info('{}') ORDER BY name", table.name));
            let mut known = table.columns.to_vec();
            known.sort();
            assert_eq!(columns, known, "{}", table.name);
        }
    }
}
