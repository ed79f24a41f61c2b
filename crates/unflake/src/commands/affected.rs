//! `unflake affected`: which tests a change can affect, from what is known of what they depend on.

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::Path;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use unflake_engine::Engine;
use unflake_git::Repository;
use unflake_model::{Base, BaseChoice, ChangeKind, Changes, FileChange, Granularity, Observation, Session, TestId};
use unflake_report as report;
use unflake_store::{LearnedDependencies, Revision};
use unflake_techniques::{DependencyLearning, Technique, can_affect};

use crate::args::{AffectedArgs, When};
use crate::commands::run::change_set::Compare;
use crate::commands::run::command::{launch, stop_on_signals};
use crate::config::settings::Settings;
use crate::console;
use crate::error::Trouble;
use crate::exit::Exit;
use crate::history_recorder::Memory;
use crate::repro_command;
use crate::run_loop::{Campaign, Gathered};

pub(crate) fn show(args: &AffectedArgs, settings: &Settings, here: &Path, colour: When) -> Result<Exit, Trouble> {
    let granularity = settings.granularity.value.unwrap_or_default();
    let (repository, changes) = Compare::changes(settings, here)?;

    let mut memory = Memory::begin(&settings.store, &settings.command.value, here)?;
    let gathered = list(args.learn.then_some(granularity), settings, here, colour, &mut memory)?;
    memory.finish(0);
    if gathered.totals.interrupted {
        return Ok(Exit::Interrupted);
    }
    if let Some(problem) = gathered.problems.first() {
        return Err(Trouble::runner(report::plain(&problem.text)));
    }
    let known: HashMap<TestId, LearnedDependencies> =
        memory.dependencies()?.into_iter().map(|one| (one.test.clone(), one)).collect();
    let mut since = Since { repository: &repository, changes: &changes, at: HashMap::new() };
    let mut affected: Vec<(&TestId, String)> = Vec::new();
    for test in &gathered.tests {
        let why = match known.get(&test.id) {
            None => Some("nothing is known of what it depends on".to_owned()),
            Some(learned) => since.why(learned, granularity),
        };
        affected.extend(why.map(|why| (&test.id, why)));
    }
    let mut out = io::stdout().lock();
    // A reader that has gone away (`| head`) is no trouble.
    let _ = affected.iter().try_for_each(|(test, why)| {
        let id = repro_command::seen_from(test.as_str(), gathered.root.as_deref(), here);
        if args.why { writeln!(out, "{id}\t{}", report::one_line(why)) } else { writeln!(out, "{id}") }
    });
    let listed: Vec<&TestId> = gathered.tests.iter().map(|test| &test.id).collect();
    let _ = tell(&changes, &affected, &listed, &known);
    Ok(Exit::Success)
}

/// The tests there are, which are run where it is to be learned what they depend on.
fn list(
    learn: Option<Granularity>,
    settings: &Settings,
    here: &Path,
    colour: When,
    memory: &mut Memory,
) -> Result<Gathered, Trouble> {
    let exec = Engine::new(unflake_engine::Launch { depends: learn, ..launch(settings) })?;
    stop_on_signals(&exec)?;
    let mut learning = learn.map(DependencyLearning::new);
    let mut nothing = Nothing;
    let campaign = Campaign {
        inquiry: match &mut learning {
            Some(learn) => learn,
            None => &mut nothing,
        },
        memory,
        progress: console::progress(colour, learn.is_none()),
        here,
        compare: None,
        base: None,
        take: Box::new(|_| {}),
        began: Instant::now(),
        gathered: Gathered::default(),
    };
    Ok(campaign.run(exec, &settings.command.value, |_, _| false))
}

/// An inquiry with nothing to ask: tests are listed, and that is all.
struct Nothing;

impl Technique for Nothing {
    fn hear(&mut self, _: &Observation) {}

    fn ask(&mut self) -> Vec<Session> {
        Vec::new()
    }

    fn findings(&self) -> Vec<unflake_model::Finding> {
        Vec::new()
    }
}

/// What changed since something was learned, by the revision at which it was.
struct Since<'a> {
    repository: &'a Repository,
    /// What the user calls the change.
    changes: &'a Changes,
    at: HashMap<(Option<String>, Vec<String>), Result<Changes, String>>,
}

impl Since<'_> {
    /// Why a test is affected by the change, or by what has changed since it was looked at.
    fn why(&mut self, learned: &LearnedDependencies, granularity: Granularity) -> Option<String> {
        if let Some(why) = can_affect(self.changes, &learned.on, granularity) {
            return Some(why);
        }
        let Revision { commit, changed, .. } = &learned.revision;
        let key = (commit.clone(), changed.clone());
        let repository = self.repository;
        let since = self.at.entry(key).or_insert_with(|| changes_since(repository, &learned.revision));
        match since {
            Ok(since) => can_affect(since, &learned.on, granularity),
            Err(why) => Some(format!("what changed since it was last looked at is unknown: {why}")),
        }
    }
}

fn changes_since(repository: &Repository, revision: &Revision) -> Result<Changes, String> {
    let commit = revision.commit.clone().ok_or("it was not in a commit")?;
    if revision.dirty.is_none() {
        return Err("nobody knows which files were changed then".to_owned());
    }
    let base = Base { revision: commit.clone(), chosen: BaseChoice::Asked(commit) };
    let mut changes = repository.changes(&base).map_err(|error| error.to_string())?;
    // What was changed then and in no commit may be anything now.
    for entry in &revision.changed {
        let (how, path) = entry.split_at_checked(3).unwrap_or(("", entry));
        let kind = match how.trim() {
            "M" | "MM" => ChangeKind::Modified,
            _ => ChangeKind::TypeChanged,
        };
        changes.files.push(FileChange { path: path.trim_end_matches('/').to_owned(), kind, functions: None });
    }
    Ok(changes)
}

fn tell(
    changes: &Changes,
    affected: &[(&TestId, String)],
    listed: &[&TestId],
    known: &HashMap<TestId, LearnedDependencies>,
) -> io::Result<()> {
    let mut out = io::stderr().lock();
    let files = match changes.files.len() {
        0 => "nothing changed".to_owned(),
        1 => "1 changed file".to_owned(),
        files => format!("{files} changed files"),
    };
    let base = &changes.base;
    writeln!(
        out,
        "  {} of {} tests can be affected: {files} against {}, {}",
        affected.len(),
        listed.len(),
        base.revision.get(..10).unwrap_or(&base.revision),
        base.chosen.words()
    )?;
    let unmeasured = listed.iter().filter(|test| !known.contains_key(**test)).count();
    if unmeasured > 0 {
        writeln!(
            out,
            "  of {unmeasured} nothing is known yet: `unflake affected --learn` runs the tests and remembers"
        )?;
    }
    let ages = listed.iter().filter_map(|test| known.get(*test)).map(|one| one.started);
    if let (Some(oldest), Some(newest)) = (ages.clone().min(), ages.max()) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros() as i64;
        let age = |then: i64| report::age(((now - then) as f64 / 1e6).max(0.0));
        match (age(oldest.0), age(newest.0)) {
            (one, other) if one == other => writeln!(out, "  what they depend on was learned {one} ago")?,
            (oldest, newest) => writeln!(out, "  what they depend on was learned {oldest} to {newest} ago")?,
        }
    }
    Ok(())
}
