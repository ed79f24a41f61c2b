//! `unflake quarantine`, and what the quarantine excuses in a run.

use std::collections::BTreeSet;
use std::path::Path;

use unflake_model::{
    Attempt, Day, Failure, Finding, Fingerprint, QuarantineMode, QuarantineResult, QuarantineStanding, Quarantined,
    TestId,
};
use unflake_report as report;
use unflake_store::{PastExecution, Store, StoreLocation, StoredAttempt, unhide_quarantine};
use unflake_techniques::quarantine_standing;

use crate::args::quarantine::{QuarantineAdd, QuarantineCommand};
use crate::commands::quarantine::file::{LONGEST_DAYS, QuarantineFile};
use crate::config::project;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::history::recorder;
use crate::output::console::print;
use crate::run_loop::Gathered;

/// The number of latest attempts in which failures are looked up.
const ATTEMPTS: usize = 200;

/// The quarantine on the day of a run.
pub(crate) struct Quarantine {
    entries: Vec<Quarantined>,
    today: Day,
}

impl Quarantine {
    pub(crate) fn of(here: &Path) -> Result<Self, CommandError> {
        let file = QuarantineFile::read(&project::find(here).join(".unflake"))?;
        Ok(Self { entries: file.entries, today: Day::of(recorder::now()) })
    }

    /// The tests that do not run.
    pub(crate) fn left_out(&self) -> BTreeSet<TestId> {
        let is_skipped = |entry: &&Quarantined| entry.mode == QuarantineMode::Skip && entry.expires >= self.today;
        self.entries.iter().filter(is_skipped).map(|entry| entry.test.clone()).collect()
    }

    pub(crate) fn excuses(&self, record: &Gathered, finding: &Finding) -> bool {
        let entry = self.entries.iter().find(|entry| entry.test == finding.test);
        entry.is_some_and(|entry| self.standing(entry, record) == QuarantineStanding::Excused)
    }

    /// The result of each entry.
    pub(crate) fn results(&self, record: &Gathered) -> Vec<QuarantineResult> {
        let of =
            |entry: &Quarantined| QuarantineResult { entry: entry.clone(), standing: self.standing(entry, record) };
        self.entries.iter().map(of).collect()
    }

    fn standing(&self, entry: &Quarantined, record: &Gathered) -> QuarantineStanding {
        let listed = record.tests.iter().map(|test| &test.id).filter(|test| **test == entry.test).collect();
        quarantine_standing(entry, self.today, &listed, &record.attempts)
    }
}

pub(crate) fn run(command: QuarantineCommand, context: &Context) -> Result<Exit, CommandError> {
    let here = &context.here;
    let file = QuarantineFile::read(&project::find(here).join(".unflake"))?;
    match command {
        QuarantineCommand::List { store } => list(&file, &context.store(store)?, context)?,
        QuarantineCommand::Add { entry, store } => {
            let entry = add(&entry, Store::find(context.store(store)?)?.as_ref(), here)?;
            let added = format!("{} is in quarantine until {}", entry.test, entry.expires);
            println!("{}\n  → commit {} to share it with your team", report::one_line(&added), file.path().display());
        }
        QuarantineCommand::Remove { test } => {
            remove(&test, here)?;
            println!("{} counts again", report::one_line(&test));
        }
    }
    Ok(Exit::Success)
}

/// Adds a test with the failures that the history has of it, or replaces its entry.
pub(crate) fn add(add: &QuarantineAdd, history: Option<&Store>, here: &Path) -> Result<Quarantined, CommandError> {
    let directory = project::find(here).join(".unflake");
    let mut file = QuarantineFile::read(&directory)?;
    let entry = entry(add, history)?;
    file.entries.retain(|other| other.test != entry.test);
    file.entries.push(entry.clone());
    file.entries.sort_by(|one, other| one.test.cmp(&other.test));
    save(&file, &directory)?;
    Ok(entry)
}

/// Removes a test from the quarantine.
pub(crate) fn remove(test: &str, here: &Path) -> Result<(), CommandError> {
    let directory = project::find(here).join(".unflake");
    let mut file = QuarantineFile::read(&directory)?;
    let before = file.entries.len();
    file.entries.retain(|entry| entry.test.as_str() != test);
    if file.entries.len() == before {
        return Err(CommandError::usage(format!("{test} is not in quarantine"))
            .hint("`unflake quarantine list` lists the quarantine"));
    }
    save(&file, &directory)
}

