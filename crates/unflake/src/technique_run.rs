//! Runs one technique as a command of unflake: engine, history, progress, run loop, report files,
//! exit code.
//!
//! A command says which technique, which launch, which findings fail the run and how its report is
//! shown. In return the run is recorded in the history, can be interrupted, and leaves every report
//! file that the user asked for.

use std::io::{self, Write};

use unflake_engine::{Engine, Launch};
use unflake_model::{Finding, ProblemKind};
use unflake_report::{self as report, Progress, TerminalStyle};
use unflake_techniques::{AssertionPolicy, Technique};

use crate::args::options::groups::OutputArgs;
use crate::config::settings::Settings;
use crate::context::Context;
use crate::diagnostics;
use crate::error::CommandError;
use crate::exit::{Conclusion, Exit};
use crate::failing_seed::SeedSearch;
use crate::history::recorder::HistoryRecorder;
use crate::interrupt::{remember_signals, stop_on_signals};
use crate::output::report_files::{ReportFiles, RunSummary};
use crate::project::comparison::ComparisonBase;
use crate::project::shard::ShardSpec;
use crate::recorders::Recorders;
use crate::run_loop::{Gathered, RunLoop};

/// Whether a finding makes the run fail.
pub(crate) type Gate<'a> = Box<dyn Fn(&Gathered, &Finding) -> bool + 'a>;

/// A technique run that is about to start.
pub(crate) struct TechniqueRun<'a> {
    pub(crate) context: &'a Context,
    pub(crate) settings: &'a Settings,
    pub(crate) launch: Launch,
    pub(crate) files: ReportFiles,
    pub(crate) progress: Progress,
    /// The revision to compare with, where the technique asks for changes.
    pub(crate) compare: Option<ComparisonBase>,
    /// Finds seeds with which flaky tests fail.
    pub(crate) seeds: Option<SeedSearch>,
    /// What to keep of traces and layers, whose files are gone when the run is over.
    pub(crate) recorders: Recorders,
    /// Passed to the runner at the end, so that it can exit as if only these had failed.
    pub(crate) gates: Gate<'a>,
    /// The time budget in seconds, where there is one.
    pub(crate) budget: Option<f64>,
    /// Which shard of the suite to run; None: all of it.
    pub(crate) shard: Option<ShardSpec>,
}

impl<'a> TechniqueRun<'a> {
    /// A run without report files.
    pub(crate) fn new(context: &'a Context, settings: &'a Settings, launch: Launch, progress: Progress) -> Self {
        Self {
            context,
            settings,
            launch,
            files: ReportFiles::default(),
            progress,
            compare: None,
            seeds: None,
            recorders: Recorders::default(),
            gates: Box::new(|_, _| false),
            budget: None,
            shard: None,
        }
    }

    /// A run with the report files that the user asked for. They are opened now: a path that cannot
    /// be written ends the command before any test runs.
    pub(crate) fn with_files(
        context: &'a Context,
        settings: &'a Settings,
        launch: Launch,
        output: &OutputArgs,
    ) -> Result<Self, CommandError> {
        let files = ReportFiles::open(output)?;
        Ok(Self { files, ..Self::new(context, settings, launch, context.progress(output.quiet)) })
    }

    /// Runs the technique to its end, to the end of its time, or until it is interrupted.
    pub(crate) fn run(self, technique: &mut dyn Technique) -> Result<FinishedRun<'a>, CommandError> {
        self.run_under(technique, None)
    }

    /// The same under an assertion policy.
    pub(crate) fn run_under(
        self,
        technique: &mut dyn Technique,
        assertions: Option<&mut dyn AssertionPolicy>,
    ) -> Result<FinishedRun<'a>, CommandError> {
        let Self { context, settings, launch, files, progress, compare, seeds, recorders, gates, budget, shard } = self;
        let command = &settings.command.value;
        diagnostics::log_launch(&launch);
        let mut history = HistoryRecorder::begin(&settings.store, command, &context.here)?;
        remember_signals()?;
        let engine = Engine::new(launch)?;
        stop_on_signals(&engine)?;
        let mut run_loop = RunLoop::new(technique, &mut history, progress, &context.here)
            .with_recorders(recorders)
            .with_comparison(compare)
            .with_shard(shard)
            .with_seed_search(seeds);
        if let Some(policy) = assertions {
            run_loop = run_loop.with_assertions(policy);
        }
        let mut record = run_loop.run(engine, settings, gates);
        if let Some(problem) = record.problems.iter().find(|problem| problem.kind == ProblemKind::Refused) {
            history.finish(Exit::Usage.code());
            return Err(CommandError::problem(problem));
        }
        if let Some(searched) = &mut record.searched {
            searched.budget = budget.filter(|seconds| seconds.is_finite());
        }
        Ok(FinishedRun { record, history, context, command, files })
    }
}

