//! Traces many runs of a test and compares them: the search behind `unflake locate`, for one
//! test and for all.

use std::env;
use std::time::Instant;

use unflake_engine::{Launch, SharedBuilds, Tracing};
use unflake_model::{Failure, Finding, PreparedReport, SourceLine, World};
use unflake_observe::trace::{Project, TraceArchive};
use unflake_report::Progress;
use unflake_techniques::{DelayPoint, Locate, LocateConfig, LocateCounts};

use crate::config::project;
use crate::config::settings::{self, Settings};
use crate::context::Context;
use crate::error::CommandError;
use crate::exit::{Conclusion, Exit};
use crate::launch::private_files;
use crate::project::worktree_hash;
use crate::recorders::Recorders;
use crate::run_loop::Gathered;
use crate::technique_run::{TechniqueRun, inconclusive};

/// The test to locate, and the limits of the search.
pub(crate) struct LocateRequest {
    /// The name of a test, or a part of it that no other has.
    pub(crate) test: String,
    pub(crate) runs: u32,
    pub(crate) most: u32,
    /// No run is started after this.
    pub(crate) seconds: f64,
    pub(crate) lines_only: bool,
    /// Worlds in which the runs take turns. Empty: none but the user's.
    pub(crate) worlds: Vec<World>,
    /// A proven schedule whose line is asked for, and how the test fails with it.
    pub(crate) schedule: Option<(Finding, Failure)>,
    /// What earlier runs of the same command have built.
    pub(crate) builds: Option<SharedBuilds>,
}

/// The result of a search, or of one that was made earlier.
pub(crate) struct LocateResult {
    pub(crate) record: Gathered,
    pub(crate) counts: LocateCounts,
    /// The lines of the test that wait.
    pub(crate) waits: Vec<SourceLine>,
    /// Where its threads can be delayed.
    pub(crate) points: Vec<DelayPoint>,
    pub(crate) conclusion: Conclusion,
    /// Whether the budget was exhausted.
    pub(crate) cut_short: bool,
    /// Whether the report is in the history.
    pub(crate) kept: bool,
}

/// Runs the test as often as it takes. With `tree`, the report is kept in the history for the files
/// with this hash.
pub(crate) fn search(
    wanted: &LocateRequest,
    settings: &Settings,
    context: &Context,
    progress: Progress,
    tree: Option<&str>,
) -> Result<LocateResult, CommandError> {
    if settings.results.value.is_some() {
        let able = unflake_runners::names_with(|runner| runner.trace, "or");
        return Err(CommandError::usage("locate needs a runner that unflake can trace").hint(format!("use {able}")));
    }
    let tracing = if wanted.lines_only { Tracing::Lines } else { Tracing::Values };
    let time = settings::engine_limit(wanted.seconds);
    let private = private_files(settings, &context.here);
    let builds = wanted.builds.clone();
    let launch =
        Launch { suite: false, traced: Some(tracing), time, private, builds, ..context.search_launch(settings) };
    let root = project::find(&context.here);
    // Its file has no name, so nothing is left of it even where unflake is killed.
    let archive = TraceArchive::new(env::temp_dir()).map_err(|error| CommandError::runner(error.to_string()))?;
    let project = Project::new(&root).calls(unflake_runners::call_tables());
    let mut locate = Locate::new(LocateConfig {
        test: wanted.test.clone(),
        runs: wanted.runs,
        most: wanted.most,
        fresh_by: settings.fresh_by.value,
        seconds: wanted.seconds,
        jobs: settings.jobs.value,
        worlds: wanted.worlds.clone(),
        schedule: wanted.schedule.clone(),
    });
    let began = Instant::now();
    let run = TechniqueRun {
        recorders: Recorders::of_traces(archive, project),
        budget: Some(wanted.seconds),
        ..TechniqueRun::new(context, settings, launch, progress)
    };
    let mut done = run.run(&mut locate)?;
    if done.record.listed && done.record.problems.is_empty() && locate.matching.len() != 1 {
        let matching: Vec<&str> = locate.matching.iter().map(|test| test.as_str()).collect();
        return Err(CommandError::not_one_test(&wanted.test, &matching, done.record.test_names()));
    }
    let conclusion = conclude(&done.record, locate.counts());
    done.history.finish(conclusion.exit.code());
    let trouble = done.record.recorders.traces.as_ref().and_then(|(archive, _)| archive.error());
    if let Some(trouble) = trouble {
        let note = format!("a trace could not be read back, so the result may be wrong: {trouble}");
        done.record.notes.push(note);
    }
    let cut_short = began.elapsed().as_secs_f64() >= wanted.seconds;
    let (counts, waits) = (locate.counts(), std::mem::take(&mut locate.waits));
    let points = std::mem::take(&mut locate.points);
    let mut result = LocateResult { record: done.record, counts, waits, points, conclusion, cut_short, kept: false };
    if let (Some(tree), [test]) = (tree, &locate.matching[..])
        && result.is_about_the_test()
    {
        match worktree_hash::state(&context.here) {
            Some(now) if now == tree => result.kept = done.history.keep_report(test, tree, &result.report(wanted)),
            _ => result.record.notes.push(
                "the report is not stored: project files changed during the run (`git status` lists them)".to_owned(),
            ),
        }
    }
    result.record.notes.append(&mut done.history.notes);
    Ok(result)
}

