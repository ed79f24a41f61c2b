//! A whole history from one place to another.

use rusqlite::types::{ToSql, Value};

use crate::database::{Database, Error, Result};
use crate::{Store, StoreError};

/// Rows that are read, compared and written at once.
const AT_ONCE: i64 = 500;

struct Table {
    name: &'static str,
    /// The first of them are the key.
    columns: &'static [&'static str],
    keys: usize,
    /// Those of them that may change after the row was made.
    changing: &'static [&'static str],
}

/// Each after those that it refers to.
const TABLES: &[Table] = &[
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
        ],
        &["ended", "exit", "commit_hash", "tree_hash", "dirty", "listed", "deselected", "attempts", "changed"],
    ),
    table("test", 1, &["id", "name", "file", "line"], &["file", "line"]),
    table("text", 1, &["id", "hash", "body"], &[]),
    table("circumstance", 1, &["id", "run", "session", "environment", "purpose", "origin"], &[]),
    table(
        "attempt",
        1,
        &["id", "test", "circumstance", "position", "again", "outcome", "started", "seconds", "stdout", "stderr"],
        &[],
    ),
    table("failure", 1, &["attempt", "phase", "kind", "message", "trace", "file", "line"], &[]),
    table("told", 1, &["id", "run", "body"], &[]),
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
    table("said", 1, &["id", "run", "test", "finding", "body"], &[]),
    table("prepared", 1, &["id", "run", "test", "tree", "body"], &[]),
    table("answer", 1, &["id", "finding", "useful", "at", "why"], &[]),
    table("body", 1, &["test", "hash"], &["hash"]),
    table("renamed", 1, &["test", "now", "run", "back"], &["now", "back"]),
];

const fn table(
    name: &'static str,
    keys: usize,
    columns: &'static [&'static str],
    changing: &'static [&'static str],
) -> Table {
    Table { name, columns, keys, changing }
}

/// How many rows there are in the history that was copied, and how many of them were not there before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    pub rows: u64,
    pub new: u64,
}

impl Store {
    /// Takes over everything from another history, which stays as it is. All of it, or nothing where it fails. What is here already
    /// must be from there too: two histories do not become one.
    pub fn take_over(&mut self, from: &Store) -> Result<Copied, StoreError> {
        // That one cannot be read is told of that one, and all else of this.
        let mut unread = None;
        let result = self.database.write(|to| {
            let mut copied = Copied::default();
            from.database.read(|from| {
                for table in TABLES {
                    table.copy(from, to, &mut copied, &mut unread)?;
                }
                Ok(())
            })?;
            Ok(copied)
        });
        match (result, unread) {
            (Err(_), Some(error)) => Err(from.failed(error)),
            (result, _) => result.map_err(|error| self.failed(error)),
        }
    }
}

type Row = Vec<Value>;

impl Table {
    fn copy(&self, from: &Database, to: &Database, copied: &mut Copied, unread: &mut Option<Error>) -> Result<()> {
        let write = self.write();
        // Before all keys that there are.
        let mut last: Row = vec![Value::Integer(i64::MIN); self.keys];
        loop {
            let rows = self.rows(from, "", &last, &[]).map_err(|error| {
                *unread = Some(error);
                Error::Missing
            })?;
            let Some(end) = rows.last().map(|row| row[..self.keys].to_vec()) else {
                if !self.rows(to, "", &last, &[])?.is_empty() {
                    return Err(Error::Differs(self.name));
                }
                return if self.columns[0] == "id" { to.count_on(self.name) } else { Ok(()) };
            };
            let there = self.rows(to, &format!("AND ({}) <= ({})", self.key(), marks(self.keys)), &last, &end)?;
            let mut there = there.iter().peekable();
            for row in &rows {
                copied.rows += 1;
                match there.next_if(|other| other[..self.keys] == row[..self.keys]) {
                    Some(other) if other == row => continue,
                    Some(other) if !self.is_the_same(row, other) => return Err(Error::Differs(self.name)),
                    Some(_) => {}
                    None => copied.new += 1,
                }
                let values: Vec<&dyn ToSql> = row.iter().map(|value| value as &dyn ToSql).collect();
                to.put(&write, &values)?;
            }
            if there.next().is_some() {
                return Err(Error::Differs(self.name));
            }
            last = end;
        }
    }

    /// Rows after a key, in order.
    fn rows(&self, database: &Database, more: &str, after: &[Value], until: &[Value]) -> Result<Vec<Row>> {
        let (key, marks) = (self.key(), marks(self.keys));
        let limit = if until.is_empty() { AT_ONCE } else { i64::MAX };
        let sql = format!(
            "SELECT {} FROM {} WHERE ({key}) > ({marks}) {more} ORDER BY {key} LIMIT {limit}",
            self.columns.join(", "),
            self.name
        );
        let values: Vec<&dyn ToSql> = after.iter().chain(until).map(|value| value as &dyn ToSql).collect();
        let mut rows = Vec::new();
        database.each(&sql, &values, &mut |row| {
            rows.push((0..self.columns.len()).map(|at| row.get(at)).collect::<Result<Row>>()?);
            Ok(())
        })?;
        Ok(rows)
    }

    fn key(&self) -> String {
        self.columns[..self.keys].join(", ")
    }

    fn write(&self) -> String {
        let sql =
            format!("INSERT INTO {} ({}) VALUES ({})", self.name, self.columns.join(", "), marks(self.columns.len()));
        if self.changing.is_empty() {
            return sql;
        }
        let changes: Vec<String> = self.changing.iter().map(|column| format!("{column} = excluded.{column}")).collect();
        format!("{sql} ON CONFLICT ({}) DO UPDATE SET {}", self.key(), changes.join(", "))
    }

    /// Whether one row may be the other at another time.
    fn is_the_same(&self, one: &Row, other: &Row) -> bool {
        (self.columns.iter().zip(one.iter().zip(other)))
            .all(|(column, (one, other))| one == other || self.changing.contains(column))
    }
}

fn marks(count: usize) -> String {
    vec!["?"; count].join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_and_every_column_is_copied() {
        let store = Store::in_memory().unwrap();
        let names = |sql: &str| store.list(sql, &[], |row| row.get::<String>(0)).unwrap();
        let mut known: Vec<&str> = TABLES.iter().map(|table| table.name).collect();
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
