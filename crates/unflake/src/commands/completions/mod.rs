//! `unflake completions`: scripts for shells, and the candidates that they ask for at each key press.

use std::env;

use crate::args::completions::{CompleteArgs, CompletionShell, CompletionsArgs};
use crate::args::help::command_groups::command_line;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::output::console::print;

pub(crate) fn run(args: &CompletionsArgs) -> Result<Exit, CommandError> {
    let script = match args.shell {
        CompletionShell::Bash => include_str!("unflake.bash"),
        CompletionShell::Zsh => include_str!("unflake.zsh"),
        CompletionShell::Fish => include_str!("unflake.fish"),
    };
    print("print the script", |out| out.write_all(script.as_bytes()))?;
    Ok(Exit::Success)
}

/// One candidate on each line: the word, a tab, and what it means.
pub(crate) fn complete(args: CompleteArgs) -> Result<Exit, CommandError> {
    let here = env::current_dir().ok();
    let found = clap_complete::engine::complete(&mut command_line(), args.words, args.index, here.as_deref());
    print("print the candidates", |out| {
        for candidate in found.unwrap_or_default() {
            let word = candidate.get_value().to_string_lossy();
            // A line break would make two candidates of it.
            if candidate.is_hide_set() || word.contains(['\n', '\t']) {
                continue;
            }
            let meaning = candidate.get_help().map(ToString::to_string).unwrap_or_default();
            writeln!(out, "{word}\t{}", meaning.lines().next().unwrap_or_default())?;
        }
        Ok(())
    })?;
    Ok(Exit::Success)
}
