//! `unflake report`: HTML, a review comment, an issue, and feedback on findings.

mod comment;
mod feedback;
mod issue;

use crate::args::report::ReportCommand;
use crate::commands::serve;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit::Exit;

pub(crate) fn run(command: ReportCommand, context: &Context) -> Result<Exit, CommandError> {
    match command {
        ReportCommand::Html(args) => serve::file::run(args, context),
        ReportCommand::Comment(args) => comment::run(args, context),
        ReportCommand::Issue(args) => issue::run(args, context),
        ReportCommand::Feedback(args) => feedback::run(args, context),
    }
}
