//! Stores imported reports: test results that other programs wrote.

use std::collections::HashSet;

use rusqlite::params;
use rusqlite::types::ToSql;
use unflake_model::Timestamp;

use crate::database::{DatabaseError, Result, Row};
use crate::packed::Packer;
use crate::read::limit_param;
use crate::write::{INSERT_TEST, Writer};
use crate::{Report, ReportFacts, ReportId, ReportedExecution, Store, StoreError};

/// Ids of tests in memory while reports are imported; beyond it they are looked up again.
const MOST_KEPT_IDS: usize = 200_000;

impl Store {
    /// Returns the report with this key, and creates it if it does not exist. Executions that an
    /// existing report contains need not be recorded again.
    pub fn begin_report(&mut self, facts: &ReportFacts) -> Result<Report, StoreError> {
        self.write(|writer| {
            if let Some(known) = writer.report(&facts.key)? {
                return Ok(known);
            }
            let id = writer.insert(
                "INSERT INTO report (key, format, path, size, started, imported, commit_hash, branch, ci_run, ci_attempt, job)
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    &facts.key,
                    &facts.format,
                    &facts.path,
                    &facts.size.cast_signed(),
                    &facts.started.0,
                    &facts.imported.0,
                    &facts.commit,
                    &facts.branch,
                    &facts.ci_run,
                    &facts.ci_attempt,
                    &facts.job,
                ],
            )?;
            Ok(Report { id: ReportId(id), facts: facts.clone(), executions: 0, ended: None })
        })
    }

    /// Stores the executions of a report from number `first` on, in one transaction. Does nothing
    /// if they exist already because another process imports the same file.
    pub fn record_report(
        &mut self,
        report: ReportId,
        first: u64,
        executions: &[ReportedExecution],
    ) -> Result<(), StoreError> {
        self.write(|writer| {
            let stored = writer.database.find("SELECT executions FROM report WHERE id = ?", params![report.0])?;
            // Another process was faster. Both read the same bytes, so both split them at the same
            // positions.
            if stored.ok_or(DatabaseError::Missing)?.cast_unsigned() > first {
                return Ok(());
            }
            writer.create_tests(executions)?;
            let mut packer = Packer::default();
            for execution in executions {
                let test = writer.ids.tests.get(&execution.test).ok_or(DatabaseError::Missing)?;
                packer.add(*test, execution.again, execution.outcome, execution.seconds);
            }
            writer.reported_failures(report, first, executions)?;
            writer.database.put(
                "INSERT INTO packed (report, first, body) VALUES (?, ?, ?)",
                params![report.0, first.cast_signed(), packer.body],
            )?;
            let end = first + executions.len() as u64;
            writer.database.put("UPDATE report SET executions = ?2 WHERE id = ?1", params![report.0, end.cast_signed()])
        })
    }

    /// Marks the import as finished: complete if `broken` is empty, else cut off for that reason.
    pub fn finish_report(&mut self, report: ReportId, broken: &str) -> Result<(), StoreError> {
        self.write(|writer| {
            let sql = "UPDATE report SET ended = ?2 WHERE id = ?1 AND ended IS NULL";
            writer.database.put(sql, params![report.0, broken])
        })
    }

    /// The reports, those with the latest test runs first.
    pub fn reports(&self, limit: usize) -> Result<Vec<Report>, StoreError> {
        self.list(&format!("{REPORT} ORDER BY started DESC, id DESC LIMIT ?"), params![limit_param(limit)], report)
    }
}

const REPORT: &str = "
    SELECT id, key, format, path, size, started, imported, commit_hash, branch, ci_run, ci_attempt, executions, ended, job
    FROM report";

fn report(row: &Row) -> Result<Report> {
    Ok(Report {
        id: ReportId(row.get(0)?),
        facts: ReportFacts {
            key: row.get(1)?,
            format: row.get(2)?,
            path: row.get(3)?,
            size: row.get::<i64>(4)?.cast_unsigned(),
            started: Timestamp(row.get(5)?),
            imported: Timestamp(row.get(6)?),
            commit: row.get(7)?,
            branch: row.get(8)?,
            ci_run: row.get(9)?,
            ci_attempt: row.get(10)?,
            job: row.get(13)?,
        },
        executions: row.get::<i64>(11)?.cast_unsigned(),
        ended: row.get(12)?,
    })
}

impl Writer<'_> {
    fn report(&self, key: &str) -> Result<Option<Report>> {
        let mut found = None;
        self.database.each(&format!("{REPORT} WHERE key = ?"), params![key], &mut |row| {
            found = Some(report(row)?);
            Ok(())
        })?;
        Ok(found)
    }

    /// Creates the tests of all executions. A location from a report is used only if no runner has
    /// given one: runners are more precise.
    fn create_tests(&mut self, executions: &[ReportedExecution]) -> Result<()> {
        if self.ids.tests.len() > MOST_KEPT_IDS {
            self.ids.tests.clear();
        }
        let mut unknown: Vec<&ReportedExecution> = Vec::new();
        let mut seen: HashSet<&str> = HashSet::new();
        for execution in executions {
            if !self.ids.tests.contains_key(&execution.test) && seen.insert(execution.test.as_str()) {
                unknown.push(execution);
            }
        }
        let names: Vec<&str> = unknown.iter().map(|one| one.test.as_str()).collect();
        let asked: Vec<[&dyn ToSql; 1]> = names.iter().map(|name| [name as &dyn ToSql]).collect();
        let mut found = vec![None; unknown.len()];
        self.database.each_of("SELECT id, file IS NULL FROM test WHERE name = ?", &asked, &mut |at, row| {
            found[at] = Some((row.get::<i64>(0)?, row.get::<bool>(1)?));
            Ok(())
        })?;
        let files: Vec<Option<&str>> = unknown.iter().map(|one| one.file.as_deref()).collect();
        let mut new = Vec::new();
        for (at, one) in unknown.iter().enumerate() {
            match found[at] {
                Some((id, has_no_location)) => {
                    if has_no_location && files[at].is_some() {
                        let sql = "UPDATE test SET file = ?2, line = ?3 WHERE id = ?1";
                        self.database.put(sql, params![id, files[at], one.line])?;
                    }
                    self.ids.tests.insert(one.test.clone(), id);
                }
                None => new.push(at),
            }
        }
        let rows: Vec<[&dyn ToSql; 3]> =
            new.iter().map(|at| [&names[*at] as &dyn ToSql, &files[*at], &unknown[*at].line]).collect();
        let new_ids = self.database.insert(INSERT_TEST, &rows)?;
        self.ids.tests.extend(new.iter().map(|at| unknown[*at].test.clone()).zip(new_ids));
        Ok(())
    }

    fn reported_failures(&mut self, report: ReportId, first: u64, executions: &[ReportedExecution]) -> Result<()> {
        let failed: Vec<_> =
            (first..).zip(executions).filter_map(|(number, one)| Some((number, one.failure.as_ref()?))).collect();
        let texts: Vec<&str> =
            failed.iter().flat_map(|(_, failure)| [&*failure.kind, &failure.message, &failure.trace]).collect();
        let texts = self.texts(&texts)?;
        for ((number, _), texts) in failed.iter().zip(texts.chunks(3)) {
            self.database.put(
                "INSERT INTO reported_failure (report, number, kind, message, trace) VALUES (?, ?, ?, ?, ?)",
                params![report.0, number.cast_signed(), texts[0], texts[1], texts[2]],
            )?;
        }
        Ok(())
    }
}
