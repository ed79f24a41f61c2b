//! Parses the command line. Errors of the parser are printed like all others, with a hint.

use std::env;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgMatches, Command, FromArgMatches};
use unflake_report::quote;

use crate::args::help::command_groups::command_line;
use crate::args::{Cli, ColorChoice};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::suggest;

/// The arguments of this process. Where there is nothing to run, prints what there is to say and
/// returns the exit code.
pub(crate) fn parse() -> Result<Cli, Exit> {
    let arguments: Vec<_> = env::args_os().collect();
    let words: Vec<String> = arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let mut command = command_line();
    let parsed = command.try_get_matches_from_mut(arguments);
    let cli = parsed.and_then(|found| Ok((Cli::from_arg_matches(&found)?, found)));
    let error = match cli {
        Ok((cli, found)) => match typed_as_tests(&found, &words) {
            Some(error) => error,
            None => return Ok(cli),
        },
        Err(error) => match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
                let _ = error.print();
                return Err(Exit::Success);
            }
            ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
                let _ = error.print();
                return Err(Exit::Usage);
            }
            _ => from_parser(&error, &command, &words),
        },
    };
    error.print(ColorChoice::Auto);
    Err(error.exit)
}

/// The message of the parser, with the best hint there is.
fn from_parser(error: &clap::Error, command: &Command, words: &[String]) -> CommandError {
    let text = error.render().to_string();
    let message = text.strip_prefix("error: ").unwrap_or(&text);
    // Below an empty line: tips and the usage.
    let message = message.split("\n\n").next().unwrap_or(message).trim_end();
    let (leaf, depth) = leaf(command, words);
    let hint = forgotten_dashes(error, leaf, depth, words).or_else(|| similar(error, leaf));
    let path = words[1..depth].join(" ");
    let call = if path.is_empty() { "unflake".to_owned() } else { format!("unflake {path}") };
    CommandError::usage(message).hint(hint.unwrap_or_else(|| format!("`{call} -h` lists what it takes")))
}

/// What may be meant instead of an unknown name.
fn similar(error: &clap::Error, leaf: &Command) -> Option<String> {
    if let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidSubcommand) {
        return similar_command(unknown, leaf);
    }
    let kinds = [ContextKind::SuggestedArg, ContextKind::SuggestedValue];
    kinds.into_iter().find_map(|kind| match error.get(kind)? {
        ContextValue::String(name) => Some(format!("did you mean `{name}`?")),
        ContextValue::Strings(names) => Some(format!("did you mean `{}`?", names.first()?)),
        _ => None,
    })
}

/// A command of a group with just that name, or one with a similar name.
fn similar_command(unknown: &str, leaf: &Command) -> Option<String> {
    let visible = || leaf.get_subcommands().filter(|one| !one.is_hide_set());
    let below = visible().find(|group| group.find_subcommand(unknown).is_some());
    match below {
        Some(group) => Some(format!("did you mean `{} {unknown}`?", group.get_name())),
        None => suggest::did_you_mean(unknown, visible().map(Command::get_name)),
    }
}

/// The command that was called, and the number of words that name it.
fn leaf<'a>(command: &'a Command, words: &[String]) -> (&'a Command, usize) {
    let mut leaf = (command, 1);
    for (at, word) in words.iter().enumerate().skip(1) {
        match leaf.0.find_subcommand(word) {
            Some(called) => leaf = (called, at + 1),
            None if word.starts_with('-') => {}
            None => break,
        }
    }
    leaf
}

/// The corrected call where the test command was given without `--` before it.
fn forgotten_dashes(error: &clap::Error, leaf: &Command, depth: usize, words: &[String]) -> Option<String> {
    if words.iter().any(|word| word == "--") {
        return None;
    }
    let unknown = match error.get(ContextKind::InvalidArg).or_else(|| error.get(ContextKind::InvalidSubcommand))? {
        ContextValue::String(word) => word,
        _ => return None,
    };
    let at = depth + words[depth..].iter().position(|word| word == unknown)?;
    if error.kind() == ErrorKind::InvalidSubcommand {
        let is_command = depth == 1 && unflake_runners::recognizes(&words[at..]);
        return is_command
            .then(|| format!("give your test command after two dashes: `unflake run -- {}`", quoted(&words[at..])));
    }
    if error.kind() != ErrorKind::UnknownArgument || !leaf.get_positionals().any(clap::Arg::is_last_set) {
        return None;
    }
    let begins = |at: &usize| !words[*at].starts_with('-') && unflake_runners::recognizes(&words[*at..]);
    let is_option = unknown.starts_with('-');
    let start = [at].into_iter().chain(depth..at).find(begins);
    Some(corrected(words, start.or_else(|| (!is_option).then_some(at))?))
}

/// The error where the names of tests are a test command.
fn typed_as_tests(found: &ArgMatches, words: &[String]) -> Option<CommandError> {
    let mut leaf = found;
    while let Some((_, called)) = leaf.subcommand() {
        leaf = called;
    }
    if words.iter().any(|word| word == "--") {
        return None;
    }
    let names = ["tests", "test"].into_iter().find_map(|id| leaf.try_get_many::<String>(id).ok().flatten());
    let names: Vec<String> = names?.cloned().collect();
    let start = words.iter().position(|word| *word == names[0])?;
    let error = || CommandError::usage(format!("`{}` is a test command and not the name of a test", quoted(&names)));
    unflake_runners::recognizes(&names).then(|| error().hint(corrected(words, start)))
}

/// The call with `--` before the word at `start`.
fn corrected(words: &[String], start: usize) -> String {
    let (before, command) = words[1..].split_at(start - 1);
    format!("give your test command after two dashes: `unflake {} -- {}`", quoted(before), quoted(command))
}

fn quoted(words: &[String]) -> String {
    words.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ")
}
