//! Reads runs, attempts and dependencies.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use rusqlite::params;
use rusqlite::types::ToSql;
use unflake_model::{
    Attempt, Dependencies, EnvironmentId, Event, Factor, Failure, Outcome, Purpose, SessionId, TestId, Timestamp,
    World, WorldId,
};

use crate::database::{DatabaseError, Result, Row};
use crate::enum_columns::{EnumName, Json};
use crate::write::StoredObservation;
use crate::{Host, Revision, Run, RunFacts, RunId, Store, StoreError, TestKey};

/// A stored attempt.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredAttempt {
    pub run: RunId,
    pub revision: Revision,
    pub attempt: Attempt,
}

/// An attempt of a run, without its texts.
#[derive(Clone, Debug, PartialEq)]
pub struct LiveAttempt {
    /// Later attempts have larger ones.
    pub id: i64,
    pub key: TestKey,
    pub test: TestId,
    pub purpose: Purpose,
    pub again: u32,
    pub outcome: Outcome,
    pub started: Timestamp,
    pub seconds: f64,
}

/// The dependencies of a test, and the revision they are valid for.
#[derive(Clone, Debug, PartialEq)]
pub struct LearnedDependencies {
    pub test: TestId,
    /// The start of the run that recorded them.
    pub started: Timestamp,
    pub revision: Revision,
    pub on: Dependencies,
}

/// The exit code of a run that the user interrupted.
const INTERRUPTED: u8 = 130;

type SearchedModules = BTreeMap<String, BTreeSet<String>>;

