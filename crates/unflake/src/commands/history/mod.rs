//! `unflake history`: shows, imports, scores, copies, merges, exports and removes test
//! results.

mod age;
mod copy;
mod export;
mod import;
mod merge;
mod prune;
pub(crate) mod score;
pub(crate) mod show;

use crate::args::history::HistoryCommand;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit::Exit;

pub(crate) fn run(command: HistoryCommand, context: &Context) -> Result<Exit, CommandError> {
    match command {
        HistoryCommand::Show(args) => show::run(args, context),
        HistoryCommand::Import(args) => import::run(args, context),
        HistoryCommand::Score(args) => score::run(args, context),
        HistoryCommand::Copy(args) => copy::run(&args, context),
        HistoryCommand::Merge(args) => merge::run(args, context),
        HistoryCommand::Prune(args) => prune::run(args, context),
        HistoryCommand::Export(args) => export::run(args, context),
    }
}
