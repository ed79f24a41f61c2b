//! `unflake history copy`: copies a history to another location.

use std::env;
use std::path::Path;

use unflake_store::{Store, StoreLocation};

use crate::args::history::HistoryCopyArgs;
use crate::config::project;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit::Exit;

pub(crate) fn run(args: &HistoryCopyArgs, context: &Context) -> Result<Exit, CommandError> {
    let (from, to) = (location("FROM", &args.from, &context.here)?, location("TO", &args.to, &context.here)?);
    if from == to {
        return Err(CommandError::usage("both are the same history")
            .hint("name the place to copy from, then the place to copy to"));
    }
    let Some(source) = Store::find(&from)? else {
        return Err(CommandError::usage(format!("there is no history in {from}")).hint(
            "a directory such as .unflake, or postgres://USER@HOST/DATABASE; `unflake config` prints the one that is in use",
        ));
    };
    let mut target = Store::open(&to)?;
    let copied = target.copy_from(&source)?;
    let (runs, reports) = (target.runs(usize::MAX)?.len(), target.reports(usize::MAX)?.len());
    let new = match copied.new {
        0 => "nothing was new".to_owned(),
        new if new == copied.rows => "all of it new".to_owned(),
        new => format!("{new} of {} rows new", copied.rows),
    };
    println!("{runs} runs and {reports} reports are in {}, {new}", target.location_text());
    println!("  → {from} is as it was; `--store`, UNFLAKE_STORE or `store` in unflake.toml names the one to use");
    Ok(Exit::Success)
}

/// The error does not repeat an address: it may contain a password.
fn location(which: &str, text: &str, here: &Path) -> Result<StoreLocation, CommandError> {
    let beside = project::find(here).join(".unflake");
    StoreLocation::parse(text, &beside, &|name| env::var(name).ok()).map_err(|why| {
        CommandError::usage(format!("the address {which} cannot be used: {why}"))
            .hint("give a directory, or postgres://USER@HOST/DATABASE")
    })
}
