//! `unflake locate`: where in the code a flaky test starts to fail.

use std::cell::RefCell;
use std::env;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

use unflake_exec::{Exec, Launch, Tracing};
use unflake_inquiry::{Counts, Locate, Locating};
use unflake_model::{Observation, TestId};
use unflake_report::{self as report, Located};
use unflake_store::Store;
use unflake_trace::{Archive, Project};

use crate::args::{LocateArgs, When};
use crate::campaign::{Campaign, Gathered};
use crate::console;
use crate::exit::Exit;
use crate::memory::Memory;
use crate::outputs::{Found, Outputs};
use crate::project;
use crate::run::{launch, stop_on_signals};
use crate::settings::{self, Settings};
use crate::sources::Sources;
use crate::trace::not_one;
use crate::trouble::Trouble;

/// So many of the latest runs are asked who was flaky, and so many of those are named.
const RUNS: usize = 50;
const NAMED: usize = 10;
/// How long runs are begun.
const TIME: Duration = Duration::from_secs(600);

pub(crate) fn run(args: &LocateArgs, settings: &Settings, here: &Path, colour: When) -> Result<Exit, Trouble> {
    let command = &settings.command.value;
    let tracing = if args.lines_only { Tracing::Lines } else { Tracing::Values };
    let seconds = settings::time(args.time.as_deref(), TIME)?;
    let time = settings::and_a_little(seconds);
    let launch = Launch { suite: false, traced: Some(tracing), time, ..launch(settings) };
    if settings.results.value.is_some() {
        let what = "what a runner only writes results of cannot be traced: use pytest, cargo test, cargo nextest or GoogleTest";
        return Err(Trouble::usage(what));
    }
    let test = match &args.test {
        Some(test) => test.clone(),
        None => flaky_lately(&settings.store.value, args.least, "unflake locate")?,
    };
    let outputs = Outputs::open(&args.output)?;
    let mut memory = Memory::begin(&settings.store, command, here)?;
    let root = project::find(here);
    // Its file has no name, so nothing is left of it whatever becomes of us.
    let archive = Archive::new(env::temp_dir()).map_err(|error| Trouble::runner(error.to_string()))?;
    let archive = Rc::new(RefCell::new(archive));
    let exec = Exec::new(launch)?;
    stop_on_signals(&exec)?;
    let mut locate = Locate::new(
        Locating {
            test: test.clone(),
            runs: args.runs,
            most: args.most.max(args.runs),
            fresh_by: settings.fresh_by.value,
            seconds,
            jobs: settings.jobs.value,
        },
        archive.clone(),
    );
    let of_project = Project::new(&root);
    let campaign = Campaign {
        inquiry: &mut locate,
        memory: &mut memory,
        progress: console::progress(colour, args.output.quiet),
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
        began: Instant::now(),
        gathered: Gathered::default(),
    };
    let mut gathered = campaign.run(exec, command, |_, _| false);
    if gathered.listed && gathered.problems.is_empty() && locate.matching.len() != 1 {
        return Err(not_one(&test, &locate.matching.iter().map(|test| test.as_str()).collect::<Vec<_>>()));
    }
    let (exit, meaning) = judge(&gathered, locate.counts());
    memory.finish(exit.code());
    gathered.notes.append(&mut memory.notes);
    if let Some(trouble) = archive.borrow().trouble() {
        gathered.notes.push(format!("a trace could not be read again, so the answer may be wrong: {trouble}"));
    }
    let page = match (&args.html, gathered.findings.first()) {
        (_, None) => None,
        (Some(path), Some(_)) => Some(path.clone()),
        (None, Some(finding)) => Some(page_of(&settings.store.value, &finding.test)),
    };
    let sources = Sources::new(&root);
    let sources = |file: &str| sources.lines(file);
    if let (Some(path), Some(finding)) = (&page, gathered.findings.first()) {
        let seconds = gathered.totals.seconds;
        let located = Located { finding, sources: &sources, seconds, page: None, repeat: finding.repeat.as_deref() };
        if let Err(error) = write_page(path, &located) {
            match args.html {
                Some(_) => return Err(Trouble::usage(format!("{} cannot be written: {error}", path.display()))),
                None => gathered.notes.push(format!("the full report was not written: {}: {error}", path.display())),
            }
        }
    }
    let page = page.filter(|path| path.is_file()).map(|path| shown(&path, here));
    let found = Found {
        name: "locate",
        command,
        gathered: &gathered,
        flaky_gates: true,
        can_locate: true,
        seed: None,
        exit,
        meaning: &meaning,
    };
    outputs.write(&found, colour, |run, look, out| match run.findings.first() {
        Some(finding) if gathered.problems.is_empty() => {
            let (page, repeat) = (page.as_deref(), finding.repeat.as_deref());
            let located = Located { finding, sources: &sources, seconds: run.totals.seconds, page, repeat };
            report::locate(&located, look, args.output.quiet, out)?;
            notes(run, out)
        }
        _ => report::search(run, look, args.output.quiet, out),
    })?;
    Ok(exit)
}

