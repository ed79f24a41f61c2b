//! How facts get in.

use std::collections::{BTreeMap, HashMap};

use rusqlite::{Connection, OptionalExtension, Result, TransactionBehavior, params};
use serde::{Deserialize, Serialize};
use unflake_model::{
    Attempt, Dependencies, Environment, EnvironmentId, Factor, Failure, Observation, Origin, Problem, Purpose,
    SessionId, Test, TestId, Timestamp,
};

use crate::word::{Json, Word, to_json};
use crate::{Revision, RunFacts, RunId, Store, StoreError};

impl Store {
    pub fn begin(&mut self, run: &RunFacts) -> Result<RunId, StoreError> {
        self.write(|writer| {
            writer.database.execute(
                "INSERT INTO run (command, cwd, started, version, host, os, arch, cpus, commit_hash, tree_hash, dirty)
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                params![
                    Json(&run.command),
                    run.cwd,
                    run.started.0,
                    run.version,
                    run.host.name,
                    run.host.os,
                    run.host.arch,
                    run.host.cpus,
                    run.revision.commit,
                    run.revision.tree,
                    run.revision.dirty,
                ],
            )?;
            Ok(RunId(writer.database.last_insert_rowid()))
        })
    }

    /// For a revision that became known only after the run had begun.
    pub fn revision(&mut self, run: RunId, revision: &Revision) -> Result<(), StoreError> {
        self.write(|writer| {
            writer.change_run(
                "UPDATE run SET commit_hash = ?2, tree_hash = ?3, dirty = ?4, changed = ?5 WHERE id = ?1",
                params![run.0, revision.commit, revision.tree, revision.dirty, Json(&revision.changed)],
            )
        })
    }

    /// Keeps all of the observations, or none of them where it fails. When it returns they survive the death of this
    /// process. Of a listing the tests are kept, each with its place; that an attempt started is not kept.
    pub fn record(&mut self, run: RunId, observations: &[Observation]) -> Result<(), StoreError> {
        if observations.iter().all(|observation| matches!(observation, Observation::Started { .. })) {
            return Ok(());
        }
        self.write(|writer| {
            let mut attempts = 0;
            for observation in observations {
                match observation {
                    Observation::Attempted(attempt) => {
                        writer.attempt(run, attempt)?;
                        attempts += 1;
                    }
                    Observation::Depends { test, on, .. } => writer.dependencies(run, test, on)?,
                    Observation::Listed { tests, deselected, .. } => writer.listing(run, tests, *deselected)?,
                    Observation::EnvironmentUp(environment) => {
                        writer.tell(run, &Told::Environment(environment.clone()))?;
                    }
                    Observation::Under { session, factors } => {
                        writer.tell(run, &Told::Under { session: *session, factors: factors.clone() })?;
                    }
                    Observation::Problem(problem) => writer.tell(run, &Told::Problem(problem.clone()))?,
                    Observation::Note(text) => writer.tell(run, &Told::Note(text.clone()))?,
                    Observation::SessionEnded { session, left, why } => {
                        let left = left.iter().map(|test| writer.test(test)).collect::<Result<_>>()?;
                        writer.tell(run, &Told::SessionEnded { session: *session, left, why: why.clone() })?;
                    }
                    Observation::Started { .. }
                    | Observation::Traced { .. }
                    | Observation::Looked { .. }
                    | Observation::Compared(_)
                    | Observation::Left { .. }
                    | Observation::NotRestored { .. } => {}
                }
            }
            writer.change_run("UPDATE run SET attempts = attempts + ?2 WHERE id = ?1", params![run.0, attempts])
        })
    }

    pub fn finish(&mut self, run: RunId, ended: Timestamp, exit: u8) -> Result<(), StoreError> {
        self.write(|writer| {
            writer.change_run("UPDATE run SET ended = ?2, exit = ?3 WHERE id = ?1", params![run.0, ended.0, exit])
        })
    }

