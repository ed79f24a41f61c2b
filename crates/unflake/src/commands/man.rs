//! `unflake man`: manual pages made from the command line.

use std::fs;
use std::io;
use std::path::Path;

use clap::Command;
use clap_mangen::Man;

use crate::args::help::command_groups::command_line;
use crate::args::man::ManArgs;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::output::console::print;

pub(crate) fn run(args: &ManArgs) -> Result<Exit, CommandError> {
    let mut command = command_line();
    command.build();
    match &args.directory {
        None => print("print the manual page", |out| Man::new(command).render(out))?,
        Some(directory) => {
            let written = fs::create_dir_all(directory).and_then(|()| write_pages(&command, "unflake", directory));
            written.map_err(CommandError::cannot_write(directory))?;
        }
    }
    Ok(Exit::Success)
}

/// Writes the page of a command and of all visible commands below it.
fn write_pages(command: &Command, name: &str, directory: &Path) -> io::Result<()> {
    let mut page = Vec::new();
    Man::new(command.clone().display_name(name.to_owned())).title(name.to_uppercase()).render(&mut page)?;
    fs::write(directory.join(format!("{name}.1")), page)?;
    for below in command.get_subcommands().filter(|one| !one.is_hide_set()) {
        write_pages(below, &format!("{name}-{}", below.get_name()), directory)?;
    }
    Ok(())
}
