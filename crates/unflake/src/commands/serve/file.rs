//! `unflake report html`: writes the pages into one file.

use std::collections::BTreeSet;
use std::fs;

use unflake_report::TimeZone;
use unflake_report::pages::{Links, PageLayout, SingleFileReport};
use unflake_store::TestKey;

use super::overview::Overview;
use super::views::ViewBuilder;
use super::{name, runs};
use crate::args::report::ReportHtmlArgs;
use crate::commands::quarantine::file::QuarantineFile;
use crate::config::project;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::history::{recorder, scores};
use crate::output::console::print;

/// The largest number of tests with a section of their own.
const TESTS: usize = 100;

pub(crate) fn run(args: ReportHtmlArgs, context: &Context) -> Result<Exit, CommandError> {
    let (store, here) = (scores::open(&context.store(args.store)?)?, &context.here);
    let overview = Overview::of(&store, here)?;
    let quarantine = QuarantineFile::read(&project::find(here).join(".unflake"))?;
    let views = ViewBuilder { overview: &overview, store: &store, quarantine: &quarantine, now: recorder::now() };
    let everything = everything(&views)?;
    let (project, zone) = (name(here), TimeZone::system());
    let links = Links::File(BTreeSet::new());
    let frame = PageLayout {
        project: &project,
        zone: &zone,
        now: views.now,
        may_write: false,
        user: None,
        again_after: None,
        links,
    };
    let text = everything.html(&frame);
    if args.file.as_os_str() == "-" {
        print("write the report", |out| out.write_all(text.as_bytes()))?;
    } else {
        fs::write(&args.file, text).map_err(CommandError::cannot_write(&args.file))?;
    }
    Ok(Exit::Success)
}

fn everything(views: &ViewBuilder) -> Result<SingleFileReport, CommandError> {
    let inbox = views.inbox(1, false)?;
    let mut causes = Vec::new();
    let mut keys: Vec<i64> = Vec::new();
    for cause in &inbox.causes {
        causes.extend(views.cause_page(&cause.id)?);
    }
    for concern in causes.iter().flat_map(|page| &page.cause.tests) {
        if !keys.contains(&concern.key) && keys.len() < TESTS {
            keys.push(concern.key);
        }
    }
    let mut concerned = Vec::new();
    for key in keys {
        concerned.extend(views.test(TestKey(key))?);
    }
    let list = runs::list(views, 1)?;
    let mut pages = Vec::new();
    for run in &list.runs {
        pages.extend(runs::page(views, &run.head.id)?);
    }
    Ok(SingleFileReport { inbox, causes, concerned, run_count: list.pages.total, runs: pages })
}
