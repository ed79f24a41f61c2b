//! `unflake locate`: where in the code a flaky test starts to fail.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use unflake_model::TestId;
use unflake_report::{self as report, LocateReport};
use unflake_store::{Store, StoreLocation};

use crate::args::{LocateArgs, When};
use crate::commands::locate::divergence_run::{self, Searched, Wanted};
use crate::commands::locate::prepared_reports;
use crate::config::project;
use crate::config::settings::{self, Settings};
use crate::console;
use crate::error::Trouble;
use crate::exit::Exit;
use crate::report_files::{Found, Outputs};
use crate::sources::Sources;

/// So many of the latest runs are asked who was flaky, and so many of those are named.
const RUNS: usize = 50;
const NAMED: usize = 10;
/// How long runs are begun.
pub(crate) const TIME: Duration = Duration::from_secs(600);

pub(crate) fn run(args: &LocateArgs, settings: &Settings, here: &Path, colour: When) -> Result<Exit, Trouble> {
    let test = match &args.test {
        Some(test) => test.clone(),
        None => flaky_lately(&settings.store.value, args.least, "unflake locate")?,
    };
    let wanted = Wanted {
        test,
        runs: args.enough.runs,
        most: args.enough.most(),
        seconds: settings::time(args.time.as_deref(), TIME)?,
        lines_only: args.lines_only,
    };
    let outputs = Outputs::open(&args.output)?;
    let known = prepared_reports::find(&wanted, settings, here)?;
    let mut searched = match &known {
        Some((known, answers)) if !args.again => prepared_reports::searched(known, answers),
        known => {
            // What was ready is replaced.
            let tree = known.as_ref().map(|(known, _)| known.tree.as_str());
            divergence_run::search(&wanted, settings, here, console::progress(colour, args.output.quiet), tree)?
        }
    };
    let notes = &mut searched.gathered.notes;
    let page = match (&args.html, searched.gathered.findings.first()) {
        (_, None) => None,
        (Some(path), Some(_)) => Some(path.clone()),
        (None, Some(finding)) => Some(page_of(&settings.store.value.dir, &finding.test)),
    };
    let root = project::find(here);
    let sources = Sources::new(&root);
    let sources = |file: &str| sources.lines(file);
    if let (Some(path), Some(finding)) = (&page, searched.gathered.findings.first()) {
        let seconds = searched.gathered.totals.seconds;
        let located = LocateReport::new(finding, &sources, seconds);
        if let Err(error) = write_page(path, &located) {
            match args.html {
                Some(_) => return Err(Trouble::usage(format!("{} cannot be written: {error}", path.display()))),
                None => notes.push(format!("the full report was not written: {}: {error}", path.display())),
            }
        }
    }
    let page = page.filter(|path| path.is_file()).map(|path| shown(&path, here));
    let Searched { gathered, exit, meaning, .. } = &searched;
    let found = Found {
        name: "locate",
        command: &settings.command.value,
        gathered,
        flaky_gates: true,
        can_locate: true,
        seed: None,
        exit: *exit,
        meaning,
    };
    outputs.write(&found, colour, |run, look, out| match run.findings.first() {
        Some(finding) if gathered.problems.is_empty() => {
            let feedback = run.not_useful(finding);
            let located = LocateReport {
                page: page.as_deref(),
                repeat: finding.repeat.as_deref(),
                feedback,
                ..LocateReport::new(finding, &sources, run.totals.seconds)
            };
            report::locate(&located, look, args.output.quiet, out)?;
            notes_of(run, out)
        }
        None if known.is_some() && !args.again => {
            writeln!(out, "  {}", report::one_line(meaning))?;
            notes_of(run, out)
        }
        _ => report::order_and_nio(run, look, args.output.quiet, out),
    })?;
    Ok(*exit)
}

fn notes_of(run: &report::RunReport<'_>, out: &mut dyn Write) -> io::Result<()> {
    for note in run.notes {
        writeln!(out, "  note: {}", report::one_line(note))?;
    }
    Ok(())
}

/// The test that both passed and failed in the latest runs, if it is the only one.
pub(crate) fn flaky_lately(store: &StoreLocation, least: f64, by: &str) -> Result<String, Trouble> {
    let known = Store::find(store)?.map_or(Ok(Vec::new()), |store| store.flaky_lately(RUNS))?;
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

pub(crate) fn write_page(path: &Path, located: &LocateReport<'_>) -> io::Result<()> {
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
