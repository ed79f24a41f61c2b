//! `unflake store`: a history from one place to another.

use std::env;
use std::path::Path;

use unflake_store::{Store, StoreLocation};

use crate::args::history::StoreCommand;
use crate::config::project;
use crate::error::Trouble;

pub(crate) fn obey(what: &StoreCommand, here: &Path) -> Result<(), Trouble> {
    let StoreCommand::Copy { from, to } = what;
    let (from, to) = (place("FROM", from, here)?, place("TO", to, here)?);
    if from == to {
        return Err(
            Trouble::usage("both are the same history").hint("name the place to copy from, then the place to copy to")
        );
    }
    let Some(source) = Store::find(&from)? else {
        return Err(Trouble::usage(format!("there is no history in {from}")).hint(
            "a directory such as .unflake, or postgres://USER@HOST/DATABASE; `unflake settings` prints the one that is in use",
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
    Ok(())
}

/// What cannot be used is not repeated: there may be a password in it.
fn place(which: &str, text: &str, here: &Path) -> Result<StoreLocation, Trouble> {
    let beside = project::find(here).join(".unflake");
    StoreLocation::parse(text, &beside, &|name| env::var(name).ok())
        .map_err(|why| Trouble::usage(format!("the address {which} cannot be used: {why}")))
}