impl Store {
    /// The attempts at one test, latest first. None if the test is unknown.
    pub fn attempts_of(&self, test: &TestId, limit: usize) -> Result<Vec<StoredAttempt>, StoreError> {
        // Selects the ids before it reads the texts.
        let sql = format!(
            "{ATTEMPT_COLUMNS} FROM (
                 SELECT * FROM attempt WHERE test = (SELECT id FROM test WHERE name = ?)
                 ORDER BY started DESC, id DESC LIMIT ?) AS attempt
             {ATTEMPT_JOINS}
             ORDER BY attempt.started DESC, attempt.id DESC"
        );
        self.list(&sql, params![test.as_str(), limit_param(limit)], stored_attempt)
    }

    /// All attempts of one run, in the order in which they were recorded.
    pub fn attempts_in(&self, run: RunId) -> Result<Vec<Attempt>, StoreError> {
        let sql =
            format!("{ATTEMPT_COLUMNS} FROM attempt {ATTEMPT_JOINS} WHERE circumstance.run = ? ORDER BY attempt.id");
        self.list(&sql, params![run.0], |row| stored_attempt(row).map(|stored| stored.attempt))
    }

    /// The attempts of a run that were recorded after the one with this id, oldest first.
    pub fn attempts_after(&self, run: RunId, after: i64, limit: usize) -> Result<Vec<LiveAttempt>, StoreError> {
        self.list(
            "SELECT attempt.id, attempt.test, test.name, circumstance.purpose, attempt.again, attempt.outcome,
                    attempt.started, attempt.seconds
             FROM circumstance JOIN attempt ON attempt.circumstance = circumstance.id
             JOIN test ON test.id = attempt.test
             WHERE circumstance.run = ? AND attempt.id > ? ORDER BY attempt.id LIMIT ?",
            params![run.0, after, limit_param(limit)],
            |row| {
                Ok(LiveAttempt {
                    id: row.get(0)?,
                    key: TestKey(row.get(1)?),
                    test: TestId::new(row.text(2)?),
                    purpose: row.get::<EnumName<Purpose>>(3)?.0,
                    again: row.get(4)?,
                    outcome: row.get::<EnumName<Outcome>>(5)?.0,
                    started: Timestamp(row.get(6)?),
                    seconds: row.get::<Option<f64>>(7)?.unwrap_or_default(),
                })
            },
        )
    }

    /// The other events of one run, in the order in which they were recorded: environments,
    /// problems, notes and the ends of sessions.
    pub fn other_observations(&self, run: RunId) -> Result<Vec<Event>, StoreError> {
        let stored = self.list("SELECT body FROM event WHERE run = ? ORDER BY id", params![run.0], |row| {
            row.get::<Json<StoredObservation>>(0).map(|json| json.0)
        })?;
        stored.into_iter().filter_map(|stored| self.event(stored).transpose()).collect()
    }

    /// The tests that match `pattern`, by name: the test with exactly this name; else those that
    /// contain it as whole words, like `test_total` in `test_cart.py::test_total[2]`; else all that
    /// contain it.
    pub fn find_tests(&self, pattern: &str) -> Result<Vec<TestId>, StoreError> {
        let mut names = Vec::new();
        self.each("SELECT name FROM test", &[], &mut |row| {
            let name = row.text(0)?;
            if name.contains(pattern) {
                names.push(name.to_owned());
            }
            Ok(())
        })?;
        names.sort();
        let exact = |name: &String| name == pattern;
        let whole = |name: &String| contains_word(name, pattern);
        let chosen: Vec<&String> = if names.iter().any(exact) {
            names.iter().filter(|name| exact(name)).collect()
        } else if names.iter().any(whole) {
            names.iter().filter(|name| whole(name)).collect()
        } else {
            names.iter().collect()
        };
        Ok(chosen.into_iter().map(TestId::new).collect())
    }

    /// Tests that both passed and failed with the same purpose in one of the latest runs, with
    /// their passes and failures there; those with the limit_param failures come first.
    pub fn flaky_lately(&self, runs: usize) -> Result<Vec<(TestId, u32, u32)>, StoreError> {
        let mut tests: HashMap<String, (u32, u32)> = HashMap::new();
        let rows = self.list(
            "SELECT name, passed, failed FROM (
                 SELECT test.name AS name, count(CASE WHEN attempt.outcome = 'passed' THEN 1 END) AS passed,
                        count(CASE WHEN attempt.outcome IN ('failed', 'error') OR attempt.outcome LIKE '%crashed%' THEN 1 END)
                        AS failed
                 FROM attempt
                 JOIN circumstance ON circumstance.id = attempt.circumstance JOIN test ON test.id = attempt.test
                 WHERE circumstance.purpose IN ('suite', 'at-end', 'fresh', 'stress', 'look')
                   AND circumstance.run IN (SELECT id FROM run ORDER BY id DESC LIMIT ?)
                 GROUP BY test.id, circumstance.run, circumstance.purpose) AS counted
             WHERE passed > 0 AND failed > 0",
            params![limit_param(runs)],
            |row| Ok((row.get::<String>(0)?, row.get::<u32>(1)?, row.get::<u32>(2)?)),
        )?;
        for (name, passed, failed) in rows {
            let counts = tests.entry(name).or_default();
            *counts = (counts.0 + passed, counts.1 + failed);
        }
        let mut tests: Vec<_> =
            tests.into_iter().map(|(name, (passed, failed))| (TestId::new(name), passed, failed)).collect();
        tests.sort_by_key(|(test, passed, failed)| (u64::from(*passed) * 1000 / u64::from(*failed), test.clone()));
        Ok(tests)
    }

    /// How long each test took in the suites of the latest runs, on average.
    pub fn seconds_lately(&self, runs: usize) -> Result<Vec<(TestId, f64)>, StoreError> {
        self.list(
            "SELECT test.name, avg(attempt.seconds)
             FROM attempt
             JOIN circumstance ON circumstance.id = attempt.circumstance JOIN test ON test.id = attempt.test
             WHERE circumstance.purpose = 'suite' AND attempt.again = 0 AND attempt.seconds IS NOT NULL
               AND circumstance.run IN (SELECT id FROM run ORDER BY id DESC LIMIT ?)
             GROUP BY test.name",
            params![limit_param(runs)],
            |row| Ok((TestId::new(row.get::<String>(0)?), row.get::<f64>(1)?)),
        )
    }

    /// Whether a test has passed with exactly the files of this tree, in a world equal to that of
    /// the suite of `run`. Returns the tests that ran before it in the same process; of several
    /// passes, the one with the fewest. None: no such pass is known.
    pub fn passed_at(&self, tree: &str, test: &TestId, run: RunId) -> Result<Option<Vec<TestId>>, StoreError> {
        let sql = format!("{PASSES} AND run.tree_hash = ?2 ORDER BY attempt.position, attempt.id");
        let found = self.list(&sql, params![test.as_str(), tree], known_pass)?;
        let wanted = self.suite_world(run)?;
        let Some(pass) = found.into_iter().find(|pass| pass.world == wanted) else { return Ok(None) };
        let mut before = self.list(
            "SELECT test.name FROM attempt JOIN circumstance ON circumstance.id = attempt.circumstance
             JOIN test ON test.id = attempt.test
             WHERE circumstance.run = ? AND circumstance.environment = ? AND attempt.position < ?
             ORDER BY attempt.position",
            params![pass.run, pass.environment, pass.position],
            |row| row.get::<String>(0),
        )?;
        before.dedup();
        Ok(Some(before.into_iter().map(TestId::new).collect()))
    }

    /// When a test last passed with the files of a tree, before a run and in a world equal to that
    /// of its suite.
    pub fn last_pass_at(&self, tree: &str, test: &TestId, before: RunId) -> Result<Option<Timestamp>, StoreError> {
        let sql = format!("{PASSES} AND run.tree_hash = ?2 AND run.id < ?3 ORDER BY attempt.started DESC");
        let found = self.list(&sql, params![test.as_str(), tree, before.0], known_pass)?;
        let wanted = self.suite_world(before)?;
        Ok(found.into_iter().find(|pass| pass.world == wanted).map(|pass| pass.started))
    }

    /// The world of the suite of a run, apart from what its attempts share.
    fn suite_world(&self, run: RunId) -> Result<World, StoreError> {
        let sql = "SELECT world.body FROM circumstance JOIN world ON world.hash = circumstance.world
                   WHERE circumstance.run = ? AND circumstance.purpose = 'suite' LIMIT 1";
        let found = self.list(sql, params![run.0], |row| Ok(row.get::<Json<World>>(0)?.0))?;
        Ok(comparable(found.into_iter().next()))
    }

    /// The commits at which a test passed without uncommitted changes, newest first.
    pub fn commits_passed(&self, test: &TestId) -> Result<Vec<String>, StoreError> {
        let sql = format!("{PASSES} AND run.commit_hash IS NOT NULL ORDER BY attempt.started DESC LIMIT 1000");
        let mut commits = self.list(&sql, params![test.as_str()], |row| row.get::<String>(3))?;
        commits.dedup();
        Ok(commits)
    }

    /// The known dependencies of all tests.
    pub fn dependencies(&self) -> Result<Vec<LearnedDependencies>, StoreError> {
        let mut shared: HashMap<i64, SearchedModules> = HashMap::new();
        self.list(
            "SELECT test.name, run.started, run.commit_hash, run.tree_hash, run.dirty, run.changed,
                    own.body, dependency.searched, searched.body
             FROM dependency
             JOIN test ON test.id = dependency.test
             JOIN run ON run.id = dependency.run
             JOIN text own ON own.id = dependency.own
             JOIN text searched ON searched.id = dependency.searched
             ORDER BY test.name",
            &[],
            |row| {
                let mut on = row.get::<Json<Dependencies>>(6)?.0;
                on.searched = match shared.entry(row.get(7)?) {
                    Entry::Occupied(known) => known.get().clone(),
                    Entry::Vacant(new) => new.insert(row.get::<Json<SearchedModules>>(8)?.0).clone(),
                };
                let (test, started) = (TestId::new(row.text(0)?), Timestamp(row.get(1)?));
                Ok(LearnedDependencies { test, started, revision: revision(row, [2, 3, 4, 5])?, on })
            },
        )
    }

    /// The runs, latest first.
    pub fn runs(&self, limit: usize) -> Result<Vec<Run>, StoreError> {
        self.list(&format!("{RUN} ORDER BY started DESC, id DESC LIMIT ?"), params![limit_param(limit)], run)
    }

    /// The run with this id.
    pub fn run(&self, id: RunId) -> Result<Option<Run>, StoreError> {
        let found = self.list(&format!("{RUN} WHERE id = ?"), params![id.0], run)?;
        Ok(found.into_iter().next())
    }

    /// The attempts of an interrupted experiment with this command on a test, each with its world,
    /// in order, starting with the earliest run that it resumed. Empty if the last experiment was
    /// completed. If `tree` is known, only runs of that tree count.
    pub fn unfinished_experiment(
        &self,
        command: &[String],
        cwd: &str,
        test: &TestId,
        tree: Option<&str>,
    ) -> Result<Vec<(Vec<Factor>, Attempt)>, StoreError> {
        let runs = self.list(
            "SELECT DISTINCT run.id, run.exit, run.tree_hash FROM attempt
             JOIN circumstance ON circumstance.id = attempt.circumstance JOIN run ON run.id = circumstance.run
             WHERE attempt.test = (SELECT id FROM test WHERE name = ?) AND circumstance.purpose = 'factor'
               AND run.command = ? AND run.cwd = ?
             ORDER BY run.id DESC",
            params![test.as_str(), Json(command), cwd],
            |row| Ok((RunId(row.get(0)?), row.get::<Option<u8>>(1)?, row.get::<Option<String>>(2)?)),
        )?;
        let same = |of: &Option<String>| of.as_deref().zip(tree).is_none_or(|(of, tree)| of == tree);
        let mut interrupted: Vec<RunId> = runs
            .into_iter()
            .take_while(|(_, exit, of)| exit.is_none_or(|exit| exit == INTERRUPTED) && same(of))
            .map(|(run, ..)| run)
            .collect();
        interrupted.reverse();
        let mut attempts = Vec::new();
        for run in interrupted {
            let worlds = self.worlds_in(run)?;
            let of_test = self.attempts_in(run)?.into_iter().filter(|attempt| attempt.test == *test);
            let in_world = |attempt: Attempt| Some((worlds.get(&attempt.world?)?.factors.clone(), attempt));
            attempts.extend(of_test.filter_map(in_world));
        }
        Ok(attempts)
    }

    /// The world with this id.
    pub fn world(&self, id: WorldId) -> Result<Option<World>, StoreError> {
        let sql = "SELECT body FROM world WHERE hash = ?";
        let found = self.list(sql, params![id.0.cast_signed()], |row| row.get::<Json<World>>(0))?;
        Ok(found.into_iter().next().map(|json| json.0))
    }

    /// The worlds of the attempts of one run.
    pub fn worlds_in(&self, run: RunId) -> Result<HashMap<WorldId, World>, StoreError> {
        let sql = "SELECT hash, body FROM world WHERE hash IN (SELECT world FROM circumstance WHERE run = ?)";
        let read = |row: &Row| Ok((WorldId(row.get::<i64>(0)?.cast_unsigned()), row.get::<Json<World>>(1)?.0));
        Ok(self.list(sql, params![run.0], read)?.into_iter().collect())
    }

    /// None: it is not needed any more.
    fn event(&self, stored: StoredObservation) -> Result<Option<Event>, StoreError> {
        Ok(Some(match stored {
            StoredObservation::Under {} => return Ok(None),
            StoredObservation::Environment(environment) => Event::EnvironmentStarted(environment),
            StoredObservation::Problem(problem) => Event::Problem(problem),
            StoredObservation::Note(text) => Event::Note(text),
            StoredObservation::SessionEnded { session, left, why } => {
                let left = left.into_iter().map(|id| self.test_name(id)).collect::<Result<_, _>>()?;
                Event::SessionEnded { session, left, why }
            }
        }))
    }

    fn test_name(&self, id: i64) -> Result<TestId, StoreError> {
        let found = self.list("SELECT name FROM test WHERE id = ?", params![id], |row| row.get::<String>(0))?;
        found.into_iter().next().map(TestId::new).ok_or_else(|| self.failed(DatabaseError::Missing))
    }

    pub(crate) fn list<T>(
        &self,
        sql: &str,
        params: &[&dyn ToSql],
        mut read: impl FnMut(&Row) -> Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let mut all = Vec::new();
        self.each(sql, params, &mut |row| {
            all.push(read(row)?);
            Ok(())
        })?;
        Ok(all)
    }

    pub(crate) fn each(
        &self,
        sql: &str,
        params: &[&dyn ToSql],
        each: &mut dyn FnMut(&Row) -> Result<()>,
    ) -> Result<(), StoreError> {
        self.database.each(sql, params, each).map_err(|error| self.failed(error))
    }
}

