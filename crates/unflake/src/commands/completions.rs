//! `unflake completions`: prints a completion script for a shell.

use std::io;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Cli;
use crate::error::CommandError;
use crate::exit::Exit;

pub(crate) fn run(shell: Shell) -> Result<Exit, CommandError> {
    clap_complete::generate(shell, &mut Cli::command(), "unflake", &mut io::stdout());
    Ok(Exit::Success)
}