    /// One transaction. It takes the lock for writing at once: a transaction that reads first and finds out later that
    /// somebody else has written could not be saved by waiting.
    pub(crate) fn write<T>(&mut self, work: impl FnOnce(&mut Writer) -> Result<T>) -> Result<T, StoreError> {
        let Self { connection, known, path } = self;
        let result = (|| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let result = work(&mut Writer { database: &transaction, known })?;
            transaction.commit()?;
            Ok(result)
        })();
        result.map_err(|error| {
            // What was learnt in a transaction that came to nothing may not be there.
            *known = Known::default();
            StoreError::of_database(path, error)
        })
    }
}

/// Ids of rows that are in the database. Rows are never deleted, so that these stay true.
#[derive(Debug, Default)]
pub(crate) struct Known {
    pub(crate) tests: HashMap<TestId, i64>,
    circumstances: HashMap<Circumstance, i64>,
}

type Circumstance = (RunId, SessionId, EnvironmentId, Purpose, Origin);

/// Observations other than attempts and listings, as they are kept.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Told {
    Environment(Environment),
    Problem(Problem),
    Note(String),
    SessionEnded { session: SessionId, left: Vec<i64>, why: Option<String> },
    Under { session: SessionId, factors: Vec<Factor> },
}

pub(crate) struct Writer<'a> {
    pub(crate) database: &'a Connection,
    pub(crate) known: &'a mut Known,
}

