//! The groups of commands that `unflake --help` shows, and the finished command line.

use std::fmt::Write;

use clap::{Command, CommandFactory};

use crate::args::Cli;
use crate::args::help::{RUNS_TESTS, long_help};
use crate::exit::Exit;

/// Every command that users see, in one group each.
const GROUPS: [(&str, &[&str]); 4] = [
    ("Everyday", &["run", "why", "affected"]),
    ("Techniques", &["nio", "order", "locate", "factors", "measure", "stress", "filter"]),
    ("History", &["history", "quarantine", "serve", "token", "report"]),
    ("Tools", &["under", "replay", "trace", "doctor", "config", "demo", "completions", "man"]),
];

const AFTER_HELP: &str = "`unflake COMMAND -h` lists the options of a command, `--help` explains them.";

/// The command line, with the commands in their groups.
pub(crate) fn command_line() -> Command {
    let command = Cli::command();
    let groups = groups(&command);
    let template =
        format!("{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}{{after-help}}", groups.trim_end());
    command.help_template(template).after_help(AFTER_HELP).after_long_help(after_long_help())
}

/// One line for each command, with the group before its first one.
fn groups(command: &Command) -> String {
    let header = command.get_styles().get_header();
    let literal = command.get_styles().get_literal();
    let mut text = String::new();
    for (group, names) in GROUPS {
        for (at, name) in names.iter().enumerate() {
            let group = if at == 0 { group } else { "" };
            let about = command.find_subcommand(name).and_then(Command::get_about).map(ToString::to_string);
            let about = about.unwrap_or_default();
            let _ = writeln!(text, "{header}{group:<12}{header:#}{literal}{name:<13}{literal:#}{about}");
        }
    }
    text
}

fn after_long_help() -> String {
    let examples = [
        ("unflake demo", "See unflake work on a sample project."),
        ("unflake run -- pytest tests/", "Run your own test command, given after two dashes."),
        ("unflake why test_retry", "Find the root cause of a flaky test."),
        ("unflake -vv run -- cargo test", "Log what unflake does and why; `--color never` for plain text."),
    ];
    let own = [
        (Exit::Success, "everything passed, or only flaky tests failed"),
        (Exit::RealFailures, "at least one real failure; of searches: something was found"),
        (Exit::Incomplete, Exit::Incomplete.meaning()),
    ];
    format!("{AFTER_HELP}\n\n{}", long_help(&examples, &own, RUNS_TESTS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_visible_command_is_in_exactly_one_group() {
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let command = Cli::command();
        let mut visible: Vec<&str> =
            command.get_subcommands().filter(|one| !one.is_hide_set()).map(Command::get_name).collect();
        grouped.sort_unstable();
        visible.sort_unstable();
        assert_eq!(grouped, visible);
    }
}
