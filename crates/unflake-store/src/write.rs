//! Writes runs and events.

use std::collections::{BTreeMap, HashMap, HashSet};

use rusqlite::params;
use rusqlite::types::ToSql;
use serde::{Deserialize, Serialize};
use unflake_model::{
    Attempt, Dependencies, EnvironmentFacts, EnvironmentId, Event, Failure, Isolation, Problem, Purpose, SessionId,
    Test, TestId, Timestamp, World,
};

use crate::database::{Database, DatabaseError, Result};
use crate::enum_columns::{EnumName, Json, to_json};
use crate::{Revision, RunFacts, RunId, Store, StoreError};

impl Store {
    pub fn begin(&mut self, run: &RunFacts) -> Result<RunId, StoreError> {
        self.write(|writer| writer.begin(run))
    }

    /// For a revision that is determined only after the start of the run.
    pub fn revision(&mut self, run: RunId, revision: &Revision) -> Result<(), StoreError> {
        self.write(|writer| {
            writer.change_run(
                "UPDATE run SET commit_hash = ?2, tree_hash = ?3, dirty = ?4, changed = ?5 WHERE id = ?1",
                params![run.0, revision.commit, revision.tree, revision.dirty, Json(&revision.changed)],
            )
        })
    }

    /// Stores all of the events in one transaction. When it returns they survive the death of
    /// this process. A listing updates the tests and their locations; starts of attempts are not
    /// stored.
    pub fn record(&mut self, run: RunId, events: &[Event]) -> Result<(), StoreError> {
        if events.iter().all(|event| matches!(event, Event::AttemptStarted { .. })) {
            return Ok(());
        }
        self.write(|writer| writer.record(run, events))
    }

    pub fn finish(&mut self, run: RunId, ended: Timestamp, exit: u8) -> Result<(), StoreError> {
        self.write(|writer| {
            writer.change_run("UPDATE run SET ended = ?2, exit = ?3 WHERE id = ?1", params![run.0, ended.0, exit])
        })
    }

    /// Runs `work` in one transaction.
    pub(crate) fn write<T>(&mut self, work: impl FnOnce(&mut Writer) -> Result<T>) -> Result<T, StoreError> {
        let Self { database, ids, location } = self;
        let result = database.write(|database| work(&mut Writer { database, ids }));
        result.map_err(|error| {
            // Ids from a transaction that was rolled back are invalid.
            *ids = RowIds::default();
            StoreError::of(location, error)
        })
    }
}

/// Ids of rows in the database. Rows are not deleted while a run that uses them goes on, so the ids
/// stay valid.
#[derive(Debug, Default)]
pub(crate) struct RowIds {
    pub(crate) tests: HashMap<TestId, i64>,
    circumstances: HashMap<Circumstance, i64>,
}

type Circumstance = (RunId, SessionId, EnvironmentId, Purpose, Isolation);

/// Events other than attempts and listings, as they are stored.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum StoredObservation {
    Environment(EnvironmentFacts),
    Problem(Problem),
    Note(String),
    SessionEnded {
        session: SessionId,
        left: Vec<i64>,
        why: Option<String>,
    },
    /// Written before worlds had a table.
    Under {},
}

pub(crate) struct Writer<'a> {
    pub(crate) database: &'a Database,
    pub(crate) ids: &'a mut RowIds,
}