fn notes(run: &report::Run<'_>, out: &mut dyn Write) -> io::Result<()> {
    for note in run.notes {
        writeln!(out, "  note: {}", report::one_line(note))?;
    }
    Ok(())
}

/// The test that both passed and failed in the latest runs, if it is the only one.
pub(crate) fn flaky_lately(store: &Path, least: f64, by: &str) -> Result<String, Trouble> {
    let known =
        if store.join(unflake_store::FILE).is_file() { Store::open(store)?.flaky_lately(RUNS)? } else { Vec::new() };
    let share = |passed: u32, failed: u32| f64::from(failed) / f64::from(passed + failed);
    let flaky: Vec<_> = known.into_iter().filter(|(_, passed, failed)| share(*passed, *failed) >= least).collect();
    match &flaky[..] {
        [] => Err(Trouble::usage("name a test: the history knows of none that was flaky lately")
            .hint(format!("`{by} TEST`; a part of its name is enough"))),
        [(test, _, _)] => Ok(test.to_string()),
        tests => {
            let mut what = format!("{} tests were flaky lately; name one:", tests.len());
            for (test, passed, failed) in tests.iter().take(NAMED) {
                let test = report::one_line(test.as_str());
                what.push_str(&format!("\n    {test}  (failed {failed} of {} times)", passed + failed));
            }
            Err(Trouble::usage(what))
        }
    }
}

/// What it comes to, and why in words.
fn judge(gathered: &Gathered, counts: Counts) -> (Exit, String) {
    if gathered.totals.interrupted {
        return (Exit::Interrupted, "you stopped it; this is what was found until then".to_owned());
    }
    if !gathered.problems.is_empty() || !gathered.listed {
        return (Exit::Runner, "the tests could not be run".to_owned());
    }
    if gathered.tests.is_empty() {
        return (Exit::NoTests, "no tests were found".to_owned());
    }
    let Counts { passed, failed, timed_out, skipped, untraced } = counts;
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

/// Where the full report goes unless somebody says so: beside the history.
pub(crate) fn page_of(store: &Path, test: &TestId) -> PathBuf {
    let name = test.as_str();
    let plain = |letter: char| if letter.is_ascii_alphanumeric() || "-_.".contains(letter) { letter } else { '_' };
    let last = name.rsplit("::").next().unwrap_or(name);
    let mut name: String = last.chars().map(plain).take(100).collect();
    if name.trim_matches(['_', '.']).is_empty() {
        name = "test".to_owned();
    }
    store.join("reports").join(format!("{name}.html"))
}

fn write_page(path: &Path, located: &Located<'_>) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    let mut out = BufWriter::new(File::create(path)?);
    report::locate_page(located, &mut out)?;
    out.flush()
}

/// A path as it is shortest from here.
pub(crate) fn shown(path: &Path, here: &Path) -> String {
    path.strip_prefix(here).unwrap_or(path).display().to_string()
}