const RUN: &str = "
    SELECT id, command, cwd, started, version, host, os, arch, cpus, commit_hash, tree_hash, dirty, ended,
           exit, listed, deselected, attempts, changed
    FROM run";

const ATTEMPT_COLUMNS: &str = "
    SELECT circumstance.run, run.commit_hash, run.tree_hash, run.dirty,
           test.name, circumstance.session, circumstance.purpose, circumstance.environment, circumstance.origin,
           attempt.position, attempt.again, attempt.outcome, attempt.started, attempt.seconds, stdout.body, stderr.body,
           failure.phase, kind.body, message.body, trace.body, file.body, failure.line,
           run.changed, attempt.load, circumstance.world";

/// The tables that belong to an attempt.
const ATTEMPT_JOINS: &str = "
    JOIN test ON test.id = attempt.test
    JOIN circumstance ON circumstance.id = attempt.circumstance
    JOIN run ON run.id = circumstance.run
    LEFT JOIN text stdout ON stdout.id = attempt.stdout
    LEFT JOIN text stderr ON stderr.id = attempt.stderr
    LEFT JOIN failure ON failure.attempt = attempt.id
    LEFT JOIN text kind ON kind.id = failure.kind
    LEFT JOIN text message ON message.id = failure.message
    LEFT JOIN text trace ON trace.id = failure.trace
    LEFT JOIN text file ON file.id = failure.file";