impl LocateResult {
    /// Whether it says something about the test: it was not interrupted, and the runner could run
    /// it.
    fn is_about_the_test(&self) -> bool {
        !matches!(self.conclusion.exit, Exit::Interrupted | Exit::Runner | Exit::NoTests)
    }

    fn report(&self, wanted: &LocateRequest) -> PreparedReport {
        PreparedReport {
            finding: self.record.findings.first().cloned(),
            exit: self.conclusion.exit.code(),
            meaning: self.conclusion.meaning.clone(),
            passed: self.counts.passed,
            failed: self.counts.failed,
            timed_out: self.counts.timed_out,
            runs: wanted.runs,
            most: wanted.most,
            lines_only: wanted.lines_only,
            seconds: self.record.totals.seconds,
            cut_short: self.cut_short,
        }
    }
}

fn conclude(record: &Gathered, counts: LocateCounts) -> Conclusion {
    if let Some(conclusion) = inconclusive(record, "interrupted; the findings until then are complete") {
        return conclusion;
    }
    let LocateCounts { passed, failed, timed_out, skipped, untraced } = counts;
    let runs = passed + failed;
    let out_of_budget = record.searched.is_some_and(|searched| !searched.coverage.complete);
    match (passed, failed) {
        (0, 0) if timed_out > 0 => Exit::RealFailures.because(format!("all {timed_out} runs timed out")),
        (0, 0) if skipped > 0 => Exit::Success.because("the test is skipped"),
        (0, 0) if out_of_budget => Exit::Incomplete.because("budget exhausted before the first run ended (--for)"),
        (0, 0) => Exit::Runner.because("the test could not run"),
        (_, 0) if out_of_budget => {
            Exit::Success.because(format!("search incomplete: budget exhausted after {runs} runs, all passed (--for)"))
        }
        (_, 0) => {
            let next = match record.isolated {
                true => "`unflake stress` runs it at the same time as other tests",
                false => "`unflake order` tries it after other tests",
            };
            Exit::Success
                .because(format!("nothing to compare: {runs} of {runs} runs passed (--max-runs makes more; {next})"))
        }
        (0, _) => Exit::RealFailures
            .because(format!("nothing to compare: {runs} of {runs} traced runs failed (--lines-only traces less)")),
        _ if record.findings.is_empty() => {
            Exit::RealFailures.because(format!("flaky, but {untraced} of {runs} runs left no trace to compare"))
        }
        _ => Exit::RealFailures.because(format!("flaky: {failed} of {runs} runs failed")),
    }
}
