//! `unflake filter`: learns which assertions vary without a change, and lets those fail that a
//! reviewed file names.

pub(crate) mod assertion_log;
pub(crate) mod command;
pub(crate) mod file;
pub(crate) mod tune;

use crate::args::filter::FilterCommand;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit::Exit;

pub(crate) fn run(command: FilterCommand, context: &Context) -> Result<Exit, CommandError> {
    match command {
        FilterCommand::Learn(args) => command::learn(*args, context),
        FilterCommand::Show(args) => command::show(args, context),
        FilterCommand::Tune(args) => tune::tune(args, context),
        FilterCommand::Label(args) => tune::label(&args, &context.here),
    }
}
