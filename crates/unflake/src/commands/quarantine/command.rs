//! `unflake quarantine`: failures that are set apart for a while; and what of them holds in a run.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;

use unflake_model::{
    Attempt, Day, Finding, Fingerprint, QuarantineMode, QuarantineResult, QuarantineStanding, Quarantined, TestId,
};
use unflake_report::{self as report, TerminalStyle};
use unflake_store::{Store, StoreLocation, StoredAttempt, unhide_quarantine};
use unflake_techniques::standing;

use crate::args::{QuarantineAdd, QuarantineArgs, QuarantineCommand};
use crate::commands::quarantine::file::{LONGEST_DAYS, QuarantineFile};
use crate::config::project;
use crate::error::Trouble;
use crate::history_recorder;
use crate::run_loop::Gathered;

/// Of how many attempts the failures are looked for.
const LOOKED_AT: usize = 200;

/// What is in quarantine on the day of a run.
pub(crate) struct Quarantine {
    entries: Vec<Quarantined>,
    today: Day,
}

impl Quarantine {
    pub(crate) fn of(here: &Path) -> Result<Self, Trouble> {
        let file = QuarantineFile::read(&project::find(here).join(".unflake"))?;
        Ok(Self { entries: file.entries, today: Day::of(history_recorder::now()) })
    }

    /// The tests that are not to run.
    pub(crate) fn left_out(&self) -> BTreeSet<TestId> {
        let holds = |entry: &&Quarantined| entry.mode == QuarantineMode::Skip && entry.expires >= self.today;
        self.entries.iter().filter(holds).map(|entry| entry.test.clone()).collect()
    }

    pub(crate) fn excuses(&self, gathered: &Gathered, finding: &Finding) -> bool {
        let entry = self.entries.iter().find(|entry| entry.test == finding.test);
        entry.is_some_and(|entry| self.standing(entry, gathered) == QuarantineStanding::Excused)
    }

    /// What each entry came to.
    pub(crate) fn set_apart(&self, gathered: &Gathered) -> Vec<QuarantineResult> {
        let of =
            |entry: &Quarantined| QuarantineResult { entry: entry.clone(), standing: self.standing(entry, gathered) };
        self.entries.iter().map(of).collect()
    }

    fn standing(&self, entry: &Quarantined, gathered: &Gathered) -> QuarantineStanding {
        let listed = gathered.tests.iter().map(|test| &test.id).filter(|test| **test == entry.test).collect();
        standing(entry, self.today, &listed, &gathered.attempts)
    }
}

pub(crate) fn obey(
    args: &QuarantineArgs,
    store: &StoreLocation,
    here: &Path,
    look: &TerminalStyle,
) -> Result<(), Trouble> {
    let directory = project::find(here).join(".unflake");
    let file = QuarantineFile::read(&directory)?;
    match &args.command {
        None | Some(QuarantineCommand::List) => return list(&file, store, look),
        Some(QuarantineCommand::Add(wanted)) => {
            let history = history(store)?;
            let entry = add(wanted, history.as_ref(), here)?;
            let said = format!("{} is in quarantine until {}", entry.test, entry.expires);
            println!(
                "{}\n  → commit {}, so that it holds for everybody",
                report::one_line(&said),
                file.path().display()
            );
        }
        Some(QuarantineCommand::Remove { test }) => {
            remove(test, here)?;
            println!("{} counts again", report::one_line(test));
        }
    }
    Ok(())
}

/// Sets apart what a person asked for, by the failures that the history has of the test.
pub(crate) fn add(add: &QuarantineAdd, history: Option<&Store>, here: &Path) -> Result<Quarantined, Trouble> {
    let directory = project::find(here).join(".unflake");
    let mut file = QuarantineFile::read(&directory)?;
    let entry = entry(add, history)?;
    file.entries.retain(|other| other.test != entry.test);
    file.entries.push(entry.clone());
    file.entries.sort_by(|one, other| one.test.cmp(&other.test));
    save(&file, &directory)?;
    Ok(entry)
}

/// Lets a test count again.
pub(crate) fn remove(test: &str, here: &Path) -> Result<(), Trouble> {
    let directory = project::find(here).join(".unflake");
    let mut file = QuarantineFile::read(&directory)?;
    let before = file.entries.len();
    file.entries.retain(|entry| entry.test.as_str() != test);
    if file.entries.len() == before {
        return Err(Trouble::usage(format!("{test} is not in quarantine")).hint("`unflake quarantine` lists what is"));
    }
    save(&file, &directory)
}

fn list(file: &QuarantineFile, place: &StoreLocation, look: &TerminalStyle) -> Result<(), Trouble> {
    let today = Day::of(history_recorder::now());
    let history = history(place)?;
    let mut rows = Vec::new();
    for entry in &file.entries {
        let attempts: Vec<Attempt> =
            kept(history.as_ref(), &entry.test)?.into_iter().map(|kept| kept.attempt).collect();
        rows.push((entry.clone(), attempts));
    }
    let mut out = io::stdout().lock();
    let written = report::quarantine(&rows, today, look, &mut out).and_then(|()| out.flush());
    written
        .or_else(|error| if error.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(error) })
        .map_err(Trouble::internal("print the quarantine"))
}

/// What a person asked for, with the failures that the history has of the test.
fn entry(add: &QuarantineAdd, history: Option<&Store>) -> Result<Quarantined, Trouble> {
    if !(1..=LONGEST_DAYS).contains(&add.days) {
        return Err(Trouble::usage(format!("a quarantine lasts 1 to {LONGEST_DAYS} days, not {}", add.days)));
    }
    if let Some((what, _)) =
        [("reason", &add.reason), ("owner", &add.owner)].iter().find(|(_, text)| text.trim().is_empty())
    {
        return Err(Trouble::usage(format!("a quarantine needs its {what}")));
    }
    let today = Day::of(history_recorder::now());
    let test = TestId::new(&add.test);
    let failures = failures(&kept(history, &test)?);
    if failures.is_empty() && !add.skip {
        return Err(Trouble::usage(format!(
            "the history knows no failure of {}, so there is nothing to excuse",
            add.test
        ))
        .hint("name the test as `unflake run` does, after a run in which it failed"));
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

/// The failures of the last run in which it failed: older ones may long be mended.
fn failures(kept: &[StoredAttempt]) -> Vec<Fingerprint> {
    let last = kept.iter().find(|kept| kept.attempt.outcome.is_failure()).map(|kept| kept.run);
    let of_last = kept.iter().filter(|kept| Some(kept.run) == last && kept.attempt.outcome.is_failure());
    let failures: BTreeSet<Fingerprint> =
        of_last.filter_map(|kept| kept.attempt.failure.as_ref()).map(|failure| failure.fingerprint()).collect();
    failures.into_iter().collect()
}

/// The last attempts at a test, the newest first.
fn kept(history: Option<&Store>, test: &TestId) -> Result<Vec<StoredAttempt>, Trouble> {
    Ok(history.map(|store| store.attempts_of(test, LOOKED_AT)).transpose()?.unwrap_or_default())
}

/// The history, where there is one.
fn history(place: &StoreLocation) -> Result<Option<Store>, Trouble> {
    Ok(Store::find(place)?)
}

fn save(file: &QuarantineFile, directory: &Path) -> Result<(), Trouble> {
    let written = file.write().and_then(|()| unhide_quarantine(directory));
    written.map_err(Trouble::internal("write the file of what is in quarantine"))
}
