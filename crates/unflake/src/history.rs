//! `unflake history`: what is known of a test, or of the latest runs.

use std::io::{self, Write};
use std::path::Path;

use unflake_report::{HistoryRow, Look, TimeZone, attempts_table, one_line};
use unflake_store::{FILE, Revision, Store};

use crate::args::HistoryArgs;
use crate::memory::elsewhere;
use crate::trouble::Trouble;

/// More tests than this that match a name are listed, not shown.
const SHOWN: usize = 5;

pub(crate) fn show(args: &HistoryArgs, place: &Path, look: &Look) -> Result<(), Trouble> {
    let mut out = io::stdout().lock();
    let directory = [Some(place.to_owned()), elsewhere(place)]
        .into_iter()
        .flatten()
        .find(|directory| directory.join(FILE).is_file());
    let Some(directory) = directory else {
        return Err(Trouble::usage(format!("there is no history in {}", place.display()))
            .hint("`unflake run -- pytest` begins one"));
    };
    let store = Store::open(&directory)?;
    let written = match &args.test {
        Some(test) => show_test(&store, test, args.limit, look, &mut out)?,
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
    look: &Look,
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
    for (at, test) in tests.iter().enumerate() {
        let kept = store.attempts_of(test, limit)?;
        let revisions: Vec<Option<String>> = kept.iter().map(|kept| short(&kept.revision)).collect();
        let rows: Vec<HistoryRow<'_>> = kept
            .iter()
            .zip(&revisions)
            .map(|(kept, revision)| HistoryRow {
                when: kept.attempt.started,
                outcome: kept.attempt.outcome,
                seconds: kept.attempt.seconds,
                revision: revision.as_deref(),
                purpose: kept.attempt.purpose,
                origin: kept.attempt.origin,
                position: kept.attempt.position,
                run: kept.attempt.run,
                message: kept.attempt.failure.as_ref().map_or("", |failure| &failure.message),
            })
            .collect();
        let written = if at > 0 { writeln!(out) } else { Ok(()) };
        let written = written.and_then(|()| attempts_table(test, &rows, &TimeZone::system(), look, out));
        if written.is_err() {
            return Ok(written);
        }
    }
    Ok(Ok(()))
}

/// The commit in short, marked where there were changes that no commit has.
fn short(revision: &Revision) -> Option<String> {
    let commit = revision.commit.as_ref()?;
    let mark = if revision.dirty == Some(true) { "+" } else { "" };
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
