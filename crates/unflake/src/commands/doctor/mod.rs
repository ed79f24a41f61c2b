//! `unflake doctor`: checks the machine, the project and its runner; `--factors` probes every
//! factor.

mod factor_probes;
mod machines;
mod report;

use std::io::{self, Write};

use crate::args::doctor::DoctorArgs;
use crate::args::internal::TellArgs;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit::Exit;

pub(crate) fn run(args: DoctorArgs, context: &Context) -> Result<Exit, CommandError> {
    let settings = context.settings(args.settings, args.command)?;
    if args.factors {
        return factor_probes::examine(&settings.command.value);
    }
    report::examine(&settings, context)
}

/// The child process of `doctor --factors` that reports what it sees of a factor.
pub(crate) fn tell(args: &TellArgs) -> Result<Exit, CommandError> {
    let _ = writeln!(io::stdout(), "{}", factor_probes::tell(&args.word, &args.place));
    Ok(Exit::Success)
}