fn list(file: &QuarantineFile, location: &StoreLocation, context: &Context) -> Result<(), CommandError> {
    let today = Day::of(recorder::now());
    let history = Store::find(location)?;
    let mut rows = Vec::new();
    for entry in &file.entries {
        let attempts: Vec<Attempt> =
            kept(history.as_ref(), &entry.test)?.into_iter().map(|kept| kept.attempt).collect();
        rows.push((entry.clone(), attempts));
    }
    print("print the quarantine", |out| report::quarantine(&rows, today, &context.style(), out))
}

/// Checks what was typed, and adds the failures that the history has of the test.
fn entry(add: &QuarantineAdd, history: Option<&Store>) -> Result<Quarantined, CommandError> {
    if !(1..=LONGEST_DAYS).contains(&add.days) {
        return Err(CommandError::usage(format!("a quarantine lasts 1 to {LONGEST_DAYS} days, not {}", add.days))
            .hint("give --days"));
    }
    if let Some((what, _)) =
        [("reason", &add.reason), ("owner", &add.owner)].iter().find(|(_, text)| text.trim().is_empty())
    {
        return Err(CommandError::usage(format!("a quarantine needs its {what}")).hint(format!("give --{what}")));
    }
    let today = Day::of(recorder::now());
    let test = TestId::new(&add.test);
    let failures = failures(history, &test)?;
    if failures.is_empty() && !add.skip {
        return Err(CommandError::usage(format!(
            "the history has no failure of {} with a message, so there is nothing to excuse",
            add.test
        ))
        .hint("give the full name of a test that failed in `unflake run` or in an imported report"));
    }
    Ok(Quarantined {
        test,
        reason: add.reason.clone(),
        owner: add.owner.clone(),
        issue: add.issue.clone(),
        added: today,
        expires: today.plus(add.days),
        mode: if add.skip { QuarantineMode::Skip } else { QuarantineMode::Run },
        failures,
    })
}

/// The failures of the last run or imported report in which the test failed: older ones may be fixed.
fn failures(history: Option<&Store>, test: &TestId) -> Result<Vec<Fingerprint>, CommandError> {
    let (ours, reported) = (kept(history, test)?, reported(history, test)?);
    let ours = || ours.iter().filter(|kept| kept.attempt.outcome.is_failure());
    let last_report = reported.iter().map(|past| past.source.started).max();
    let failures: BTreeSet<Fingerprint> = match ours().next() {
        Some(last) if last_report.is_none_or(|report| report <= last.attempt.started) => {
            let of_last = ours().filter(|kept| kept.run == last.run).filter_map(|kept| kept.attempt.failure.as_ref());
            of_last.map(Failure::fingerprint).collect()
        }
        _ => {
            let of_last = reported.iter().filter(|past| Some(past.source.started) == last_report);
            of_last.map(|past| Fingerprint::of_message(&past.message)).collect()
        }
    };
    Ok(failures.into_iter().collect())
}

/// The failures of a test in imported reports that have a message.
fn reported(history: Option<&Store>, test: &TestId) -> Result<Vec<PastExecution>, CommandError> {
    let Some(store) = history else { return Ok(Vec::new()) };
    let Some(key) = store.key_of(test)? else { return Ok(Vec::new()) };
    let mut reported = store.reported_of(key)?;
    reported.retain(|past| past.execution.outcome.is_failure() && !past.message.trim().is_empty());
    Ok(reported)
}

/// The latest attempts of a test, the newest first.
fn kept(history: Option<&Store>, test: &TestId) -> Result<Vec<StoredAttempt>, CommandError> {
    Ok(history.map(|store| store.attempts_of(test, ATTEMPTS)).transpose()?.unwrap_or_default())
}

fn save(file: &QuarantineFile, directory: &Path) -> Result<(), CommandError> {
    let written = file.write().and_then(|()| unhide_quarantine(directory));
    written.map_err(CommandError::internal("write the quarantine file"))
}
