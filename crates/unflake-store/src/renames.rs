//! Stores hashes of test files and test bodies, and detected renames of tests.

use std::collections::HashMap;

use rusqlite::params;
use unflake_model::TestId;

use crate::{RunId, Store, StoreError, TestKey};

/// A test that disappeared when another one with the same body appeared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestRename {
    pub old: TestId,
    pub new: TestId,
    /// The old name exists again, so the two are different tests.
    pub is_over: bool,
}

impl Store {
    /// The body hash of each test when it was last listed.
    pub fn bodies(&self) -> Result<HashMap<TestId, String>, StoreError> {
        let sql = "SELECT test.name, body.hash FROM body JOIN test ON test.id = body.test";
        Ok(self.list(sql, &[], |row| Ok((TestId::new(row.text(0)?), row.get(1)?)))?.into_iter().collect())
    }

    /// The hash of each test file when the bodies of its tests were last hashed.
    pub fn test_files(&self) -> Result<HashMap<String, String>, StoreError> {
        let sql = "SELECT path, hash FROM test_file";
        Ok(self.list(sql, &[], |row| Ok((row.get(0)?, row.get(1)?)))?.into_iter().collect())
    }

    /// Stores the current hashes of files and bodies and new renames in one transaction.
    pub fn keep_bodies(
        &mut self,
        run: RunId,
        files: &[(String, String)],
        bodies: &[(TestId, String)],
        renamed: &[TestRename],
    ) -> Result<(), StoreError> {
        if files.is_empty() && bodies.is_empty() && renamed.is_empty() {
            return Ok(());
        }
        self.write(|writer| {
            for (path, hash) in files {
                writer.database.put("UPDATE test_file SET hash = ? WHERE path = ?", params![hash, path])?;
                let sql = "INSERT INTO test_file (path, hash)
                           SELECT ?, ? WHERE NOT EXISTS (SELECT 1 FROM test_file WHERE path = ?)";
                writer.database.put(sql, params![path, hash, path])?;
            }
            for (test, hash) in bodies {
                let test = writer.test(test)?;
                let sql =
                    "INSERT INTO body (test, hash) VALUES (?, ?) ON CONFLICT (test) DO UPDATE SET hash = excluded.hash";
                writer.database.put(sql, params![test, hash])?;
            }
            for one in renamed {
                let (old, new, back) = (writer.test(&one.old)?, writer.test(&one.new)?, one.is_over.then_some(run.0));
                writer.database.put(
                    "INSERT INTO renamed (test, now, run, back) VALUES (?, ?, ?, ?)
                     ON CONFLICT (test) DO UPDATE SET now = excluded.now, back = excluded.back",
                    params![old, new, run.0, back],
                )?;
            }
            Ok(())
        })
    }

    /// All renames, including those that were revoked.
    pub fn renames(&self) -> Result<Vec<TestRename>, StoreError> {
        self.list(
            "SELECT old.name, new.name, renamed.back IS NOT NULL FROM renamed
             JOIN test old ON old.id = renamed.test JOIN test new ON new.id = renamed.now ORDER BY renamed.test",
            &[],
            |row| {
                Ok(TestRename { old: TestId::new(row.text(0)?), new: TestId::new(row.text(1)?), is_over: row.get(2)? })
            },
        )
    }

    /// The renamed tests, with their current keys.
    pub fn current_names(&self) -> Result<HashMap<TestKey, TestKey>, StoreError> {
        let sql = "SELECT test, now FROM renamed WHERE back IS NULL";
        let steps: HashMap<TestKey, TestKey> =
            self.list(sql, &[], |row| Ok((TestKey(row.get(0)?), TestKey(row.get(1)?))))?.into_iter().collect();
        let last = |first: TestKey| {
            let mut at = first;
            // A name may come back after others; the bound ends such cycles.
            for _ in 0..steps.len() {
                match steps.get(&at) {
                    Some(next) => at = *next,
                    None => break,
                }
            }
            at
        };
        Ok(steps.keys().map(|old| (*old, last(*old))).filter(|(old, new)| old != new).collect())
    }
}
