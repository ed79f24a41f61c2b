//! A search for where a test starts to fail: many traced runs of it, and what they come to.

use std::cell::RefCell;
use std::env;
use std::fs;
use std::path::Path;
use std::rc::Rc;
use std::time::Instant;

use unflake_engine::{Engine, Launch, Tracing};
use unflake_model::{Observation, PreparedReport};
use unflake_observe::trace::{Project, TraceArchive};
use unflake_report::Progress;
use unflake_techniques::{Locate, LocateConfig, LocateCounts};

use crate::commands::run::command::{launch, stop_on_signals};
use crate::commands::trace::not_one;
use crate::config::project;
use crate::config::settings::{self, Settings};
use crate::error::Trouble;
use crate::exit::Exit;
use crate::history_recorder::Memory;
use crate::run_loop::{Campaign, Gathered};
use crate::worktree_hash;

/// What is to be located, and at what price.
pub(crate) struct Wanted {
    /// The name of a test, or a part of it that no other has.
    pub(crate) test: String,
    pub(crate) runs: u32,
    pub(crate) most: u32,
    /// No run is begun after that.
    pub(crate) seconds: f64,
    pub(crate) lines_only: bool,
}

/// What a search came to.
pub(crate) struct Searched {
    pub(crate) gathered: Gathered,
    pub(crate) counts: LocateCounts,
    pub(crate) exit: Exit,
    pub(crate) meaning: String,
    pub(crate) cut_short: bool,
    /// Whether the report is kept for later.
    pub(crate) kept: bool,
}

/// Runs the test as often as it takes. `tree`: the report is to be kept for these files.
pub(crate) fn search(
    wanted: &Wanted,
    settings: &Settings,
    here: &Path,
    progress: Progress,
    tree: Option<&str>,
) -> Result<Searched, Trouble> {
    if settings.results.value.is_some() {
        let what = "what a runner only writes results of cannot be traced: use pytest, Maven, cargo test, cargo nextest or GoogleTest";
        return Err(Trouble::usage(what));
    }
    let command = &settings.command.value;
    let tracing = if wanted.lines_only { Tracing::Lines } else { Tracing::Values };
    let time = settings::and_a_little(wanted.seconds);
    let launch = Launch { suite: false, traced: Some(tracing), time, ..launch(settings) };
    let mut memory = Memory::begin(&settings.store, command, here)?;
    let root = project::find(here);
    // Its file has no name, so nothing is left of it whatever becomes of us.
    let archive = TraceArchive::new(env::temp_dir()).map_err(|error| Trouble::runner(error.to_string()))?;
    let archive = Rc::new(RefCell::new(archive));
    let exec = Engine::new(launch)?;
    stop_on_signals(&exec)?;
    let mut locate = Locate::new(
        LocateConfig {
            test: wanted.test.clone(),
            runs: wanted.runs,
            most: wanted.most,
            fresh_by: settings.fresh_by.value,
            seconds: wanted.seconds,
            jobs: settings.jobs.value,
        },
        archive.clone(),
    );
    let of_project = Project::new(&root);
    let began = Instant::now();
    let campaign = Campaign {
        inquiry: &mut locate,
        memory: &mut memory,
        progress,
        here,
        compare: None,
        base: None,
        // What cannot be read is told with the answer, as a gap.
        take: Box::new(|observation| {
            if let Observation::Traced { directory, .. } = observation {
                let _ = archive.borrow_mut().add(directory, &of_project);
                let _ = fs::remove_dir_all(directory);
            }
        }),
        began,
        gathered: Gathered::default(),
    };
    let mut gathered = campaign.run(exec, command, |_, _| false);
    if gathered.listed && gathered.problems.is_empty() && locate.matching.len() != 1 {
        return Err(not_one(&wanted.test, &locate.matching.iter().map(|test| test.as_str()).collect::<Vec<_>>()));
    }
    let (exit, meaning) = judge(&gathered, locate.counts());
    memory.finish(exit.code());
    if let Some(trouble) = archive.borrow().error() {
        gathered.notes.push(format!("a trace could not be read again, so the answer may be wrong: {trouble}"));
    }
    let cut_short = began.elapsed().as_secs_f64() >= wanted.seconds;
    let mut searched = Searched { gathered, counts: locate.counts(), exit, meaning, cut_short, kept: false };
    if let (Some(tree), [test]) = (tree, &locate.matching[..])
        && searched.is_an_answer()
    {
        match worktree_hash::state(here) {
            Some(now) if now == tree => searched.kept = memory.prepare(test, tree, &searched.report(wanted)),
            _ => searched.gathered.notes.push(
                "the report is not kept: files of the project changed meanwhile (`git status` names those that git should ignore)"
                    .to_owned(),
            ),
        }
    }
    searched.gathered.notes.append(&mut memory.notes);
    Ok(searched)
}

impl Searched {
    /// Whether it says something of the test: nobody stopped it, and the runner could run it.
    fn is_an_answer(&self) -> bool {
        !matches!(self.exit, Exit::Interrupted | Exit::Runner | Exit::NoTests)
    }

    fn report(&self, wanted: &Wanted) -> PreparedReport {
        PreparedReport {
            finding: self.gathered.findings.first().cloned(),
            exit: self.exit.code(),
            meaning: self.meaning.clone(),
            passed: self.counts.passed,
            failed: self.counts.failed,
            timed_out: self.counts.timed_out,
            runs: wanted.runs,
            most: wanted.most,
            lines_only: wanted.lines_only,
            seconds: self.gathered.totals.seconds,
            cut_short: self.cut_short,
        }
    }
}

/// What it comes to, and why in words.
fn judge(gathered: &Gathered, counts: LocateCounts) -> (Exit, String) {
    if gathered.totals.interrupted {
        return (Exit::Interrupted, "you stopped it; this is what was found until then".to_owned());
    }
    if !gathered.problems.is_empty() || !gathered.listed {
        return (Exit::Runner, "the tests could not be run".to_owned());
    }
    if gathered.tests.is_empty() {
        return (Exit::NoTests, "no tests were found".to_owned());
    }
    let LocateCounts { passed, failed, timed_out, skipped, untraced } = counts;
    let runs = passed + failed;
    match (passed, failed) {
        (0, 0) if timed_out > 0 => (Exit::RealFailures, format!("all {timed_out} runs took too long")),
        (0, 0) if skipped > 0 => (Exit::Success, "the test is skipped".to_owned()),
        (0, 0) => (Exit::Runner, "the test could not be run".to_owned()),
        (_, 0) => (
            Exit::Success,
            format!(
                "passed in all {runs} runs: nothing to compare (more runs: --most; if it fails after other tests: unflake order)"
            ),
        ),
        (0, _) => (
            Exit::RealFailures,
            format!(
                "failed in all {runs} runs, alone and traced: nothing to compare (if it passes untraced, try --lines-only)"
            ),
        ),
        _ if gathered.findings.is_empty() => {
            (Exit::RealFailures, format!("flaky, but {untraced} of {runs} runs left no trace to compare"))
        }
        _ => (Exit::RealFailures, format!("flaky: {failed} of {runs} runs failed")),
    }
}