impl Writer<'_> {
    pub(crate) fn begin(&mut self, run: &RunFacts) -> Result<RunId> {
        let id = self.insert(
            "INSERT INTO run (command, cwd, started, version, host, os, arch, cpus, commit_hash, tree_hash, dirty)
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                &Json(&run.command),
                &run.cwd,
                &run.started.0,
                &run.version,
                &run.host.name,
                &run.host.os,
                &run.host.arch,
                &run.host.cpus,
                &run.revision.commit,
                &run.revision.tree,
                &run.revision.dirty,
            ],
        )?;
        Ok(RunId(id))
    }

    pub(crate) fn record(&mut self, run: RunId, events: &[Event]) -> Result<()> {
        let mut attempts = 0;
        for event in events {
            match event {
                Event::AttemptEnded(attempt) => {
                    self.attempt(run, attempt)?;
                    attempts += 1;
                }
                Event::DependenciesRecorded { test, on, .. } => self.dependencies(run, test, on)?,
                Event::TestsListed { tests, deselected, .. } => self.listing(run, tests, *deselected)?,
                Event::EnvironmentStarted(environment) => {
                    self.event(run, &StoredObservation::Environment(environment.clone()))?;
                }
                Event::WorldEntered(world) => self.world(world)?,
                Event::Problem(problem) => self.event(run, &StoredObservation::Problem(problem.clone()))?,
                Event::Note(text) => self.event(run, &StoredObservation::Note(text.clone()))?,
                Event::SessionEnded { session, left, why } => {
                    let left = left.iter().map(|test| self.test(test)).collect::<Result<_>>()?;
                    self.event(run, &StoredObservation::SessionEnded { session: *session, left, why: why.clone() })?;
                }
                Event::RunStarted { .. }
                | Event::FindingMade(_)
                | Event::RunEnded(_)
                | Event::AttemptStarted { .. }
                | Event::TraceRecorded { .. }
                | Event::LayersRecorded { .. }
                | Event::ChangesCompared(_)
                | Event::FilesLeft { .. }
                | Event::EarlierRuns { .. }
                | Event::StateLeaked { .. }
                | Event::ThreadsDelayed { .. }
                | Event::FirstPassSpread { .. }
                | Event::RestoreFailed { .. } => {}
            }
        }
        self.change_run("UPDATE run SET attempts = attempts + ?2 WHERE id = ?1", params![run.0, attempts])
    }

    fn attempt(&mut self, run: RunId, attempt: &Attempt) -> Result<()> {
        let test = self.test(&attempt.test)?;
        let circumstance = self.circumstance(run, attempt)?;
        let stdout = self.text_unless_empty(&attempt.stdout)?;
        let stderr = self.text_unless_empty(&attempt.stderr)?;
        let sql =
            "INSERT INTO attempt (test, circumstance, position, again, outcome, started, seconds, load, stdout, stderr)
                   VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
        let columns: [&dyn ToSql; 10] = [
            &test,
            &circumstance,
            &attempt.position,
            &attempt.run,
            &EnumName(attempt.outcome),
            &attempt.started.0,
            &attempt.seconds,
            &attempt.load,
            &stdout,
            &stderr,
        ];
        match &attempt.failure {
            Some(failure) => {
                let id = self.insert(sql, columns)?;
                self.failure(id, failure)
            }
            None => self.database.put(sql, &columns),
        }
    }

    fn failure(&mut self, attempt: i64, failure: &Failure) -> Result<()> {
        let texts = self.texts(&[&failure.kind, &failure.message, &failure.trace])?;
        let file = failure.file.as_deref().map(|file| self.text(file)).transpose()?;
        self.database.put(
            "INSERT INTO failure (attempt, phase, kind, message, trace, file, line) VALUES (?, ?, ?, ?, ?, ?, ?)",
            params![attempt, EnumName(failure.phase), texts[0], texts[1], texts[2], file, failure.line],
        )
    }

    /// Usually writes nothing, because the tests and their locations are unchanged.
    pub(crate) fn listing(&mut self, run: RunId, tests: &[Test], deselected: u32) -> Result<()> {
        let names: Vec<&str> = tests.iter().map(|test| test.id.as_str()).collect();
        let files: Vec<Option<&str>> = tests.iter().map(|test| test.file.as_deref()).collect();
        let asked: Vec<[&dyn ToSql; 3]> =
            (0..tests.len()).map(|at| [&names[at] as &dyn ToSql, &files[at], &tests[at].line]).collect();
        let mut found = vec![None; tests.len()];
        self.database.each_of(
            "SELECT id, file IS NOT DISTINCT FROM ?2 AND line IS NOT DISTINCT FROM ?3 FROM test WHERE name = ?1",
            &asked,
            &mut |at, row| {
                found[at] = Some((row.get::<i64>(0)?, row.get::<bool>(1)?));
                Ok(())
            },
        )?;
        for (at, test) in tests.iter().enumerate() {
            if let Some((id, is_unchanged)) = found[at] {
                if !is_unchanged {
                    let sql = "UPDATE test SET file = ?2, line = ?3 WHERE id = ?1";
                    self.database.put(sql, params![id, files[at], test.line])?;
                }
                self.ids.tests.insert(test.id.clone(), id);
            }
        }
        let mut seen = HashSet::new();
        let new: Vec<usize> = (0..tests.len()).filter(|at| found[*at].is_none() && seen.insert(names[*at])).collect();
        let rows: Vec<[&dyn ToSql; 3]> = new.iter().map(|at| asked[*at]).collect();
        let new_ids = self.database.insert(INSERT_TEST, &rows)?;
        self.ids.tests.extend(new.iter().map(|at| tests[*at].id.clone()).zip(new_ids));
        self.change_run(
            "UPDATE run SET listed = ?2, deselected = ?3 WHERE id = ?1",
            params![run.0, tests.len() as i64, deselected],
        )
    }

    pub(crate) fn test(&mut self, test: &TestId) -> Result<i64> {
        if let Some(&id) = self.ids.tests.get(test) {
            return Ok(id);
        }
        let id = match self.database.find("SELECT id FROM test WHERE name = ?", params![test.as_str()])? {
            Some(id) => id,
            None => self.insert("INSERT INTO test (name) VALUES (?)", [&test.as_str()])?,
        };
        self.ids.tests.insert(test.clone(), id);
        Ok(id)
    }

    fn circumstance(&mut self, run: RunId, attempt: &Attempt) -> Result<i64> {
        let key = (run, attempt.session, attempt.environment, attempt.purpose, attempt.origin);
        if let Some(&id) = self.ids.circumstances.get(&key) {
            return Ok(id);
        }
        let world = attempt.world.map(|world| world.0.cast_signed());
        let columns: [&dyn ToSql; 6] = [
            &run.0,
            &attempt.session.0,
            &attempt.environment.0,
            &EnumName(attempt.purpose),
            &EnumName(attempt.origin),
            &world,
        ];
        let found = self.database.find(
            "SELECT id FROM circumstance
             WHERE run = ? AND session = ? AND environment = ? AND purpose = ? AND origin = ?",
            &columns[..5],
        )?;
        let id = match found {
            Some(id) => id,
            None => self.insert(
                "INSERT INTO circumstance (run, session, environment, purpose, origin, world) VALUES (?, ?, ?, ?, ?, ?)",
                columns,
            )?,
        };
        self.ids.circumstances.insert(key, id);
        Ok(id)
    }

    fn world(&mut self, world: &World) -> Result<()> {
        self.database.put(
            "INSERT INTO world (hash, body) VALUES (?, ?) ON CONFLICT (hash) DO NOTHING",
            params![world.id().0.cast_signed(), Json(world)],
        )
    }

    /// Replaces the dependencies of earlier runs, which describe older code. What is incomplete
    /// replaces nothing, and what was recorded with uncommitted changes does not replace what was
    /// recorded without them at the same commit.
    fn dependencies(&mut self, run: RunId, test: &TestId, on: &Dependencies) -> Result<()> {
        let searched = to_json(&on.searched)?;
        let own = to_json(&Dependencies { searched: BTreeMap::new(), ..on.clone() })?;
        let test = self.test(test)?;
        let texts = self.texts(&[&own, &searched])?;
        let conflict = match on.unknown.is_empty() {
            true => {
                "DO UPDATE SET run = excluded.run, own = excluded.own, searched = excluded.searched
                 WHERE NOT EXISTS (
                     SELECT 1 FROM run AS older JOIN run AS newer ON newer.commit_hash = older.commit_hash
                     WHERE older.id = dependency.run AND newer.id = excluded.run AND older.dirty = 0 AND newer.dirty = 1)"
            }
            false => "DO NOTHING",
        };
        self.database.put(
            &format!(
                "INSERT INTO dependency (test, run, own, searched) VALUES (?, ?, ?, ?) ON CONFLICT (test) {conflict}"
            ),
            params![test, run.0, texts[0], texts[1]],
        )
    }

    fn text_unless_empty(&mut self, body: &str) -> Result<Option<i64>> {
        if body.is_empty() { Ok(None) } else { self.text(body).map(Some) }
    }

    pub(crate) fn text(&mut self, body: &str) -> Result<i64> {
        Ok(self.texts(&[body])?[0])
    }

    /// The ids of texts, in the order of `bodies`.
    pub(crate) fn texts(&mut self, bodies: &[&str]) -> Result<Vec<i64>> {
        let hashes: Vec<i64> = bodies.iter().map(|body| hash(body)).collect();
        let columns: Vec<[&dyn ToSql; 2]> =
            (0..bodies.len()).map(|at| [&hashes[at] as &dyn ToSql, &bodies[at]]).collect();
        let mut ids = vec![None; bodies.len()];
        let sql = "SELECT id FROM text WHERE hash = ? AND body = ?";
        self.database.each_of(sql, &columns, &mut |at, row| {
            ids[at] = Some(row.get::<i64>(0)?);
            Ok(())
        })?;
        // `bodies` may contain the same text twice.
        let mut new: Vec<usize> = Vec::new();
        let mut first: HashMap<&str, usize> = HashMap::new();
        for at in (0..bodies.len()).filter(|at| ids[*at].is_none()) {
            first.entry(bodies[at]).or_insert_with(|| {
                new.push(at);
                at
            });
        }
        let rows: Vec<[&dyn ToSql; 2]> = new.iter().map(|at| columns[*at]).collect();
        let made = self.database.insert("INSERT INTO text (hash, body) VALUES (?, ?)", &rows)?;
        new.iter().zip(made).for_each(|(at, id)| ids[*at] = Some(id));
        (0..bodies.len())
            .map(|at| ids[at].or_else(|| ids[*first.get(bodies[at])?]).ok_or(DatabaseError::Missing))
            .collect()
    }

    fn event(&mut self, run: RunId, event: &StoredObservation) -> Result<()> {
        self.database.put("INSERT INTO event (run, body) VALUES (?, ?)", params![run.0, Json(event)])
    }

    /// Fails if there is no such run.
    pub(crate) fn change_run(&mut self, sql: &str, params: &[&dyn ToSql]) -> Result<()> {
        if self.database.execute(sql, params)? == 0 { Err(DatabaseError::Missing) } else { Ok(()) }
    }

    /// Returns the id of the new row.
    pub(crate) fn insert<const N: usize>(&self, sql: &str, columns: [&dyn ToSql; N]) -> Result<i64> {
        self.database.insert(sql, &[columns])?.first().copied().ok_or(DatabaseError::Missing)
    }
}

pub(crate) const INSERT_TEST: &str = "INSERT INTO test (name, file, line) VALUES (?, ?, ?)";

/// FNV-1a. It must never change, because hashes are stored, and it need not be collision-free.
fn hash(text: &str) -> i64 {
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    hash.cast_signed()
}
