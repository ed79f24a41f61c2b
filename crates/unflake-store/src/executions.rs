//! Executions from our own runs and from imported reports, in one form for scores and test
//! histories.

use rusqlite::params;
use unflake_model::{Outcome, TestId, Timestamp};

use crate::database::Result;
use crate::enum_columns::EnumName;
use crate::packed::Unpacker;
use crate::{ReportId, RunId, Store, StoreError};

/// Identifies a test within one history; smaller than its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TestKey(pub i64);

/// A test, and its source location if known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredTest {
    pub key: TestKey,
    pub test: TestId,
    pub file: Option<String>,
    pub line: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Execution {
    pub test: TestKey,
    /// 0 for the first execution in its source, 15 for the 15th and all later ones.
    pub again: u8,
    pub outcome: Outcome,
    pub seconds: f32,
}

/// Where executions come from: one of our own runs, or an imported report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    pub id: SourceId,
    pub started: Timestamp,
    pub commit: Option<String>,
    /// Whether there were uncommitted changes.
    pub dirty: bool,
    pub branch: Option<String>,
    pub ci_run: Option<String>,
    pub ci_attempt: Option<u32>,
    pub job: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SourceId {
    Run(RunId),
    Report(ReportId),
}

/// One execution of a test in an imported report.
#[derive(Clone, Debug, PartialEq)]
pub struct PastExecution {
    pub source: Source,
    pub execution: Execution,
    /// Empty if there is none.
    pub message: String,
}

impl Store {
    /// Every test that was ever run or listed, by key.
    pub fn tests(&self) -> Result<Vec<StoredTest>, StoreError> {
        self.list("SELECT id, name, file, line FROM test ORDER BY id", &[], |row| {
            Ok(StoredTest {
                key: TestKey(row.get(0)?),
                test: TestId::new(row.text(1)?),
                file: row.get(2)?,
                line: row.get(3)?,
            })
        })
    }

    /// None if no test has this name.
    pub fn key_of(&self, test: &TestId) -> Result<Option<TestKey>, StoreError> {
        let found = self.list("SELECT id FROM test WHERE name = ?", params![test.as_str()], |row| row.get(0))?;
        Ok(found.into_iter().next().map(TestKey))
    }

    /// Every source, oldest first.
    pub fn sources(&self) -> Result<Vec<Source>, StoreError> {
        let mut sources = self.list(
            "SELECT 0, id, started, commit_hash, coalesce(dirty, 0), NULL, NULL, NULL, NULL FROM run WHERE attempts > 0
             UNION ALL
             SELECT 1, id, started, commit_hash, 0, branch, ci_run, ci_attempt, job FROM report",
            &[],
            |row| {
                let number = row.get(1)?;
                Ok(Source {
                    id: if row.get(0)? { SourceId::Report(ReportId(number)) } else { SourceId::Run(RunId(number)) },
                    started: Timestamp(row.get(2)?),
                    commit: row.get(3)?,
                    dirty: row.get(4)?,
                    branch: row.get(5)?,
                    ci_run: row.get(6)?,
                    ci_attempt: row.get(7)?,
                    job: row.get(8)?,
                })
            },
        )?;
        sources.sort_by_key(|source| (source.started, source.id));
        Ok(sources)
    }

    /// The executions of a source, in its order. Of our own runs only the suite and the retries
    /// count: in searches and experiments tests fail on purpose.
    pub fn executions_in(&self, source: SourceId, each: &mut dyn FnMut(Execution)) -> Result<(), StoreError> {
        match source {
            SourceId::Report(report) => self.each_packed(report, &mut |_, execution| each(execution)),
            SourceId::Run(run) => self.each_attempt(run, each),
        }
    }

    /// All executions of one test in imported reports, oldest first.
    pub fn reported_of(&self, test: TestKey) -> Result<Vec<PastExecution>, StoreError> {
        self.reported_in(&self.sources()?, test, usize::MAX)
    }

    /// The executions in these sources. Stops reading sources once `enough` executions are found.
    pub fn reported_in<'a>(
        &self,
        sources: impl IntoIterator<Item = &'a Source>,
        test: TestKey,
        enough: usize,
    ) -> Result<Vec<PastExecution>, StoreError> {
        let mut all = Vec::new();
        for source in sources {
            let SourceId::Report(report) = source.id else { continue };
            if all.len() >= enough {
                break;
            }
            let mut found: Vec<(u64, Execution)> = Vec::new();
            self.each_packed(report, &mut |number, execution| {
                if execution.test == test {
                    found.push((number, execution));
                }
            })?;
            for (number, execution) in found {
                let passed = execution.outcome == Outcome::Passed;
                let message = if passed { String::new() } else { self.message(report, number)? };
                all.push(PastExecution { source: source.clone(), execution, message });
            }
        }
        Ok(all)
    }

    pub(crate) fn each_packed(&self, report: ReportId, each: &mut dyn FnMut(u64, Execution)) -> Result<(), StoreError> {
        let sql = "SELECT first, body FROM packed WHERE report = ? ORDER BY first";
        self.each(sql, params![report.0], &mut |row| {
            let first = row.get::<i64>(0)?.cast_unsigned();
            (first..).zip(Unpacker::new(row.bytes(1)?)).for_each(|(number, execution)| each(number, execution));
            Ok(())
        })
    }

    fn each_attempt(&self, run: RunId, each: &mut dyn FnMut(Execution)) -> Result<(), StoreError> {
        self.each(
            "SELECT attempt.test, attempt.again, circumstance.purpose = 'suite', attempt.outcome, attempt.seconds
             FROM circumstance JOIN attempt ON attempt.circumstance = circumstance.id
             WHERE circumstance.run = ? AND circumstance.purpose IN ('suite', 'again', 'at-end', 'fresh', 'other-seeds')
             ORDER BY attempt.id",
            params![run.0],
            &mut |row| {
                let again: u32 = row.get(1)?;
                let in_suite: bool = row.get(2)?;
                each(Execution {
                    test: TestKey(row.get(0)?),
                    // Everything after the suite is a retry, even if it is the first run in its
                    // session.
                    again: again.saturating_add(u32::from(!in_suite)).min(15) as u8,
                    outcome: row.get::<EnumName<Outcome>>(3)?.0,
                    seconds: row.get::<Option<f64>>(4)?.unwrap_or(0.0) as f32,
                });
                Ok(())
            },
        )
    }

    fn message(&self, report: ReportId, number: u64) -> Result<String, StoreError> {
        let sql = "SELECT body FROM reported_failure JOIN text ON text.id = message WHERE report = ? AND number = ?";
        let found = self.list(sql, params![report.0, number.cast_signed()], |row| row.get(0))?;
        Ok(found.into_iter().next().unwrap_or_default())
    }
}
