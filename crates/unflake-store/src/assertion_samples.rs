//! Reads and writes assertion samples: the values that assertions saw in one run.

use rusqlite::params;
use rusqlite::types::ToSql;
use unflake_model::{Assertion, AssertionKey, AssertionSample, TestId};

use crate::enum_columns::Json;
use crate::{RunId, Store, StoreError};

impl Store {
    /// Stores the samples of a run in one transaction. Their version follows from the run.
    pub fn keep_samples(&mut self, run: RunId, samples: &[AssertionSample]) -> Result<(), StoreError> {
        self.write(|writer| {
            for sample in samples {
                let test = writer.test(&sample.assertion.test)?;
                let AssertionKey { file, function, expression, ordinal } = &sample.assertion.spot;
                let columns: [&dyn ToSql; 5] = [&test, file, function, expression, ordinal];
                let found = writer.database.find(
                    "SELECT id FROM assertion
                     WHERE test = ? AND file = ? AND function = ? AND expression = ? AND ordinal = ?",
                    &columns,
                )?;
                let assertion = match found {
                    Some(id) => id,
                    None => writer.insert(
                        "INSERT INTO assertion (test, file, function, expression, ordinal) VALUES (?, ?, ?, ?, ?)",
                        columns,
                    )?,
                };
                let groups = writer.text(&serde_json::to_string(&sample.groups).unwrap_or_default())?;
                writer.database.put(
                    "INSERT INTO sample (run, assertion, body, groups) VALUES (?, ?, ?, ?)",
                    params![run.0, assertion, sample.body, groups],
                )?;
            }
            Ok(())
        })
    }

    /// All samples, oldest run first. Two runs have the same version if their code, command and
    /// machine are known to be equal; uncommitted changes of the files `ours` are ignored.
    pub fn samples(&self, ours: &[&str]) -> Result<Vec<AssertionSample>, StoreError> {
        self.list(
            "SELECT test.name, assertion.file, assertion.function, assertion.expression, assertion.ordinal,
                    sample.body, text.body, run.id, run.tree_hash, run.dirty, run.host, run.command, run.changed
             FROM sample
             JOIN assertion ON assertion.id = sample.assertion
             JOIN test ON test.id = assertion.test
             JOIN text ON text.id = sample.groups
             JOIN run ON run.id = sample.run
             ORDER BY run.id, assertion.id",
            &[],
            |row| {
                let spot = AssertionKey {
                    file: row.get(1)?,
                    function: row.get(2)?,
                    expression: row.get(3)?,
                    ordinal: row.get(4)?,
                };
                let changed = row.get::<Option<Json<Vec<String>>>>(12)?.map(|changed| changed.0);
                let is_ours = |change: &String| ours.iter().any(|name| change.ends_with(name));
                let only_ours = changed.is_some_and(|changed| changed.iter().all(is_ours));
                let clean = row.get::<Option<bool>>(9)? == Some(false) || only_ours;
                let version = match (row.get::<Option<String>>(8)?, clean) {
                    (Some(tree), true) => {
                        format!("{tree} {} {}", row.get::<String>(10)?, row.get::<String>(11)?)
                    }
                    _ => format!("run-{}", row.get::<i64>(7)?),
                };
                Ok(AssertionSample {
                    assertion: Assertion { test: TestId::new(row.get::<String>(0)?), spot },
                    body: row.get(5)?,
                    version,
                    groups: row.get::<Json<_>>(6)?.0,
                })
            },
        )
    }
}
