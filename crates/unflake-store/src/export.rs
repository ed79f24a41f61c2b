//! Reads every execution with what is known about it, one row each, for other programs.

use rusqlite::params;
use unflake_model::{Outcome, Timestamp};

use crate::database::Result;
use crate::enum_columns::EnumName;
use crate::executions::SourceId;
use crate::{Source, Store, StoreError, TestKey};

/// One execution of a test, in one of our own runs or in an imported report.
#[derive(Clone, Debug, PartialEq)]
pub struct ExportedExecution {
    pub test: TestKey,
    /// When it started; of an imported report when that started.
    pub started: Timestamp,
    /// Why it ran, such as `suite` or `fresh`; empty in reports.
    pub purpose: String,
    /// What its process was, such as `fork`; empty in reports.
    pub environment: String,
    /// 0 for the first execution in its session or report.
    pub again: u32,
    pub outcome: Outcome,
    pub seconds: Option<f64>,
    /// Load average per core.
    pub load: Option<f64>,
    /// The kind and the message of its failure; empty where it did not fail.
    pub kind: String,
    pub message: String,
}

impl Store {
    /// Calls `each` for every execution of a source, in its order. In contrast to
    /// [`Store::executions_in`], those of searches and experiments too.
    pub fn export_of(
        &self,
        source: &Source,
        each: &mut dyn FnMut(&ExportedExecution) -> std::io::Result<()>,
    ) -> Result<std::io::Result<()>, StoreError> {
        let mut written = Ok(());
        let mut once = |execution: &ExportedExecution| {
            if written.is_ok() {
                written = each(execution);
            }
        };
        match source.id {
            SourceId::Run(run) => self.each(
                "SELECT attempt.test, attempt.started, circumstance.purpose, circumstance.origin, attempt.again,
                        attempt.outcome, attempt.seconds, attempt.load, coalesce(kind.body, ''),
                        coalesce(message.body, '')
                 FROM circumstance JOIN attempt ON attempt.circumstance = circumstance.id
                 LEFT JOIN failure ON failure.attempt = attempt.id
                 LEFT JOIN text AS kind ON kind.id = failure.kind
                 LEFT JOIN text AS message ON message.id = failure.message
                 WHERE circumstance.run = ? ORDER BY attempt.id",
                params![run.0],
                &mut |row| {
                    once(&ExportedExecution {
                        test: TestKey(row.get(0)?),
                        started: Timestamp(row.get(1)?),
                        purpose: row.get(2)?,
                        environment: row.get(3)?,
                        again: row.get(4)?,
                        outcome: row.get::<EnumName<Outcome>>(5)?.0,
                        seconds: row.get(6)?,
                        load: row.get(7)?,
                        kind: row.get(8)?,
                        message: row.get(9)?,
                    });
                    Ok(())
                },
            )?,
            SourceId::Report(report) => {
                let mut failures = self
                    .list(
                        "SELECT number, kind.body, message.body FROM reported_failure
                         JOIN text AS kind ON kind.id = reported_failure.kind
                         JOIN text AS message ON message.id = reported_failure.message
                         WHERE report = ? ORDER BY number",
                        params![report.0],
                        |row| Ok((row.get::<i64>(0)?, row.get::<String>(1)?, row.get::<String>(2)?)),
                    )?
                    .into_iter()
                    .peekable();
                self.each_packed(report, &mut |number, execution| {
                    let failure = failures.next_if(|(failed, _, _)| failed.cast_unsigned() == number);
                    let (kind, message) = failure.map(|(_, kind, message)| (kind, message)).unwrap_or_default();
                    once(&ExportedExecution {
                        test: execution.test,
                        started: source.started,
                        purpose: String::new(),
                        environment: String::new(),
                        again: execution.again.into(),
                        outcome: execution.outcome,
                        seconds: Some(execution.seconds.into()),
                        load: None,
                        kind,
                        message,
                    });
                })?;
            }
        }
        Ok(written)
    }
}
