//! `unflake comment`: the text for a change that touches code a flaky test runs through.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

use unflake_model::{Dependencies, TestId};
use unflake_report::{self as report, FlakyTest};
use unflake_store::LearnedDependencies;
use unflake_techniques::met;

use crate::args::CommentArgs;
use crate::commands::run::change_set::Compare;
use crate::config::project;
use crate::config::settings::Settings;
use crate::error::Trouble;
use crate::exit::Exit;
use crate::test_knowledge::Book;
use crate::test_scores;

pub(crate) fn run(args: &CommentArgs, settings: &Settings, here: &Path) -> Result<Exit, Trouble> {
    let granularity = settings.granularity.value.unwrap_or_default();
    let (_, changes) = Compare::changes(settings, here)?;

    let place = &settings.store.value;
    let store = test_scores::open(place)?;
    let book = Book::open(&store, &place.dir, here, args.main.as_deref())?;
    let learned: HashMap<TestId, LearnedDependencies> =
        store.dependencies()?.into_iter().map(|one| (one.test.clone(), one)).collect();
    let flaky = book.flaky(args.at_least);
    let mut tests: Vec<FlakyTest> = Vec::new();
    let mut unknown = 0;
    for row in &flaky {
        let test = TestId::new(&row.test);
        let Some(learned) = learned.get(&test) else {
            unknown += 1;
            continue;
        };
        let mut on = learned.on.clone();
        // It may have been learned in another copy of the project.
        if !on.root.starts_with(&changes.root) {
            on = Dependencies { root: project::find(here), ..on };
        }
        let touched = met(&changes, &on, granularity);
        if !touched.is_empty() {
            tests.push(FlakyTest { touched, ..book.of(&test)? });
        }
    }
    let base = &changes.base;
    let revision = base.revision.get(..10).unwrap_or(&base.revision);
    let against = format!("{revision}, {}", base.chosen.words());
    let mut text = Vec::new();
    report::comment(&tests, &against, &mut text).map_err(Trouble::internal("write the comment"))?;
    deliver(args.to.as_deref(), &text)?;
    if unknown > 0 {
        let _ = writeln!(
            io::stderr(),
            "  what {unknown} of {} flaky tests run through is not known: `unflake affected --learn` learns it",
            flaky.len()
        );
    }
    if tests.is_empty() {
        let what = if changes.files.is_empty() {
            "nothing changed"
        } else {
            "no flaky test is known to run through what changed"
        };
        let _ = writeln!(io::stderr(), "  {what} against {}: there is no comment to make", report::one_line(&against));
        return Ok(Exit::NoTests);
    }
    Ok(Exit::Success)
}

/// Writes a text where it is wanted.
pub(crate) fn deliver(to: Option<&Path>, text: &[u8]) -> Result<(), Trouble> {
    match to {
        Some(path) => fs::write(path, text)
            .map_err(|error| Trouble::usage(format!("{} cannot be written: {error}", path.display()))),
        None => {
            // A reader that has gone away (`| head`) is no trouble.
            let _ = io::stdout().write_all(text).and_then(|()| io::stdout().flush());
            Ok(())
        }
    }
}
