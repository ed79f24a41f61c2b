//! Diagnoses one test, or all that need it, and shows the root causes.

use std::io;
use std::time::{Duration, Instant};

use unflake_engine::SharedBuilds;
use unflake_report::{self as report, LocateReport, RunReport, WhyReport, WhyStep};

use crate::args::why::WhyArgs;
use crate::commands::locate::command::shown;
use crate::commands::why::candidates::undiagnosed;
use crate::commands::why::diagnosis_run::{DiagnosisRequest, DiagnosisResult};
use crate::commands::why::fix_check;
use crate::config::project;
use crate::config::settings::{self, Settings};
use crate::context::Context;
use crate::error::CommandError;
use crate::exit::{Conclusion, Exit};
use crate::interrupt::was_interrupted;
use crate::output::report_files::{ReportFiles, RunSummary};
use crate::output::report_path::report_path;
use crate::output::write_file;
use crate::project::source_files::SourceFiles;
use crate::run_loop::Gathered;
use crate::technique_run::CommandFacts;

/// The default budgets: of one test, and of all.
const TIME: Duration = Duration::from_secs(600);
const TIME_OF_ALL: Duration = Duration::from_secs(30 * 60);
/// With fewer seconds left no test is started.
const SHORTEST: f64 = 5.0;

pub(crate) fn run(args: WhyArgs, context: &Context) -> Result<Exit, CommandError> {
    let settings = &context.search_settings(args.settings, args.command)?;
    let files = ReportFiles::open(&args.output)?;
    let quiet = args.output.quiet;
    if args.all {
        let seconds = settings::time(args.time.as_deref(), TIME_OF_ALL)?;
        return all(seconds, quiet, settings, context, files);
    }
    let test = match args.test {
        Some(test) => test,
        None => worst(settings, context)?,
    };
    let seconds = settings::time(args.time.as_deref(), TIME)?;
    if args.is_fixed {
        return fix_check::run(test, args.rate, seconds, settings, context, &args.output);
    }
    let result =
        DiagnosisRequest { test, seconds, quiet, settings, context, builds: SharedBuilds::new().ok() }.run()?;
    let page = write_page(&result.record, settings, context);
    let DiagnosisResult { record, conclusion, .. } = &result;
    let facts = CommandFacts::search("why");
    let summary = RunSummary { facts: &facts, command: &settings.command.value, record, conclusion };
    files.write(&summary, context.color, |run, style, out| {
        if !run.problems.is_empty() || run.tests.is_empty() {
            return report::order_and_nio(run, style, quiet, out);
        }
        show(&result, run, page.as_deref(), context, |why| report::why(why, style, quiet, out))?;
        run.notes.iter().try_for_each(|note| writeln!(out, "note: {}", report::one_line(note)))?;
        match conclusion.exit {
            Exit::Interrupted => writeln!(out, "\nexit {}: {}", conclusion.exit.code(), conclusion.meaning),
            _ => Ok(()),
        }
    })?;
    Ok(conclusion.exit)
}

fn worst(settings: &Settings, context: &Context) -> Result<String, CommandError> {
    match undiagnosed(settings, &context.here)?.into_iter().next() {
        Some(test) => Ok(test.to_string()),
        None => Err(CommandError::usage("no test given, and the history has no flaky test without a diagnosis")
            .hint("`unflake why TEST`, where TEST is a name or a unique part of it")),
    }
}

/// Diagnoses every flaky test that needs it, within one budget.
fn all(
    seconds: f64,
    quiet: bool,
    settings: &Settings,
    context: &Context,
    files: ReportFiles,
) -> Result<Exit, CommandError> {
    let began = Instant::now();
    let builds = SharedBuilds::new().ok();
    let tests = undiagnosed(settings, &context.here)?;
    let mut record: Option<Gathered> = None;
    let (mut found, mut tried, mut errors) = (0, 0, 0);
    for test in &tests {
        let left = seconds - began.elapsed().as_secs_f64();
        if left < SHORTEST || was_interrupted() {
            break;
        }
        tried += 1;
        let seconds = left.min(TIME.as_secs_f64());
        let request =
            DiagnosisRequest { test: test.to_string(), seconds, quiet, settings, context, builds: builds.clone() };
        match request.run() {
            Ok(result) => {
                write_page(&result.record, settings, context);
                found += usize::from(!result.record.findings.is_empty());
                match &mut record {
                    Some(record) => record.absorb(result.record),
                    None => record = Some(result.record),
                }
            }
            // A test of the history may no longer exist.
            Err(error) => {
                errors += 1;
                let note = format!("{test}: {}", error.message);
                record.get_or_insert_default().notes.push(note);
            }
        }
    }
    let record = record.unwrap_or_default();
    let left = tests.len() - tried;
    let mut meaning = format!("{found} of {tried} tests diagnosed");
    if left > 0 {
        meaning.push_str(&format!(", {left} left: budget exhausted (--for)"));
    }
    let exit = match () {
        () if was_interrupted() => Exit::Interrupted,
        () if tried > 0 && errors == tried => Exit::Runner,
        () => Exit::Success,
    };
    let conclusion = Conclusion { exit, meaning };
    let facts = CommandFacts::search("why");
    let summary =
        RunSummary { facts: &facts, command: &settings.command.value, record: &record, conclusion: &conclusion };
    files.write(&summary, context.color, |run, style, out| {
        report::diagnoses(run, style, out)?;
        run.notes.iter().try_for_each(|note| writeln!(out, "note: {}", report::one_line(note)))
    })?;
    Ok(exit)
}

/// Hands over what the report of one diagnosis needs.
fn show(
    result: &DiagnosisResult,
    run: &RunReport<'_>,
    page: Option<&str>,
    context: &Context,
    write: impl FnOnce(&WhyReport<'_>) -> io::Result<()>,
) -> io::Result<()> {
    let root = project::find(&context.here);
    let sources = SourceFiles::new(&root);
    let sources = |file: &str| sources.lines(file);
    let step = |cost: &unflake_techniques::StepCost| WhyStep { name: cost.step.name(), executions: cost.executions };
    let steps: Vec<WhyStep> = result.costs.iter().map(step).collect();
    let untried: Vec<&str> = result.untried.iter().map(|step| step.name()).collect();
    let cut_short: Vec<&str> = result.cut_short.iter().map(|step| step.name()).collect();
    write(&WhyReport {
        findings: run.findings,
        sources: &sources,
        steps: &steps,
        untried: &untried,
        cut_short: &cut_short,
        ways: &result.ways,
        alone: result.alone,
        ever: result.ever,
        seconds: run.totals.seconds,
        page,
    })
}

/// Writes the page of the located line, where there is one, and returns its path.
fn write_page(record: &Gathered, settings: &Settings, context: &Context) -> Option<String> {
    let finding = record.findings.iter().find(|finding| finding.technique() == "divergence")?;
    let path = report_path(&settings.store.value.dir, &finding.test, "");
    let root = project::find(&context.here);
    let sources = SourceFiles::new(&root);
    let sources = |file: &str| sources.lines(file);
    let located = LocateReport::new(finding, &sources, record.totals.seconds);
    let written = write_file(&path, |out| report::locate_page(&located, out));
    written.ok().map(|()| shown(&path, &context.here))
}
