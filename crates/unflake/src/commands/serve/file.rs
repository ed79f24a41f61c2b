//! `unflake report --html`: what the pages show, in one file.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

use unflake_report::TimeZone;
use unflake_report::pages::{Links, PageLayout, SingleFileReport};
use unflake_store::{StoreLocation, TestKey};

use super::overview::Overview;
use super::views::Sight;
use super::{ReportArgs, name, runs};
use crate::commands::quarantine::file::QuarantineFile;
use crate::config::project;
use crate::error::Trouble;
use crate::exit::Exit;
use crate::history_recorder;
use crate::test_scores;

/// Tests that have a part of their own, and runs.
const TESTS: usize = 100;

pub(crate) fn write_file(args: &ReportArgs, place: &StoreLocation, here: &Path) -> Result<Exit, Trouble> {
    let store = test_scores::open(place)?;
    let overview = Overview::of(&store, here)?;
    let quarantine = QuarantineFile::read(&project::find(here).join(".unflake"))?;
    let sight = Sight { overview: &overview, store: &store, quarantine: &quarantine, now: history_recorder::now() };
    let everything = everything(&sight)?;
    let (project, zone) = (name(here), TimeZone::system());
    let links = Links::File(BTreeSet::new());
    let frame =
        PageLayout { project: &project, zone: &zone, now: sight.now, may_write: false, again_after: None, links };
    let text = everything.html(&frame);
    if args.html.as_os_str() == "-" {
        let written = io::stdout().lock().write_all(text.as_bytes());
        written.or_else(|error| if error.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(error) })
    } else {
        fs::write(&args.html, text)
    }
    .map_err(Trouble::internal("write the report"))?;
    Ok(Exit::Success)
}

fn everything(sight: &Sight) -> Result<SingleFileReport, Trouble> {
    let inbox = sight.inbox(1, false)?;
    let mut causes = Vec::new();
    let mut keys: Vec<i64> = Vec::new();
    for cause in &inbox.causes {
        causes.extend(sight.cause_page(&cause.id)?);
    }
    for concern in causes.iter().flat_map(|page| &page.cause.tests) {
        if !keys.contains(&concern.key) && keys.len() < TESTS {
            keys.push(concern.key);
        }
    }
    let mut concerned = Vec::new();
    for key in keys {
        concerned.extend(sight.test(TestKey(key))?);
    }
    let list = runs::list(sight, 1)?;
    let mut pages = Vec::new();
    for run in &list.runs {
        pages.extend(runs::page(sight, &run.head.id)?);
    }
    Ok(SingleFileReport { inbox, causes, concerned, run_count: list.pages.total, runs: pages })
}
