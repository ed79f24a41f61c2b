//! `unflake issue`: the text of an issue about the cause of a flaky test.

use std::path::Path;

use unflake_model::{Detail, TestId};
use unflake_report::{self as report, FlakyTest};
use unflake_store::StoreLocation;

use crate::args::IssueArgs;
use crate::commands::comment::deliver;
use crate::commands::feedback;
use crate::commands::trace::not_one;
use crate::error::Trouble;
use crate::test_knowledge::Book;
use crate::test_scores;

pub(crate) fn write(args: &IssueArgs, place: &StoreLocation, here: &Path) -> Result<(), Trouble> {
    let store = test_scores::open(place)?;
    let book = Book::open(&store, &place.dir, here, args.main.as_deref())?;
    let test = match feedback::find(&store, &args.what)? {
        Some(said) => said.finding.test,
        None => {
            let tests = store.find_tests(&args.what)?;
            match &tests[..] {
                [test] => test.clone(),
                tests => return Err(not_one(&args.what, &tests.iter().map(TestId::as_str).collect::<Vec<_>>())),
            }
        }
    };
    let first = book.of(&test)?;
    let best = first.findings.first().filter(|known| known.feedback.is_none()).map(|known| known.finding.clone());
    let others = best.iter().flat_map(|finding| book.others_with(finding));
    let mut tests: Vec<FlakyTest> = others.map(|test| book.of(&test)).collect::<Result<_, _>>()?;
    tests.insert(0, first);
    let starts = match best.as_ref().map(|finding| &finding.detail) {
        Some(Detail::Divergence(divergence)) => divergence.locations.first().map(|start| start.line.file.clone()),
        _ => None,
    };
    let owner = starts.map(|file| book.owners.of(&file).to_owned());
    let mut text = Vec::new();
    report::issue(&tests, owner.as_deref(), &mut text).map_err(Trouble::internal("write the issue"))?;
    deliver(args.to.as_deref(), &text)
}
