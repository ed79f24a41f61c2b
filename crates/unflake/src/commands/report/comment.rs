//! `unflake report comment`: writes a comment on a change that touches code which flaky tests run through.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

use unflake_model::{Dependencies, TestId};
use unflake_report::{self as report, FlakyTest};
use unflake_store::LearnedDependencies;
use unflake_techniques::touched_paths;

use crate::args::options::groups::CommandArgs;
use crate::args::report::ReportCommentArgs;
use crate::config::project;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::history::scores;
use crate::history::test_knowledge::KnowledgeBase;
use crate::project::comparison::ComparisonBase;

pub(crate) fn run(args: ReportCommentArgs, context: &Context) -> Result<Exit, CommandError> {
    let settings = context.settings(args.settings, CommandArgs::default())?;
    let granularity = settings.granularity.value.unwrap_or_default();
    let (_, changes) = ComparisonBase::changes(&settings, &context.here)?;

    let location = &settings.store.value;
    let store = scores::open(location)?;
    let knowledge = KnowledgeBase::open(&store, &location.dir, &context.here, args.main_branch.name.as_deref())?;
    let learned: HashMap<TestId, LearnedDependencies> =
        store.dependencies()?.into_iter().map(|one| (one.test.clone(), one)).collect();
    let flaky = knowledge.flaky(args.min_score);
    let mut tests: Vec<FlakyTest> = Vec::new();
    let mut unknown = 0;
    for row in &flaky {
        let test = TestId::new(&row.test);
        let Some(learned) = learned.get(&test) else {
            unknown += 1;
            continue;
        };
        let mut on = learned.on.clone();
        // Dependencies may have been learned in another copy of the project.
        if !on.root.starts_with(&changes.root) {
            on = Dependencies { root: project::find(&context.here), ..on };
        }
        let touched = touched_paths(&changes, &on, granularity);
        if !touched.is_empty() {
            tests.push(FlakyTest { touched, ..knowledge.of(&test)? });
        }
    }
    let base = &changes.base;
    let revision = base.revision.get(..10).unwrap_or(&base.revision);
    let against = format!("{revision}, {}", base.chosen.words());
    let mut text = Vec::new();
    report::comment(&tests, &against, &mut text).map_err(CommandError::internal("write the comment"))?;
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

/// Writes a text to the file that the user named, else to standard output.
pub(crate) fn deliver(to: Option<&Path>, text: &[u8]) -> Result<(), CommandError> {
    match to {
        Some(path) => fs::write(path, text).map_err(CommandError::cannot_write(path)),
        None => {
            // A reader that has gone away (`| head`) is no error.
            let _ = io::stdout().write_all(text).and_then(|()| io::stdout().flush());
            Ok(())
        }
    }
}
