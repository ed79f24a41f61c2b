//! Stores the findings of runs, prepared reports, and the feedback of people on findings.

use rusqlite::params;
use unflake_model::{Feedback, Finding, Fingerprint, PreparedReport, TestId, Timestamp};

use crate::database::{Result, Row};
use crate::enum_columns::Json;
use crate::read::limit_param;
use crate::write::Writer;
use crate::{AuditEntry, RunId, Store, StoreError, TestKey};

/// A finding as it was reported.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredFinding {
    pub run: RunId,
    /// The start of the run that reported it.
    pub started: Timestamp,
    pub commit: Option<String>,
    pub finding: Finding,
}

/// A report that was prepared in advance.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadyReport {
    pub test: TestId,
    /// A hash of the files at that time.
    pub tree: String,
    pub run: RunId,
    pub started: Timestamp,
    pub commit: Option<String>,
    pub command: Vec<String>,
    pub host: String,
    pub report: PreparedReport,
}

impl Store {
    /// Stores the findings of a run in one transaction.
    pub fn record_findings(&mut self, run: RunId, findings: &[Finding]) -> Result<(), StoreError> {
        self.write(|writer| writer.findings(run, findings))
    }

    /// The latest version of each finding, newest first. Findings that this version of unflake
    /// cannot parse are skipped.
    pub fn latest_findings(&self, limit: usize) -> Result<Vec<StoredFinding>, StoreError> {
        let sql = format!("{LATEST_FINDINGS} ORDER BY finding.id DESC LIMIT ?");
        Ok(self.list(&sql, params![limit_param(limit)], stored_finding)?.into_iter().flatten().collect())
    }

    /// The latest version of each finding on one test.
    pub fn findings_on(&self, test: &TestId) -> Result<Vec<StoredFinding>, StoreError> {
        let sql = format!("{LATEST_FINDINGS} AND test.name = ? ORDER BY finding.id DESC");
        Ok(self.list(&sql, params![test.as_str()], stored_finding)?.into_iter().flatten().collect())
    }

    /// When each finding on a test was made since then, the newest first.
    pub fn findings_since(&self, test: &TestId, since: Timestamp) -> Result<Vec<(Timestamp, Finding)>, StoreError> {
        let sql = "SELECT run.started, finding.body
             FROM finding JOIN run ON run.id = finding.run JOIN test ON test.id = finding.test
             WHERE test.name = ? AND run.started >= ? ORDER BY finding.id DESC";
        let all = self.list(sql, params![test.as_str(), since.0], |row| {
            let started = Timestamp(row.get(0)?);
            Ok(row.get::<Json<Finding>>(1).ok().map(|finding| (started, finding.0)))
        })?;
        Ok(all.into_iter().flatten().collect())
    }

    /// The findings of one run, with the keys of the tests.
    pub fn findings_in(&self, run: RunId) -> Result<Vec<(TestKey, Finding)>, StoreError> {
        let all = self.list("SELECT test, body FROM finding WHERE run = ? ORDER BY id", params![run.0], |row| {
            let test = TestKey(row.get(0)?);
            Ok(row.get::<Json<Finding>>(1).ok().map(|finding| (test, finding.0)))
        })?;
        Ok(all.into_iter().flatten().collect())
    }

    /// Stores a report on a test for these files.
    pub fn prepare(
        &mut self,
        run: RunId,
        test: &TestId,
        tree: &str,
        report: &PreparedReport,
    ) -> Result<(), StoreError> {
        self.write(|writer| {
            let test = writer.test(test)?;
            writer.database.put(
                "INSERT INTO prepared (run, test, tree, body) VALUES (?, ?, ?, ?)",
                params![run.0, test, tree, Json(report)],
            )?;
            Ok(())
        })
    }

    /// The latest report on each test for the files `tree`, or for any files if that is None.
    /// Newest first.
    pub fn prepared(&self, tree: Option<&str>) -> Result<Vec<ReadyReport>, StoreError> {
        let all = self.list(
            "SELECT test.name, prepared.tree, prepared.run, run.started, run.commit_hash, run.command, run.host,
                    prepared.body
             FROM prepared
             JOIN test ON test.id = prepared.test
             JOIN run ON run.id = prepared.run
             WHERE prepared.id IN (
                 SELECT max(id) FROM prepared WHERE tree = ?1 OR ?1 IS NULL GROUP BY test)
             ORDER BY prepared.id DESC",
            params![tree],
            stored_report,
        )?;
        Ok(all.into_iter().flatten().collect())
    }

    pub fn record_feedback(&mut self, feedback: &Feedback) -> Result<(), StoreError> {
        self.write(|writer| writer.feedback(feedback))
    }

    /// The same, with an entry in the audit log.
    pub fn record_feedback_of(&mut self, feedback: &Feedback, entry: &AuditEntry) -> Result<(), StoreError> {
        self.write(|writer| {
            writer.feedback(feedback)?;
            writer.audit(entry)
        })
    }

    /// The latest feedback on each finding.
    pub fn feedback(&self) -> Result<Vec<Feedback>, StoreError> {
        self.list(
            "SELECT fingerprint, useful, at, why FROM feedback
             WHERE id IN (SELECT max(id) FROM feedback GROUP BY fingerprint) ORDER BY id",
            &[],
            |row| {
                Ok(Feedback {
                    finding: Fingerprint(row.get(0)?),
                    useful: row.get(1)?,
                    at: Timestamp(row.get(2)?),
                    why: row.get(3)?,
                })
            },
        )
    }
}

impl Writer<'_> {
    fn feedback(&mut self, feedback: &Feedback) -> Result<()> {
        self.database.put(
            "INSERT INTO feedback (fingerprint, useful, at, why) VALUES (?, ?, ?, ?)",
            params![feedback.finding.0, feedback.useful, feedback.at.0, feedback.why],
        )
    }

    pub(crate) fn findings(&mut self, run: RunId, findings: &[Finding]) -> Result<()> {
        for finding in findings {
            let test = self.test(&finding.test)?;
            self.database.put(
                "INSERT INTO finding (run, test, fingerprint, body) VALUES (?, ?, ?, ?)",
                params![run.0, test, finding.id().0, Json(finding)],
            )?;
        }
        Ok(())
    }
}

const LATEST_FINDINGS: &str = "
    SELECT finding.run, run.started, run.commit_hash, finding.body
    FROM finding JOIN run ON run.id = finding.run JOIN test ON test.id = finding.test
    WHERE finding.id IN (SELECT max(id) FROM finding GROUP BY fingerprint)";

fn stored_finding(row: &Row) -> Result<Option<StoredFinding>> {
    let (run, started, commit) = (RunId(row.get(0)?), Timestamp(row.get(1)?), row.get(2)?);
    Ok(row.get::<Json<_>>(3).ok().map(|finding| StoredFinding { run, started, commit, finding: finding.0 }))
}

fn stored_report(row: &Row) -> Result<Option<ReadyReport>> {
    let Ok(Json(report)) = row.get::<Json<_>>(7) else { return Ok(None) };
    Ok(Some(ReadyReport {
        test: TestId::new(row.get::<String>(0)?),
        tree: row.get(1)?,
        run: RunId(row.get(2)?),
        started: Timestamp(row.get(3)?),
        commit: row.get(4)?,
        command: row.get::<Json<_>>(5)?.0,
        host: row.get(6)?,
        report,
    }))
}