/// Passes of one test without uncommitted changes.
const PASSES: &str = "
    SELECT circumstance.run, circumstance.environment, attempt.position, run.commit_hash,
        attempt.started, world.body
    FROM attempt
    JOIN circumstance ON circumstance.id = attempt.circumstance
    LEFT JOIN world ON world.hash = circumstance.world
    JOIN run ON run.id = circumstance.run
    WHERE attempt.test = (SELECT id FROM test WHERE name = ?1) AND run.dirty = 0
      AND attempt.outcome IN ('passed', 'expected-failure', 'unexpected-pass')
      AND circumstance.purpose IN ('suite', 'fresh', 'look')";

/// A row of [`PASSES`].
struct KnownPass {
    run: i64,
    environment: i64,
    position: u32,
    started: Timestamp,
    world: World,
}

fn known_pass(row: &Row) -> Result<KnownPass> {
    Ok(KnownPass {
        run: row.get(0)?,
        environment: row.get(1)?,
        position: row.get(2)?,
        started: Timestamp(row.get(4)?),
        world: comparable(row.get::<Option<Json<World>>>(5)?.map(|body| body.0)),
    })
}

/// A world as passes are compared by it. Where none was recorded, nothing had been chosen.
fn comparable(world: Option<World>) -> World {
    World { shared: Default::default(), machine: None, ..world.unwrap_or_default() }
}

