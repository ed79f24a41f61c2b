//! How the results of other programs get in.

use rusqlite::{OptionalExtension, Result, Row, params};
use unflake_model::Timestamp;

use crate::columns::Packer;
use crate::write::Writer;
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
                params![
                    facts.key,
                    facts.format,
                    facts.path,
                    facts.size.cast_signed(),
                    facts.started.0,
                    facts.imported.0,
                    facts.commit,
                    facts.branch,
                    facts.ci_run,
                    facts.ci_attempt,
                    facts.job,
                ],
            )?;
            Ok(Report { id: ReportId(id), facts: facts.clone(), executions: 0, ended: None })
        })
    }

    /// Keeps the executions of a report from number `first` on: all of them, or none where it fails or where they are
    /// there already, because another process takes in the same file.
    pub fn record_report(&mut self, report: ReportId, first: u64, executions: &[Imported]) -> Result<(), StoreError> {
        self.write(|writer| {
            let there = writer.find("SELECT executions FROM report WHERE id = ?", params![report.0])?;
            // Somebody else was quicker. Both read the same bytes, so that both cut them in the same places.
            if there.ok_or(rusqlite::Error::QueryReturnedNoRows)?.cast_unsigned() > first {
                return Ok(());
            }
            let mut packer = Packer::default();
            for (number, execution) in (first..).zip(executions) {
                let test = writer.reported_test(execution)?;
                packer.add(test, execution.again, execution.outcome, execution.seconds);
                writer.reported_failure(report, number, execution)?;
            }
            writer.insert(
                "INSERT INTO packed (report, first, body) VALUES (?, ?, ?)",
                params![report.0, first.cast_signed(), packer.body],
            )?;
            let end = first + executions.len() as u64;
            writer.insert("UPDATE report SET executions = ?2 WHERE id = ?1", params![report.0, end.cast_signed()])?;
            Ok(())
        })
    }

    /// Nothing more will come: all of it is there, or it breaks off for the reason given.
    pub fn finish_report(&mut self, report: ReportId, broken: &str) -> Result<(), StoreError> {
        self.write(|writer| {
            writer.insert("UPDATE report SET ended = ?2 WHERE id = ?1 AND ended IS NULL", params![report.0, broken])?;
            Ok(())
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
            size: row.get::<_, i64>(4)?.cast_unsigned(),
            started: Timestamp(row.get(5)?),
            imported: Timestamp(row.get(6)?),
            commit: row.get(7)?,
            branch: row.get(8)?,
            ci_run: row.get(9)?,
            ci_attempt: row.get(10)?,
            job: row.get(13)?,
        },
        executions: row.get::<_, i64>(11)?.cast_unsigned(),
        ended: row.get(12)?,
    })
}

impl Writer<'_> {
    fn report(&self, key: &str) -> Result<Option<Report>> {
        self.database.prepare_cached(&format!("{REPORT} WHERE key = ?"))?.query_row(params![key], report).optional()
    }

    /// The place that a report tells is kept where no runner has told one: a runner knows better.
    fn reported_test(&mut self, execution: &Imported) -> Result<i64> {
        if let Some(&id) = self.known.tests.get(&execution.test) {
            return Ok(id);
        }
        let name = execution.test.as_str();
        let file = execution.file.as_deref();
        let id = match self.find("SELECT id FROM test WHERE name = ?", params![name])? {
            Some(id) => {
                self.insert(
                    "UPDATE test SET file = ?2, line = ?3 WHERE id = ?1 AND file IS NULL AND ?2 IS NOT NULL",
                    params![id, file, execution.line],
                )?;
                id
            }
            None => self
                .insert("INSERT INTO test (name, file, line) VALUES (?, ?, ?)", params![name, file, execution.line])?,
        };
        self.known.tests.insert(execution.test.clone(), id);
        Ok(id)
    }

    fn reported_failure(&mut self, report: ReportId, number: u64, execution: &Imported) -> Result<()> {
        let Some(failure) = &execution.failure else { return Ok(()) };
        let kind = self.text(&failure.kind)?;
        let message = self.text(&failure.message)?;
        let trace = self.text(&failure.trace)?;
        self.insert(
            "INSERT INTO reported_failure (report, number, kind, message, trace) VALUES (?, ?, ?, ?, ?)",
            params![report.0, number.cast_signed(), kind, message, trace],
        )?;
        Ok(())
    }
}
