//! Reports that `unflake locate --all` made: looks one up for `unflake locate`.

use std::path::Path;

use unflake_model::Feedback;
use unflake_store::{ReadyReport, Store};
use unflake_techniques::LocateCounts;

use crate::commands::locate::divergence_run::{LocateRequest, LocateResult};
use crate::config::settings::Settings;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::history::recorder;
use crate::project::worktree_hash;
use crate::run_loop::Gathered;

/// The report on the current files that is as thorough as the request, with the feedback on
/// findings.
pub(crate) fn find(
    wanted: &LocateRequest,
    settings: &Settings,
    here: &Path,
) -> Result<Option<(ReadyReport, Vec<Feedback>)>, CommandError> {
    let Some(store) = Store::find(&settings.store.value)? else { return Ok(None) };
    // Most projects have none at all: git need not be asked.
    if store.prepared(None)?.is_empty() {
        return Ok(None);
    }
    let tests = store.find_tests(&wanted.test)?;
    let ([test], Some(tree)) = (&tests[..], worktree_hash::state(here)) else { return Ok(None) };
    let ready = store.prepared(Some(&tree))?.into_iter().find(|ready| ready.test == *test);
    let answers = store.feedback()?;
    Ok(ready.filter(|ready| is_as_thorough(ready, wanted)).map(|ready| (ready, answers)))
}

pub(crate) fn is_as_thorough(ready: &ReadyReport, wanted: &LocateRequest) -> bool {
    let report = &ready.report;
    report.lines_only == wanted.lines_only && report.runs >= wanted.runs && report.most >= wanted.most
}

/// The report as if the search had been made now, with a note on when it was.
pub(crate) fn as_result(ready: &ReadyReport, answers: &[Feedback]) -> LocateResult {
    let made = &ready.report;
    let mut record = Gathered::default();
    record.listed = true;
    record.findings.extend(made.finding.clone());
    record.totals.seconds = made.seconds;
    record.notes.push(note(ready));
    record.answers = answers.to_vec();
    let counts =
        LocateCounts { passed: made.passed, failed: made.failed, timed_out: made.timed_out, ..LocateCounts::default() };
    let exit = if made.exit == 0 { Exit::Success } else { Exit::RealFailures };
    let conclusion = exit.because(&made.meaning);
    LocateResult {
        record,
        counts,
        waits: Vec::new(),
        points: Vec::new(),
        conclusion,
        cut_short: made.cut_short,
        kept: true,
    }
}

fn note(ready: &ReadyReport) -> String {
    let age = recorder::age(ready.started);
    let command = ready.command.join(" ");
    let cut = if ready.report.cut_short { " (budget exhausted)" } else { "" };
    format!("prepared {age} ago from the same files with `{command}`{cut}; --again makes a new report")
}
