//! How the results of other programs get in.

use std::collections::HashSet;

use rusqlite::params;
use rusqlite::types::ToSql;
use unflake_model::Timestamp;

use crate::database::{Error, Result, Row};
use crate::packed::Packer;
use crate::write::{NEW_TEST, Writer};
use crate::{Imported, Report, ReportFacts, ReportId, Store, StoreError};

impl Store {
    /// The report with this key. Where it is there already, it is the one that is there: what has been recorded of it
    /// need not be recorded again.
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

    /// Keeps the executions of a report from number `first` on: all of them, or none where it fails or where they are
    /// there already, because another process takes in the same file.
    pub fn record_report(&mut self, report: ReportId, first: u64, executions: &[Imported]) -> Result<(), StoreError> {
        self.write(|writer| {
            let there = writer.database.find("SELECT executions FROM report WHERE id = ?", params![report.0])?;
            // Somebody else was quicker. Both read the same bytes, so that both cut them in the same places.
            if there.ok_or(Error::Missing)?.cast_unsigned() > first {
                return Ok(());
            }
            writer.know_tests(executions)?;
            let mut packer = Packer::default();
            for execution in executions {
                let test = writer.known.tests.get(&execution.test).ok_or(Error::Missing)?;
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

    /// Nothing more will come: all of it is there, or it breaks off for the reason given.
    pub fn finish_report(&mut self, report: ReportId, broken: &str) -> Result<(), StoreError> {
        self.write(|writer| {
            let sql = "UPDATE report SET ended = ?2 WHERE id = ?1 AND ended IS NULL";
            writer.database.put(sql, params![report.0, broken])
        })
    }

    /// The reports, those whose tests ran last first.
    pub fn reports(&self, limit: usize) -> Result<Vec<Report>, StoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.list(&format!("{REPORT} ORDER BY started DESC, id DESC LIMIT ?"), params![limit], report)
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

    /// Afterwards the tests of all executions are known. The place that a report tells is kept where no runner has told one: a runner
    /// knows better.
    fn know_tests(&mut self, executions: &[Imported]) -> Result<()> {
        let mut unknown: Vec<&Imported> = Vec::new();
        let mut met: HashSet<&str> = HashSet::new();
        for execution in executions {
            if !self.known.tests.contains_key(&execution.test) && met.insert(execution.test.as_str()) {
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
                Some((id, placeless)) => {
                    if placeless && files[at].is_some() {
                        let sql = "UPDATE test SET file = ?2, line = ?3 WHERE id = ?1";
                        self.database.put(sql, params![id, files[at], one.line])?;
                    }
                    self.known.tests.insert(one.test.clone(), id);
                }
                None => new.push(at),
            }
        }
        let rows: Vec<[&dyn ToSql; 3]> =
            new.iter().map(|at| [&names[*at] as &dyn ToSql, &files[*at], &unknown[*at].line]).collect();
        let ids = self.database.insert(NEW_TEST, &rows)?;
        self.known.tests.extend(new.iter().map(|at| unknown[*at].test.clone()).zip(ids));
        Ok(())
    }

    fn reported_failures(&mut self, report: ReportId, first: u64, executions: &[Imported]) -> Result<()> {
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
