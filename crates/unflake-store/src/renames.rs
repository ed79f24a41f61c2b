//! What the code of tests was, and which of them are others under a new name.

use std::collections::HashMap;

use rusqlite::params;
use unflake_model::TestId;

use crate::{RunId, Store, StoreError, TestKey};

/// A test that was gone when another came that has its code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renamed {
    pub old: TestId,
    pub new: TestId,
    /// Both have been there together since, or the old one again: they are two.
    pub is_over: bool,
}

impl Store {
    /// What the code of each test was when it was last listed, as a hash.
    pub fn bodies(&self) -> Result<HashMap<TestId, String>, StoreError> {
        let sql = "SELECT test.name, body.hash FROM body JOIN test ON test.id = body.test";
        Ok(self.list(sql, &[], |row| Ok((TestId::new(row.text(0)?), row.get(1)?)))?.into_iter().collect())
    }

    /// Keeps what the code of tests is now, and what became known of names. All of it, or nothing where it fails.
    pub fn keep_bodies(
        &mut self,
        run: RunId,
        bodies: &[(TestId, String)],
        renamed: &[Renamed],
    ) -> Result<(), StoreError> {
        if bodies.is_empty() && renamed.is_empty() {
            return Ok(());
        }
        self.write(|writer| {
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

    /// All names that became others, those too that did not stay so.
    pub fn renames(&self) -> Result<Vec<Renamed>, StoreError> {
        self.list(
            "SELECT old.name, new.name, renamed.back IS NOT NULL FROM renamed
             JOIN test old ON old.id = renamed.test JOIN test new ON new.id = renamed.now ORDER BY renamed.test",
            &[],
            |row| Ok(Renamed { old: TestId::new(row.text(0)?), new: TestId::new(row.text(1)?), is_over: row.get(2)? }),
        )
    }

    /// The tests that are called otherwise today, with what they are called.
    pub fn names_today(&self) -> Result<HashMap<TestKey, TestKey>, StoreError> {
        let sql = "SELECT test, now FROM renamed WHERE back IS NULL";
        let steps: HashMap<TestKey, TestKey> =
            self.list(sql, &[], |row| Ok((TestKey(row.get(0)?), TestKey(row.get(1)?))))?.into_iter().collect();
        let last = |first: TestKey| {
            let mut at = first;
            // A name may come back after others: round and round leads nowhere.
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