/// Decodes a row of [`ATTEMPT_COLUMNS`].
fn stored_attempt(row: &Row) -> Result<StoredAttempt> {
    let failure = match row.get::<Option<EnumName<_>>>(16)? {
        Some(EnumName(phase)) => Some(Failure {
            phase,
            kind: row.get(17)?,
            message: row.get(18)?,
            trace: row.get(19)?,
            file: row.get(20)?,
            line: row.get(21)?,
        }),
        None => None,
    };
    Ok(StoredAttempt {
        run: RunId(row.get(0)?),
        revision: revision(row, [1, 2, 3, 22])?,
        attempt: Attempt {
            test: TestId::new(row.text(4)?),
            session: SessionId(row.get(5)?),
            purpose: row.get::<EnumName<_>>(6)?.0,
            environment: EnvironmentId(row.get(7)?),
            origin: row.get::<EnumName<_>>(8)?.0,
            world: row.get::<Option<i64>>(24)?.map(|hash| WorldId(hash.cast_unsigned())),
            position: row.get(9)?,
            run: row.get(10)?,
            outcome: row.get::<EnumName<_>>(11)?.0,
            started: Timestamp(row.get(12)?),
            seconds: row.get::<Option<f64>>(13)?.unwrap_or(f64::NAN),
            load: row.get(23)?,
            failure,
            stdout: row.get::<Option<String>>(14)?.unwrap_or_default(),
            stderr: row.get::<Option<String>>(15)?.unwrap_or_default(),
        },
    })
}

/// Commit, tree, dirty flag and changed paths.
fn revision(row: &Row, [commit, tree, dirty, changed]: [usize; 4]) -> Result<Revision> {
    let changed = row.get::<Option<Json<Vec<String>>>>(changed)?.map_or(Vec::new(), |changed| changed.0);
    Ok(Revision { commit: row.get(commit)?, tree: row.get(tree)?, dirty: row.get(dirty)?, changed })
}

fn run(row: &Row) -> Result<Run> {
    let ended: Option<i64> = row.get(12)?;
    let listed: Option<u32> = row.get(14)?;
    Ok(Run {
        id: RunId(row.get(0)?),
        facts: RunFacts {
            command: row.get::<Json<_>>(1)?.0,
            cwd: row.get(2)?,
            started: Timestamp(row.get(3)?),
            version: row.get(4)?,
            host: Host { name: row.get(5)?, os: row.get(6)?, arch: row.get(7)?, cpus: row.get(8)? },
            revision: revision(row, [9, 10, 11, 17])?,
        },
        ended: ended.map(|ended| Ok::<_, DatabaseError>((Timestamp(ended), row.get(13)?))).transpose()?,
        listed: listed.map(|listed| Ok::<_, DatabaseError>((listed, row.get(15)?))).transpose()?,
        attempts: row.get::<i64>(16)?.cast_unsigned(),
    })
}

/// Whether `part` occurs in `name` with no letter, digit or underscore directly before or after it.
fn contains_word(name: &str, part: &str) -> bool {
    let in_word = |c: char| c.is_alphanumeric() || c == '_';
    name.match_indices(part).any(|(at, _)| {
        !name[..at].chars().next_back().is_some_and(in_word)
            && !name[at + part.len()..].chars().next().is_some_and(in_word)
    })
}

pub(crate) fn limit_param(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}
