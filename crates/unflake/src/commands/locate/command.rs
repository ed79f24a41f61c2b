//! `unflake locate`: takes a prepared report or makes a new one, and shows it.

use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use unflake_report::{self as report, LocateReport};
use unflake_store::{Store, StoreLocation};

use crate::args::locate::LocateArgs;
use crate::commands::locate::divergence_run::{self, LocateRequest, LocateResult};
use crate::commands::locate::prepared_reports;
use crate::config::project;
use crate::config::settings;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::output::report_files::{ReportFiles, RunSummary};
use crate::output::report_path::report_path;
use crate::output::write_file;
use crate::project::source_files::SourceFiles;
use crate::technique_run::CommandFacts;

/// The number of latest runs in which flaky tests are looked up, and how many of the tests are
/// named.
const RUNS: usize = 50;
const NAMED: usize = 10;
/// Without a test: the share of its latest runs that must have failed.
const SHARE: f64 = 0.1;
/// The default budget: no run is started after it.
pub(crate) const TIME: Duration = Duration::from_secs(600);

pub(crate) fn run(args: LocateArgs, context: &Context) -> Result<Exit, CommandError> {
    let settings = &context.search_settings(args.settings, args.command)?;
    let here = &context.here;
    let test = match args.test {
        Some(test) => test,
        None => flaky_lately(&settings.store.value, SHARE, "unflake locate")?,
    };
    let wanted = LocateRequest {
        test,
        runs: args.limits.runs,
        most: args.limits.max_runs(),
        seconds: settings::time(args.time.as_deref(), TIME)?,
        lines_only: args.lines_only,
        worlds: Vec::new(),
        schedule: None,
        builds: None,
    };
    let files = ReportFiles::open(&args.output)?;
    let known = prepared_reports::find(&wanted, settings, here)?;
    let mut result = match &known {
        Some((known, answers)) if !args.again => prepared_reports::as_result(known, answers),
        known => {
            // The new report replaces the prepared one.
            let tree = known.as_ref().map(|(known, _)| known.tree.as_str());
            divergence_run::search(&wanted, settings, context, context.progress(args.output.quiet), tree)?
        }
    };
    let page = match (&args.html, result.record.findings.first()) {
        (_, None) => None,
        (Some(path), Some(_)) => Some(path.clone()),
        (None, Some(finding)) => Some(report_path(&settings.store.value.dir, &finding.test, "")),
    };
    let root = project::find(here);
    let sources = SourceFiles::new(&root);
    let sources = |file: &str| sources.lines(file);
    if let (Some(path), Some(finding)) = (&page, result.record.findings.first()) {
        let located = LocateReport::new(finding, &sources, result.record.totals.seconds);
        if let Err(error) = write_file(path, |out| report::locate_page(&located, out)) {
            match args.html {
                Some(_) => return Err(CommandError::cannot_write(path)(error)),
                None => {
                    let note = format!("the full report could not be written: {}: {error}", path.display());
                    result.record.notes.push(note);
                }
            }
        }
    }
    let page = page.filter(|path| path.is_file()).map(|path| shown(&path, here));
    let LocateResult { record, conclusion, .. } = &result;
    let facts = CommandFacts::search("locate");
    let summary = RunSummary { facts: &facts, command: &settings.command.value, record, conclusion };
    files.write(&summary, context.color, |run, style, out| match run.findings.first() {
        Some(finding) if record.problems.is_empty() => {
            let answer = run.not_useful(finding);
            let located = LocateReport {
                page: page.as_deref(),
                reproduce: finding.command(),
                feedback: answer,
                ..LocateReport::new(finding, &sources, run.totals.seconds)
            };
            report::locate(&located, style, args.output.quiet, out)?;
            write_notes(run, out)
        }
        None if known.is_some() && !args.again => {
            writeln!(out, "{}", report::one_line(&conclusion.meaning))?;
            write_notes(run, out)
        }
        _ => report::order_and_nio(run, style, args.output.quiet, out),
    })?;
    Ok(conclusion.exit)
}

fn write_notes(run: &report::RunReport<'_>, out: &mut dyn Write) -> io::Result<()> {
    for note in run.notes {
        writeln!(out, "note: {}", report::one_line(note))?;
    }
    Ok(())
}

/// The one test that both passed and failed in the latest runs. Where there are several, the error
/// lists them.
pub(crate) fn flaky_lately(store: &StoreLocation, least: f64, by: &str) -> Result<String, CommandError> {
    let known = Store::find(store)?.map_or(Ok(Vec::new()), |store| store.flaky_lately(RUNS))?;
    let share = |passed: u32, failed: u32| f64::from(failed) / f64::from(passed + failed);
    let flaky: Vec<_> = known.into_iter().filter(|(_, passed, failed)| share(*passed, *failed) >= least).collect();
    match &flaky[..] {
        [] => Err(CommandError::usage("no test given, and the history has no recent flaky test")
            .hint(format!("`{by} TEST`, where TEST is a name or a unique part of it"))),
        [(test, _, _)] => Ok(test.to_string()),
        tests => {
            let mut what = format!("no test given; {} tests were flaky recently:", tests.len());
            for (test, passed, failed) in tests.iter().take(NAMED) {
                let test = report::one_line(test.as_str());
                what.push_str(&format!("\n    {test}  (failed {failed} of {} runs)", passed + failed));
            }
            Err(CommandError::usage(what).hint(format!("`{by} TEST`")))
        }
    }
}

/// A path relative to the current directory where it is below it.
pub(crate) fn shown(path: &Path, here: &Path) -> String {
    path.strip_prefix(here).unwrap_or(path).display().to_string()
}