/// A technique run whose tests have been run and whose report is not written yet.
pub(crate) struct FinishedRun<'a> {
    pub(crate) record: Gathered,
    pub(crate) history: HistoryRecorder,
    context: &'a Context,
    command: &'a [String],
    files: ReportFiles,
}

/// What a report says beside the record of the run.
#[derive(Default)]
pub(crate) struct CommandFacts {
    /// The command of unflake, such as `run`.
    pub(crate) name: &'static str,
    pub(crate) flaky_gates: bool,
    pub(crate) can_order: bool,
    pub(crate) seed: Option<u64>,
}

impl CommandFacts {
    /// The facts of a search: everything that it finds fails the run, and can be located.
    pub(crate) fn search(name: &'static str) -> Self {
        Self { name, flaky_gates: true, can_order: true, seed: None }
    }
}

impl FinishedRun<'_> {
    /// Ends the run in the history, with the exit code, and takes over what the history has to say
    /// about it.
    pub(crate) fn finish(&mut self, conclusion: &Conclusion) {
        self.history.finish(conclusion.exit.code());
        self.record.notes.append(&mut self.history.notes);
    }

    /// Writes the report files, then has `show` write for people.
    pub(crate) fn report(
        self,
        facts: &CommandFacts,
        conclusion: &Conclusion,
        show: impl FnOnce(&report::RunReport<'_>, &TerminalStyle, &mut dyn Write) -> io::Result<()>,
    ) -> Result<Exit, CommandError> {
        let summary = RunSummary { facts, command: self.command, record: &self.record, conclusion };
        self.files.write(&summary, self.context.color, show)?;
        Ok(conclusion.exit)
    }
}

/// The conclusion where messages of an agent were lost: whatever else was seen, results may be
/// missing.
pub(crate) fn lost_results(record: &Gathered) -> Option<Conclusion> {
    let is_lost = record.problems.iter().any(|problem| problem.kind == ProblemKind::Protocol);
    is_lost.then(|| Exit::Internal.because("internal error: unflake lost results of tests"))
}

/// The conclusion where the budget ended before there were tests to search.
pub(crate) fn out_of_time(record: &Gathered) -> Option<Conclusion> {
    let what = "nothing was searched: the budget ended before the tests were listed; give a longer --for";
    (record.budget_exhausted && !record.listed).then(|| Exit::Incomplete.because(what))
}

/// The meaning of a search without findings: `found` completes "no … found". Too small a search
/// says so first.
pub(crate) fn found_nothing(record: &Gathered, found: &str) -> Conclusion {
    let Some(searched) = &record.searched else { return Exit::Success.because(format!("no {found} found")) };
    let text = report::searched_text(searched);
    match searched.coverage {
        _ if searched.sessions == 0 || record.budget_exhausted && record.attempts.is_empty() => {
            Exit::Incomplete.because("nothing was searched: the budget ended before the first attempt did")
        }
        coverage if coverage.is_thin() => {
            Exit::Success.because(format!("search incomplete, no {found} found yet: {text}"))
        }
        _ => Exit::Success.because(format!("no {found} found: {text}")),
    }
}

/// The conclusion where nothing can be concluded from findings: the run was interrupted, the tests
/// could not be run, or there are none. `interrupted` says what happens to findings so
/// far.
pub(crate) fn inconclusive(record: &Gathered, interrupted: impl Into<String>) -> Option<Conclusion> {
    if record.totals.interrupted {
        return Some(Exit::Interrupted.because(interrupted));
    }
    if let Some(lost) = lost_results(record) {
        return Some(lost);
    }
    if let Some(unlisted) = out_of_time(record) {
        return Some(unlisted);
    }
    if !record.problems.is_empty() || !record.listed {
        return Some(Exit::Runner.because("the tests could not run"));
    }
    no_tests(record)
}

/// The conclusion where there are no tests to run. That is an error, unless other shards have them.
pub(crate) fn no_tests(record: &Gathered) -> Option<Conclusion> {
    let conclusion = match record.of_other_shards {
        0 => Exit::NoTests.because("no tests found"),
        _ => Exit::Success.because("there are more shards than tests, and none for this one"),
    };
    record.tests.is_empty().then_some(conclusion)
}
