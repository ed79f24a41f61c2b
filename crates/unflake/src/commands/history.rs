//! `unflake history`: what is known of a test, or of the latest runs.

use std::io::{self, Write};
use std::path::Path;

use unflake_model::{Isolation, Outcome, Purpose, Timestamp};
use unflake_report::{HistoryRow, TerminalStyle, TimeZone, attempts_table, one_line};
use unflake_store::{PastExecution, Store, StoreLocation, StoredAttempt};

use crate::args::HistoryArgs;
use crate::error::Trouble;
use crate::test_knowledge::Book;
use crate::test_scores;

/// More tests than this that match a name are listed, not shown.
const SHOWN: usize = 5;

pub(crate) fn show(
    args: &HistoryArgs,
    place: &StoreLocation,
    here: &Path,
    look: &TerminalStyle,
) -> Result<(), Trouble> {
    let mut out = io::stdout().lock();
    let store = test_scores::open(place)?;
    let written = match &args.test {
        Some(test) => show_test(&store, test, args.limit, (&place.dir, here), look, &mut out)?,
        None => show_runs(&store, args.limit, &mut out)?,
    };
    written
        .or_else(|error| if error.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(error) })
        .map_err(Trouble::internal("print the history"))
}

fn show_test(
    store: &Store,
    name: &str,
    limit: usize,
    (place, here): (&Path, &Path),
    look: &TerminalStyle,
    out: &mut dyn Write,
) -> Result<io::Result<()>, Trouble> {
    let tests = store.find_tests(name)?;
    if tests.is_empty() {
        return Err(Trouble::usage(format!("no test in the history has `{name}` in its name"))
            .hint("`unflake history` lists the runs that are known"));
    }
    if tests.len() > SHOWN {
        let list = |out: &mut dyn Write| -> io::Result<()> {
            writeln!(out, "  {} tests have `{}` in their names; name one:", tests.len(), one_line(name))?;
            tests.iter().take(limit).try_for_each(|test| writeln!(out, "    {}", one_line(test.as_str())))?;
            match tests.len().saturating_sub(limit) {
                0 => Ok(()),
                more => writeln!(out, "    … and {more} more (--limit)"),
            }
        };
        return Ok(list(out));
    }
    let book = Book::open(store, place, here, None)?;
    for (at, test) in tests.iter().enumerate() {
        let (key, known) = (book.key(test), book.of(test)?);
        let mut lines = Vec::new();
        for (key, test) in [(key, test.clone())].into_iter().chain(book.formerly(test)) {
            lines.extend(store.attempts_of(&test, limit)?.into_iter().map(Line::of_ours));
            lines.extend(key.map(|key| store.reported_of(key)).transpose()?.into_iter().flatten().map(Line::of_report));
        }
        lines.sort_by_key(|line| std::cmp::Reverse(line.when));
        lines.truncate(limit);
        let rows: Vec<HistoryRow<'_>> = lines.iter().map(Line::row).collect();
        let written = if at > 0 { writeln!(out) } else { Ok(()) };
        let written =
            written.and_then(|()| attempts_table(test, known.row.as_ref(), &rows, &TimeZone::system(), look, out));
        let written = written.and_then(|()| unflake_report::known(&known, look, out));
        let written = written.and_then(|()| match book.name_today(test) {
            Some(today) => writeln!(out, "  it was gone when {} came with the same code", one_line(&today)),
            None => Ok(()),
        });
        if written.is_err() {
            return Ok(written);
        }
    }
    Ok(Ok(()))
}

/// One attempt, whoever made it.
pub(crate) struct Line {
    when: Timestamp,
    revision: Option<String>,
    told_by: Option<String>,
    message: String,
    outcome: Outcome,
    seconds: f64,
    purpose: Purpose,
    origin: Isolation,
    position: u32,
    run: u32,
}

impl Line {
    pub(crate) fn of_ours(kept: StoredAttempt) -> Self {
        let StoredAttempt { revision, attempt, .. } = kept;
        Self {
            when: attempt.started,
            revision: short(revision.commit.as_deref(), revision.dirty == Some(true)),
            told_by: None,
            message: attempt.failure.map(|failure| failure.message).unwrap_or_default(),
            outcome: attempt.outcome,
            seconds: attempt.seconds,
            purpose: attempt.purpose,
            origin: attempt.origin,
            position: attempt.position,
            run: attempt.run,
        }
    }

    pub(crate) fn of_report(past: PastExecution) -> Self {
        let PastExecution { source, execution, message } = past;
        let run = source.ci_run.map(|run| format!("CI {run}"));
        let parts = [run, source.job, source.branch].into_iter().flatten().collect::<Vec<_>>();
        Self {
            when: source.started,
            revision: short(source.commit.as_deref(), false),
            told_by: Some(if parts.is_empty() { "report".to_owned() } else { parts.join(", ") }),
            message,
            outcome: execution.outcome,
            seconds: f64::from(execution.seconds),
            purpose: Purpose::Suite,
            origin: Isolation::Process,
            position: 0,
            run: u32::from(execution.again),
        }
    }

    pub(crate) fn row(&self) -> HistoryRow<'_> {
        HistoryRow {
            when: self.when,
            outcome: self.outcome,
            seconds: self.seconds,
            revision: self.revision.as_deref(),
            purpose: self.purpose,
            origin: self.origin,
            position: self.position,
            run: self.run,
            told_by: self.told_by.as_deref(),
            message: &self.message,
        }
    }
}

/// The commit in short, marked where there were changes that no commit has.
fn short(commit: Option<&str>, dirty: bool) -> Option<String> {
    let commit = commit?;
    let mark = if dirty { "+" } else { "" };
    Some(format!("{}{mark}", commit.get(..8).unwrap_or(commit)))
}

fn show_runs(store: &Store, limit: usize, out: &mut dyn Write) -> Result<io::Result<()>, Trouble> {
    let zone = TimeZone::system();
    let runs = store.runs(limit)?;
    let list = |out: &mut dyn Write| -> io::Result<()> {
        if runs.is_empty() {
            writeln!(out, "  no run is known yet")?;
        }
        for run in &runs {
            let when = jiff::Timestamp::from_microsecond(run.facts.started.0)
                .map(|stamp| stamp.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M:%S").to_string())
                .unwrap_or_default();
            let end = run.ended.map_or("did not end".to_owned(), |(_, code)| format!("exit {code}"));
            let command = one_line(&run.facts.command.join(" ")).into_owned();
            writeln!(out, "  {when}  {:>7} attempts  {end:<11}  {command}", run.attempts)?;
        }
        Ok(())
    };
    Ok(list(out))
}
