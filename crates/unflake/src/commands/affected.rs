//! `unflake affected`: lists the tests that a change can affect, from what is known of their
//! dependencies.

use std::collections::HashMap;
use std::io::{self, Write};

use unflake_engine::Launch;
use unflake_git::Repository;
use unflake_model::{Base, BaseChoice, ChangeKind, Changes, Event, FileChange, Granularity, Session, TestId};
use unflake_report as report;
use unflake_store::{LearnedDependencies, Revision};
use unflake_techniques::{DependencyLearning, Recordings, Technique, can_affect};

use crate::args::affected::AffectedArgs;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::history::recorder;
use crate::launch::launch;
use crate::project::comparison::ComparisonBase;
use crate::technique_run::TechniqueRun;

pub(crate) fn run(args: AffectedArgs, context: &Context) -> Result<Exit, CommandError> {
    let settings = &context.test_settings(args.settings, args.command)?;
    let granularity = settings.granularity.value.unwrap_or_default();
    let (repository, changes) = ComparisonBase::changes(settings, &context.here)?;

    let mut technique: Box<dyn Technique> =
        if args.learn { Box::new(DependencyLearning::new(granularity)) } else { Box::new(ListOnly) };
    let launch = Launch { depends: args.learn.then_some(granularity), ..launch(settings) };
    let run = TechniqueRun::new(context, settings, launch, context.progress(!args.learn));
    let mut done = run.run(technique.as_mut())?;
    done.finish(&Exit::Success.because("tests are listed"));
    let record = &done.record;
    if record.totals.interrupted {
        return Ok(Exit::Interrupted);
    }
    if let Some(problem) = record.problems.first() {
        return Err(CommandError::runner(report::plain(&problem.text)));
    }
    let known: HashMap<TestId, LearnedDependencies> =
        done.history.dependencies()?.into_iter().map(|one| (one.test.clone(), one)).collect();
    let mut since = ChangesSince { repository: &repository, changes: &changes, at: HashMap::new() };
    let mut affected: Vec<(&TestId, String)> = Vec::new();
    for test in &record.tests {
        let why = match known.get(&test.id) {
            None => Some("nothing is known of what it depends on".to_owned()),
            Some(learned) => since.why(learned, granularity),
        };
        affected.extend(why.map(|why| (&test.id, why)));
    }
    let runner = record.runner.as_deref().and_then(unflake_runners::reported_as);
    let mut out = io::stdout().lock();
    // A reader that has gone away (`| head`) is no error.
    let _ = affected.iter().try_for_each(|(test, why)| {
        let id = match runner {
            Some(runner) => runner.id_seen_from(test.as_str(), record.root.as_deref(), &context.here),
            None => test.to_string(),
        };
        if args.why { writeln!(out, "{id}\t{}", report::one_line(why)) } else { writeln!(out, "{id}") }
    });
    let listed: Vec<&TestId> = record.tests.iter().map(|test| &test.id).collect();
    let _ = summarize(&changes, &affected, &listed, &known);
    Ok(Exit::Success)
}

/// A technique that asks for no session: the engine lists the tests, and that is all.
struct ListOnly;

impl Technique for ListOnly {
    fn observe(&mut self, _: &Event, _: Recordings<'_>) {}

    fn next_sessions(&mut self, _: Recordings<'_>) -> Vec<Session> {
        Vec::new()
    }

    fn findings(&self, _: Recordings<'_>) -> Vec<unflake_model::Finding> {
        Vec::new()
    }
}

/// Changes since the dependencies of tests were learned, by the revision at which they were.
struct ChangesSince<'a> {
    repository: &'a Repository,
    /// The user's change: against the base.
    changes: &'a Changes,
    at: HashMap<(Option<String>, Vec<String>), Result<Changes, String>>,
}

impl ChangesSince<'_> {
    /// Why a test is affected by the change, or by what changed since its dependencies were
    /// learned.
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
            Err(why) => Some(format!("what changed since its dependencies were recorded is unknown: {why}")),
        }
    }
}

fn changes_since(repository: &Repository, revision: &Revision) -> Result<Changes, String> {
    let commit = revision.commit.clone().ok_or("it was not in a commit")?;
    if revision.dirty.is_none() {
        return Err("the changed files of that run are unknown".to_owned());
    }
    let base = Base { revision: commit.clone(), chosen: BaseChoice::Asked(commit) };
    let mut changes =
        repository.changes(&base, &unflake_runners::global_inputs()).map_err(|error| error.to_string())?;
    // Uncommitted changes of that time may have been anything.
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

fn summarize(
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
        match (recorder::age(oldest), recorder::age(newest)) {
            (one, other) if one == other => writeln!(out, "  what they depend on was learned {one} ago")?,
            (oldest, newest) => writeln!(out, "  what they depend on was learned {oldest} to {newest} ago")?,
        }
    }
    Ok(())
}