impl Writer<'_> {
    fn attempt(&mut self, run: RunId, attempt: &Attempt) -> Result<()> {
        let test = self.test(&attempt.test)?;
        let circumstance = self.circumstance(run, attempt)?;
        let stdout = self.text_unless_empty(&attempt.stdout)?;
        let stderr = self.text_unless_empty(&attempt.stderr)?;
        self.insert(
            "INSERT INTO attempt (test, circumstance, position, again, outcome, started, seconds, stdout, stderr)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            params![
                test,
                circumstance,
                attempt.position,
                attempt.run,
                Word(attempt.outcome),
                attempt.started.0,
                attempt.seconds,
                stdout,
                stderr,
            ],
        )?;
        match &attempt.failure {
            Some(failure) => self.failure(self.database.last_insert_rowid(), failure),
            None => Ok(()),
        }
    }

    fn failure(&mut self, attempt: i64, failure: &Failure) -> Result<()> {
        let kind = self.text(&failure.kind)?;
        let message = self.text(&failure.message)?;
        let trace = self.text(&failure.trace)?;
        let file = failure.file.as_deref().map(|file| self.text(file)).transpose()?;
        self.insert(
            "INSERT INTO failure (attempt, phase, kind, message, trace, file, line) VALUES (?, ?, ?, ?, ?, ?, ?)",
            params![attempt, Word(failure.phase), kind, message, trace, file, failure.line],
        )?;
        Ok(())
    }

    fn listing(&mut self, run: RunId, tests: &[Test], deselected: u32) -> Result<()> {
        for test in tests {
            self.place(test)?;
        }
        self.change_run(
            "UPDATE run SET listed = ?2, deselected = ?3 WHERE id = ?1",
            params![run.0, tests.len() as i64, deselected],
        )
    }

    /// Usually there is nothing to write: the test is known, and where it was.
    fn place(&mut self, test: &Test) -> Result<()> {
        let file = test.file.as_deref();
        let found = self
            .database
            .prepare_cached("SELECT id, file IS ?2 AND line IS ?3 FROM test WHERE name = ?1")?
            .query_row(params![test.id.as_str(), file, test.line], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        let id = match found {
            Some((id, true)) => id,
            Some((id, false)) => {
                self.insert("UPDATE test SET file = ?2, line = ?3 WHERE id = ?1", params![id, file, test.line])?;
                id
            }
            None => self.insert(
                "INSERT INTO test (name, file, line) VALUES (?, ?, ?)",
                params![test.id.as_str(), file, test.line],
            )?,
        };
        self.known.tests.insert(test.id.clone(), id);
        Ok(())
    }

    pub(crate) fn test(&mut self, test: &TestId) -> Result<i64> {
        if let Some(&id) = self.known.tests.get(test) {
            return Ok(id);
        }
        let id = match self.find("SELECT id FROM test WHERE name = ?", params![test.as_str()])? {
            Some(id) => id,
            None => self.insert("INSERT INTO test (name) VALUES (?)", params![test.as_str()])?,
        };
        self.known.tests.insert(test.clone(), id);
        Ok(id)
    }

    fn circumstance(&mut self, run: RunId, attempt: &Attempt) -> Result<i64> {
        let key = (run, attempt.session, attempt.environment, attempt.purpose, attempt.origin);
        if let Some(&id) = self.known.circumstances.get(&key) {
            return Ok(id);
        }
        let columns =
            params![run.0, attempt.session.0, attempt.environment.0, Word(attempt.purpose), Word(attempt.origin)];
        let found = self.find(
            "SELECT id FROM circumstance
             WHERE run = ? AND session = ? AND environment = ? AND purpose = ? AND origin = ?",
            columns,
        )?;
        let id = match found {
            Some(id) => id,
            None => self.insert(
                "INSERT INTO circumstance (run, session, environment, purpose, origin) VALUES (?, ?, ?, ?, ?)",
                columns,
            )?,
        };
        self.known.circumstances.insert(key, id);
        Ok(id)
    }

    /// The newest replaces what was known: it is true of the newest code.
    fn dependencies(&mut self, run: RunId, test: &TestId, on: &Dependencies) -> Result<()> {
        let searched = to_json(&on.searched)?;
        let own = to_json(&Dependencies { searched: BTreeMap::new(), ..on.clone() })?;
        let (test, own, searched) = (self.test(test)?, self.text(&own)?, self.text(&searched)?);
        self.insert(
            "INSERT OR REPLACE INTO dependency (test, run, own, searched) VALUES (?, ?, ?, ?)",
            params![test, run.0, own, searched],
        )?;
        Ok(())
    }

    fn text_unless_empty(&mut self, body: &str) -> Result<Option<i64>> {
        if body.is_empty() { Ok(None) } else { self.text(body).map(Some) }
    }

    pub(crate) fn text(&mut self, body: &str) -> Result<i64> {
        let hash = hash(body);
        match self.find("SELECT id FROM text WHERE hash = ? AND body = ?", params![hash, body])? {
            Some(id) => Ok(id),
            None => self.insert("INSERT INTO text (hash, body) VALUES (?, ?)", params![hash, body]),
        }
    }

    fn tell(&mut self, run: RunId, told: &Told) -> Result<()> {
        self.insert("INSERT INTO told (run, body) VALUES (?, ?)", params![run.0, Json(told)])?;
        Ok(())
    }

    /// Fails where there is no such run.
    fn change_run(&mut self, sql: &str, params: impl rusqlite::Params) -> Result<()> {
        match self.database.prepare_cached(sql)?.execute(params)? {
            0 => Err(rusqlite::Error::QueryReturnedNoRows),
            _ => Ok(()),
        }
    }

    pub(crate) fn find(&self, sql: &str, params: impl rusqlite::Params) -> Result<Option<i64>> {
        self.database.prepare_cached(sql)?.query_row(params, |row| row.get(0)).optional()
    }

    /// Returns the id of the new row.
    pub(crate) fn insert(&self, sql: &str, params: impl rusqlite::Params) -> Result<i64> {
        self.database.prepare_cached(sql)?.execute(params)?;
        Ok(self.database.last_insert_rowid())
    }
}

/// FNV-1a. It only has to be the same for ever and to tell most texts apart.
fn hash(text: &str) -> i64 {
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    hash.cast_signed()
}
