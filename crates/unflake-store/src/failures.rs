//! Reads the failures of a source, and tells cheaply whether the history has changed.

use std::collections::HashMap;

use rusqlite::params;
use unflake_model::{Outcome, Phase, Timestamp};

use crate::enum_columns::EnumName;
use crate::{ReportId, Run, RunId, SourceId, Store, StoreError, TestKey};

/// A failure whose texts are given by key: most failures repeat earlier texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FailureRef {
    /// None for imported reports.
    pub phase: Option<Phase>,
    pub kind: TextKey,
    pub message: TextKey,
    pub trace: TextKey,
    pub file: Option<TextKey>,
    pub line: Option<u32>,
}

/// Identifies a text within one history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TextKey(i64);

/// A snapshot of the row counters. Equal snapshots mean that nothing was added between them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangeCounter([i64; 8]);

impl Store {
    pub fn change_counter(&self) -> Result<ChangeCounter, StoreError> {
        let found = self.list(
            "SELECT (SELECT coalesce(max(id), 0) FROM attempt), (SELECT count(*) FROM run), (SELECT count(ended) FROM run),
                    (SELECT count(*) FROM report), (SELECT CAST(coalesce(sum(executions), 0) AS BIGINT) FROM report),
                    (SELECT coalesce(max(id), 0) FROM finding), (SELECT coalesce(max(id), 0) FROM prepared),
                    (SELECT coalesce(max(id), 0) FROM feedback)",
            &[],
            |row| {
                let mut counts = [0; 8];
                for (at, count) in counts.iter_mut().enumerate() {
                    *count = row.get(at)?;
                }
                Ok(ChangeCounter(counts))
            },
        )?;
        Ok(found.into_iter().next().unwrap_or_default())
    }

    /// The failures among the executions of a source that have any details.
    pub fn failed_in(&self, source: SourceId, each: &mut dyn FnMut(TestKey, FailureRef)) -> Result<(), StoreError> {
        match source {
            SourceId::Report(report) => self.failed_in_report(report, each),
            SourceId::Run(run) => self.failed_in_run(run, each),
        }
    }

    /// Empty if there is no such text.
    pub fn text(&self, key: TextKey) -> Result<String, StoreError> {
        let found = self.list("SELECT body FROM text WHERE id = ?", params![key.0], |row| row.get(0))?;
        Ok(found.into_iter().next().unwrap_or_default())
    }

    /// The time of the last activity of a run that has not ended.
    pub fn last_activity(&self, run: &Run) -> Result<Timestamp, StoreError> {
        let last = self.list(
            "SELECT max(attempt.started) FROM circumstance JOIN attempt ON attempt.circumstance = circumstance.id
             WHERE circumstance.run = ?",
            params![run.id.0],
            |row| row.get::<Option<i64>>(0),
        )?;
        Ok(last.into_iter().flatten().next().map_or(run.facts.started, Timestamp))
    }

    fn failed_in_run(&self, run: RunId, each: &mut dyn FnMut(TestKey, FailureRef)) -> Result<(), StoreError> {
        let failures = self.list(
            "SELECT attempt.test, attempt.outcome, failure.phase, failure.kind, failure.message, failure.trace, failure.file,
                    failure.line
             FROM circumstance JOIN attempt ON attempt.circumstance = circumstance.id
             JOIN failure ON failure.attempt = attempt.id
             WHERE circumstance.run = ? AND circumstance.purpose IN ('suite', 'again', 'at-end', 'fresh', 'other-seeds')
             ORDER BY attempt.id",
            params![run.0],
            |row| {
                let failure = FailureRef {
                    phase: Some(row.get::<EnumName<Phase>>(2)?.0),
                    kind: TextKey(row.get(3)?),
                    message: TextKey(row.get(4)?),
                    trace: TextKey(row.get(5)?),
                    file: row.get::<Option<i64>>(6)?.map(TextKey),
                    line: row.get(7)?,
                };
                Ok((TestKey(row.get(0)?), row.get::<EnumName<Outcome>>(1)?.0, failure))
            },
        )?;
        failures.into_iter().filter(|one| one.1.is_failure()).for_each(|(test, _, failure)| each(test, failure));
        Ok(())
    }

    fn failed_in_report(&self, report: ReportId, each: &mut dyn FnMut(TestKey, FailureRef)) -> Result<(), StoreError> {
        let sql = "SELECT number, kind, message, trace FROM reported_failure WHERE report = ?";
        let failures = self.list(sql, params![report.0], |row| {
            let (kind, message, trace) = (TextKey(row.get(1)?), TextKey(row.get(2)?), TextKey(row.get(3)?));
            let failure = FailureRef { phase: None, kind, message, trace, file: None, line: None };
            Ok((row.get::<i64>(0)?.cast_unsigned(), failure))
        })?;
        if failures.is_empty() {
            return Ok(());
        }
        let failures: HashMap<u64, FailureRef> = failures.into_iter().collect();
        self.each_packed(report, &mut |number, execution| {
            if execution.outcome.is_failure()
                && let Some(failure) = failures.get(&number)
            {
                each(execution.test, *failure);
            }
        })
    }
}
