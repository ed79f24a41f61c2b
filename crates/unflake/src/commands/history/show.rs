//! `unflake history show`: what is known of a test, or the latest runs.

use std::io;

use unflake_model::{Isolation, Outcome, Purpose, TestId, Timestamp};
use unflake_report::{HistoryRow, TimeZone, attempts_table, one_line};
use unflake_store::{PastExecution, Store, StoreLocation, StoredAttempt};

use crate::args::history::HistoryShowArgs;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::history::scores;
use crate::history::test_knowledge::KnowledgeBase;
use crate::output::console::print;

/// More tests than this that match a name are listed, not shown.
const SHOWN: usize = 5;

pub(crate) fn run(args: HistoryShowArgs, context: &Context) -> Result<Exit, CommandError> {
    let location = context.store(args.store)?;
    let store = scores::open(&location)?;
    match &args.test {
        Some(test) => show_test(&store, test, args.limit, &location, context)?,
        None => show_runs(&store, args.limit)?,
    }
    Ok(Exit::Success)
}

fn show_test(
    store: &Store,
    name: &str,
    limit: usize,
    location: &StoreLocation,
    context: &Context,
) -> Result<(), CommandError> {
    let tests = store.find_tests(name)?;
    if tests.is_empty() {
        let known = store.find_tests("")?;
        return Err(CommandError::unknown_test(name, known.iter().map(TestId::as_str)));
    }
    if tests.len() > SHOWN {
        return print("print the history", |out| {
            writeln!(out, "  {} tests have `{}` in their names; name one:", tests.len(), one_line(name))?;
            tests.iter().take(limit).try_for_each(|test| writeln!(out, "    {}", one_line(test.as_str())))?;
            match tests.len().saturating_sub(limit) {
                0 => Ok(()),
                more => writeln!(out, "    … and {more} more (--limit)"),
            }
        });
    }
    let style = context.style();
    let knowledge = KnowledgeBase::open(store, &location.dir, &context.here, None)?;
    for (at, test) in tests.iter().enumerate() {
        let known = knowledge.of(test)?;
        let mut attempts = Vec::new();
        for (key, test) in [(knowledge.key(test), test.clone())].into_iter().chain(knowledge.formerly(test)) {
            attempts.extend(store.attempts_of(&test, limit)?.into_iter().map(HistoryAttempt::of_ours));
            let reported = key.map(|key| store.reported_of(key)).transpose()?;
            attempts.extend(reported.into_iter().flatten().map(HistoryAttempt::of_report));
        }
        attempts.sort_by_key(|attempt| std::cmp::Reverse(attempt.when));
        attempts.truncate(limit);
        let rows: Vec<HistoryRow<'_>> = attempts.iter().map(HistoryAttempt::row).collect();
        print("print the history", |out| {
            if at > 0 {
                writeln!(out)?;
            }
            attempts_table(test, known.row.as_ref(), &rows, &TimeZone::system(), &style, out)?;
            unflake_report::known_findings(&known, &style, out)?;
            match knowledge.name_today(test) {
                Some(today) => writeln!(out, "  it was gone when {} came with the same code", one_line(&today)),
                None => Ok(()),
            }
        })?;
    }
    Ok(())
}

/// An attempt of a run of unflake, or an execution that an imported report contains.
pub(crate) struct HistoryAttempt {
    when: Timestamp,
    revision: Option<String>,
    /// The CI run and job of an imported report.
    reported_by: Option<String>,
    message: String,
    outcome: Outcome,
    seconds: f64,
    purpose: Purpose,
    origin: Isolation,
    position: u32,
    run: u32,
}

impl HistoryAttempt {
    pub(crate) fn of_ours(kept: StoredAttempt) -> Self {
        let StoredAttempt { revision, attempt, .. } = kept;
        Self {
            when: attempt.started,
            revision: short(revision.commit.as_deref(), revision.dirty == Some(true)),
            reported_by: None,
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
            reported_by: Some(if parts.is_empty() { "report".to_owned() } else { parts.join(", ") }),
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
            imported_from: self.reported_by.as_deref(),
            message: &self.message,
        }
    }
}

/// The abbreviated commit, with a `+` where the working tree had uncommitted changes.
fn short(commit: Option<&str>, dirty: bool) -> Option<String> {
    let commit = commit?;
    let mark = if dirty { "+" } else { "" };
    Some(format!("{}{mark}", commit.get(..8).unwrap_or(commit)))
}

fn show_runs(store: &Store, limit: usize) -> Result<(), CommandError> {
    let zone = TimeZone::system();
    let runs = store.runs(limit)?;
    print("print the history", |out| -> io::Result<()> {
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
    })
}
