//! `unflake report issue`: writes the text of an issue about the cause of a flaky test.

use unflake_model::{Detail, TestId};
use unflake_report::{self as report, FlakyTest};

use crate::args::report::ReportIssueArgs;
use crate::commands::report::comment::deliver;
use crate::commands::report::feedback;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::history::scores;
use crate::history::test_knowledge::KnowledgeBase;

pub(crate) fn run(args: ReportIssueArgs, context: &Context) -> Result<Exit, CommandError> {
    let location = context.store(args.store)?;
    let store = scores::open(&location)?;
    let knowledge = KnowledgeBase::open(&store, &location.dir, &context.here, args.main_branch.name.as_deref())?;
    let test = match feedback::find(&store, &args.what)? {
        Some(stored) => stored.finding.test,
        None => {
            let tests = store.find_tests(&args.what)?;
            match &tests[..] {
                [test] => test.clone(),
                tests => {
                    let (matching, known) =
                        (tests.iter().map(TestId::as_str).collect::<Vec<_>>(), store.find_tests("")?);
                    return Err(CommandError::not_one_test(&args.what, &matching, known.iter().map(TestId::as_str)));
                }
            }
        }
    };
    let first = knowledge.of(&test)?;
    let best = first.findings.first().filter(|known| known.feedback.is_none()).map(|known| known.finding.clone());
    let others = best.iter().flat_map(|finding| knowledge.others_with(finding));
    let mut tests: Vec<FlakyTest> = others.map(|test| knowledge.of(&test)).collect::<Result<_, _>>()?;
    tests.insert(0, first);
    let starts = match best.as_ref().map(|finding| &finding.detail) {
        Some(Detail::Divergence(divergence)) => divergence.locations.first().map(|start| start.line.file.clone()),
        _ => None,
    };
    let owner = starts.map(|file| knowledge.owners.of(&file).to_owned());
    let mut text = Vec::new();
    report::issue(&tests, owner.as_deref(), &mut text).map_err(CommandError::internal("write the issue"))?;
    deliver(args.to.as_deref(), &text)?;
    Ok(Exit::Success)
}
