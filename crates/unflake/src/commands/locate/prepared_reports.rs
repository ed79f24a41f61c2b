//! Reports that were made before anyone asked.

use std::path::Path;

use unflake_model::Feedback;
use unflake_report as report;
use unflake_store::{ReadyReport, Store};
use unflake_techniques::LocateCounts;

use crate::commands::locate::divergence_run::{Searched, Wanted};
use crate::config::settings::Settings;
use crate::error::Trouble;
use crate::exit::Exit;
use crate::history_recorder;
use crate::run_loop::Gathered;
use crate::worktree_hash;

/// The report on these files that is as good as what is wanted, and what people said of findings. None: there is none.
pub(crate) fn find(
    wanted: &Wanted,
    settings: &Settings,
    here: &Path,
) -> Result<Option<(ReadyReport, Vec<Feedback>)>, Trouble> {
    let Some(store) = Store::find(&settings.store.value)? else { return Ok(None) };
    // Most have none at all, and need not ask git.
    if store.prepared(None)?.is_empty() {
        return Ok(None);
    }
    let tests = store.find_tests(&wanted.test)?;
    let ([test], Some(tree)) = (&tests[..], worktree_hash::state(here)) else { return Ok(None) };
    let ready = store.prepared(Some(&tree))?.into_iter().find(|ready| ready.test == *test);
    let answers = store.answers()?;
    Ok(ready.filter(|ready| is_as_good(ready, wanted)).map(|ready| (ready, answers)))
}

pub(crate) fn is_as_good(ready: &ReadyReport, wanted: &Wanted) -> bool {
    let report = &ready.report;
    report.lines_only == wanted.lines_only && report.runs >= wanted.runs && report.most >= wanted.most
}

/// A report as if it had been made now, with a note that it was not.
pub(crate) fn searched(ready: &ReadyReport, answers: &[Feedback]) -> Searched {
    let made = &ready.report;
    let mut gathered = Gathered::default();
    gathered.listed = true;
    gathered.findings.extend(made.finding.clone());
    gathered.totals.seconds = made.seconds;
    gathered.notes.push(note(ready));
    gathered.answers = answers.to_vec();
    let counts =
        LocateCounts { passed: made.passed, failed: made.failed, timed_out: made.timed_out, ..LocateCounts::default() };
    let exit = if made.exit == 0 { Exit::Success } else { Exit::RealFailures };
    let cut_short = made.cut_short;
    Searched { gathered, counts, exit, meaning: made.meaning.clone(), cut_short, kept: true }
}

fn note(ready: &ReadyReport) -> String {
    let age = report::age(((history_recorder::now().0 - ready.started.0) as f64 / 1e6).max(0.0));
    let command = ready.command.join(" ");
    let cut = if ready.report.cut_short { ", and was cut short when its time was over" } else { "" };
    format!("this report was made {age} ago of the same files with `{command}`{cut}; --again makes it anew")
}
