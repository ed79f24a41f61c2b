//! `unflake history prune`: removes old results.

use unflake_store::{PruneCounts, Retention};

use super::age::ago;
use crate::args::history::HistoryPruneArgs;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::history::scores;

pub(crate) fn run(args: HistoryPruneArgs, context: &Context) -> Result<Exit, CommandError> {
    let before = |option, text: &Option<String>| text.as_deref().map(|text| ago(option, text)).transpose();
    let retention = Retention {
        runs_before: before("--older-than", &args.older_than)?,
        output_before: before("--output-older-than", &args.output_older_than)?,
    };
    if retention == Retention::default() {
        return Err(CommandError::usage("nothing says what to remove")
            .hint("give --older-than 180d for whole runs, or --output-older-than 14d for what tests printed"));
    }
    let mut store = scores::open(&context.store(args.store)?)?;
    let before = store.size()?;
    let removed = store.prune(&retention, args.dry_run)?;
    if args.dry_run {
        println!("would remove {}", counts(&removed));
        return Ok(Exit::Success);
    }
    println!("removed {} from {}", counts(&removed), store.location_text());
    if removed == PruneCounts::default() {
        return Ok(Exit::Success);
    }
    store.compact()?;
    println!("  the history takes {}, before {}", megabytes(store.size()?), megabytes(before));
    Ok(Exit::Success)
}

fn counts(removed: &PruneCounts) -> String {
    let PruneCounts { runs, reports, attempts, outputs, texts: _ } = *removed;
    format!("{runs} runs with {attempts} attempts, {reports} reports, and the output of {outputs} attempts")
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}
