//! `unflake affected`: lists the tests that a change can affect, from what is known of their
//! dependencies.

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::Path;

use unflake_engine::Launch;
use unflake_model::{Changes, Event, Session, Test, TestId};
use unflake_report as report;
use unflake_store::{LearnedDependencies, Store};
use unflake_techniques::{DependencyLearning, Recordings, Technique};

use crate::args::affected::{AffectedArgs, IdFormat};
use crate::context::Context;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::history::recorder;
use crate::launch::launch;
use crate::project::affected_tests::AffectedTests;
use crate::project::comparison::ComparisonBase;
use crate::project::kept_listing::KeptListing;
use crate::technique_run::TechniqueRun;

/// Where tests could not be listed, this is written instead of ids.
const FAILED: &str = "unflake-affected-failed";

pub(crate) fn run(args: AffectedArgs, context: &Context) -> Result<Exit, CommandError> {
    let format = if args.null { IdFormat::Null } else { args.format };
    let result = list(args, format, context);
    if !matches!(result, Ok(Exit::Success)) {
        write_failure(format);
    }
    result
}

fn list(args: AffectedArgs, format: IdFormat, context: &Context) -> Result<Exit, CommandError> {
    let settings = &context.test_settings(args.settings, args.command)?;
    let granularity = settings.granularity.value.unwrap_or_default();
    let (repository, changes) = ComparisonBase::changes(settings, &context.here)?;
    let (store, command) = (&settings.store.value, &settings.command.value);
    let output = IdOutput { format, shows_why: args.why, here: &context.here };
    let kept = if args.learn { None } else { KeptListing::find(store, command, &context.here) };
    if let Some(kept) = kept
        && let Some(history) = Store::find(store)?
    {
        let mut tests = AffectedTests::new(&repository, &changes, granularity, history.dependencies()?);
        if tests.listing_holds(&kept.revision(), kept.root.as_deref(), &kept.tests)
            && !tests.depends_on_installation(&kept.tests)
        {
            output.write(&mut tests, &kept.tests, kept.runner.as_deref(), kept.root.as_deref());
            return Ok(Exit::Success);
        }
    }

    let mut technique: Box<dyn Technique> =
        if args.learn { Box::new(DependencyLearning::new(granularity)) } else { Box::new(ListOnly) };
    // A command that starts the runner by way of another tool may read more than the runner does.
    let installed = unflake_runners::recognizes(command);
    // Tests run in forks of the process that lists them.
    let launch = Launch { depends: args.learn.then_some(granularity), suite: false, installed, ..launch(settings) };
    let run = TechniqueRun::new(context, settings, launch, context.progress(!args.learn));
    let mut done = run.run(technique.as_mut())?;
    done.finish(&Exit::Success.because("tests are listed"));
    let record = &done.record;
    if record.totals.interrupted {
        return Ok(Exit::Interrupted);
    }
    if let Some(problem) = record.problems.first() {
        return Err(CommandError::problem(problem));
    }
    let known = done.history.dependencies()?;
    let listing = KeptListing::new(record, done.history.tested_revision(), &known);
    listing.keep(store, command, &context.here);
    let mut tests = AffectedTests::new(&repository, &changes, granularity, known)
        .installed(record.installed.clone().filter(|_| installed));
    output.write(&mut tests, &record.tests, record.runner.as_deref(), record.root.as_deref());
    Ok(Exit::Success)
}

/// How the answer is written.
struct IdOutput<'a> {
    format: IdFormat,
    shows_why: bool,
    here: &'a Path,
}

impl IdOutput<'_> {
    fn write(&self, tests: &mut AffectedTests<'_>, listed: &[Test], runner: Option<&str>, root: Option<&Path>) {
        let affected: Vec<(&TestId, String)> =
            listed.iter().filter_map(|test| Some((&test.id, tests.why(&test.id)?))).collect();
        let runner = runner.and_then(unflake_runners::reported_as);
        let mut out = io::stdout().lock();
        // A reader that has gone away (`| head`) is no error.
        let _ = affected.iter().try_for_each(|(test, why)| {
            let id = match runner {
                Some(runner) => runner.id_seen_from(test.as_str(), root, self.here),
                None => test.to_string(),
            };
            match self.format {
                _ if self.shows_why => writeln!(out, "{id}\t{}", report::one_line(why)),
                IdFormat::Lines => writeln!(out, "{id}"),
                IdFormat::Null => write!(out, "{id}\0"),
                IdFormat::Shell => writeln!(out, "{}", report::quote(&id)),
            }
        });
        let listed: Vec<&TestId> = listed.iter().map(|test| &test.id).collect();
        let _ = summarize(tests.changes, &affected, &listed, &tests.known);
    }
}

/// Writes an id that no runner has where the tests could not be listed. A pipe hides the exit code,
/// and a runner that is given no id would run nothing and succeed, or everything.
fn write_failure(format: IdFormat) {
    let end = if format == IdFormat::Null { '\0' } else { '\n' };
    let _ = write!(io::stdout().lock(), "{FAILED}{end}");
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
        writeln!(out, "  the dependencies of {unmeasured} are unknown: `unflake affected --learn` records them")?;
    }
    let ages = listed.iter().filter_map(|test| known.get(*test)).map(|one| one.started);
    if let (Some(oldest), Some(newest)) = (ages.clone().min(), ages.max()) {
        match (recorder::age(oldest), recorder::age(newest)) {
            (one, other) if one == other => writeln!(out, "  their dependencies were recorded {one} ago")?,
            (oldest, newest) => writeln!(out, "  their dependencies were recorded {oldest} to {newest} ago")?,
        }
    }
    Ok(())
}
