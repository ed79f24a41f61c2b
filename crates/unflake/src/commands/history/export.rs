//! `unflake history export`: writes every execution as a row of CSV.

use std::collections::HashMap;
use std::io::{self, Write};

use unflake_model::{Outcome, Timestamp};
use unflake_store::{ExportedExecution, Source, SourceId, Store, StoredTest, TestKey};

use super::age::ago;
use crate::args::history::HistoryExportArgs;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::history::scores;
use crate::output::write_to;

const COLUMNS: [&str; 21] = [
    "source",
    "source_id",
    "source_started",
    "commit",
    "dirty",
    "branch",
    "ci_run",
    "ci_attempt",
    "job",
    "test",
    "file",
    "line",
    "started",
    "purpose",
    "environment",
    "again",
    "outcome",
    "seconds",
    "load",
    "failure_kind",
    "failure_message",
];

pub(crate) fn run(args: HistoryExportArgs, context: &Context) -> Result<Exit, CommandError> {
    let since = args.newer_than.as_deref().map(|text| ago("--newer-than", text)).transpose()?;
    let store = scores::open(&context.store(args.store)?)?;
    let tests: HashMap<TestKey, StoredTest> = store.tests()?.into_iter().map(|test| (test.key, test)).collect();
    let sources: Vec<Source> =
        store.sources()?.into_iter().filter(|source| since.is_none_or(|since| source.started >= since)).collect();
    let mut unread = None;
    let written = write_to(&args.file, |out| write(&store, &sources, &tests, &mut unread, out));
    if let Some(error) = unread {
        return Err(error);
    }
    written.map_err(CommandError::internal("write the executions"))?;
    Ok(Exit::Success)
}

/// What cannot be read ends the writing, and is in `unread`.
fn write(
    store: &Store,
    sources: &[Source],
    tests: &HashMap<TestKey, StoredTest>,
    unread: &mut Option<CommandError>,
    out: &mut dyn Write,
) -> io::Result<()> {
    row(&COLUMNS.map(str::to_owned), out)?;
    for source in sources {
        let mut each = |execution: &ExportedExecution| {
            let test = tests.get(&execution.test);
            row(&cells(source, execution, test), out)
        };
        match store.export_of(source, &mut each) {
            Ok(written) => written?,
            Err(error) => {
                *unread = Some(error.into());
                return Ok(());
            }
        }
    }
    Ok(())
}

fn cells(source: &Source, execution: &ExportedExecution, test: Option<&StoredTest>) -> [String; COLUMNS.len()] {
    let (kind, id) = match source.id {
        SourceId::Run(run) => ("run", run.to_string()),
        SourceId::Report(report) => ("report", report.to_string()),
    };
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let number = |number: Option<f64>| number.map_or(String::new(), |number| number.to_string());
    let count = |count: Option<u32>| count.map_or(String::new(), |count| count.to_string());
    [
        kind.to_owned(),
        id,
        time(source.started),
        text(&source.commit),
        source.dirty.to_string(),
        text(&source.branch),
        text(&source.ci_run),
        count(source.ci_attempt),
        text(&source.job),
        test.map_or(String::new(), |test| test.test.as_str().to_owned()),
        test.and_then(|test| test.file.clone()).unwrap_or_default(),
        count(test.and_then(|test| test.line)),
        time(execution.started),
        execution.purpose.clone(),
        execution.environment.clone(),
        execution.again.to_string(),
        outcome(execution.outcome).to_owned(),
        number(execution.seconds),
        number(execution.load),
        execution.kind.clone(),
        execution.message.clone(),
    ]
}

fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Passed => "passed",
        Outcome::Failed => "failed",
        Outcome::Error => "error",
        Outcome::Skipped => "skipped",
        Outcome::ExpectedFailure => "expected-failure",
        Outcome::UnexpectedPass => "unexpected-pass",
        Outcome::TimedOut => "timed-out",
        Outcome::Crashed(_) => "crashed",
    }
}

/// As in RFC 3339, in UTC.
fn time(at: Timestamp) -> String {
    jiff::Timestamp::from_microsecond(at.0).map_or_else(|_| at.0.to_string(), |at| at.to_string())
}

/// One row as in RFC 4180, with the line ends of Unix.
fn row(cells: &[String], out: &mut dyn Write) -> io::Result<()> {
    for (number, cell) in cells.iter().enumerate() {
        if number > 0 {
            out.write_all(b",")?;
        }
        if cell.contains(['"', ',', '\n', '\r']) {
            write!(out, "\"{}\"", cell.replace('"', "\"\""))?;
        } else {
            out.write_all(cell.as_bytes())?;
        }
    }
    out.write_all(b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_with_separators_are_quoted() {
        let mut out = Vec::new();
        let cells = ["a", "b,c", "say \"x\"", "two\nlines", "", "é"].map(str::to_owned);
        row(&cells, &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "a,\"b,c\",\"say \"\"x\"\"\",\"two\nlines\",,é\n");
    }

    #[test]
    fn times_are_in_utc() {
        assert_eq!(time(Timestamp(1_700_000_000_000_000)), "2023-11-14T22:13:20Z");
    }
}
