//! Checks of every command: its options, and how much `-h` and `--help` say.

use clap::{Arg, Command};

use crate::args::help::command_groups::command_line;

const SHORT_HELP_LINES: usize = 30;
/// The narrowest usual terminal.
const SHORT_HELP_COLUMNS: usize = 80;
const ONE_LINE: usize = 70;

/// Every visible command with its options. A new option is added here on purpose, after a look at
/// whether the command uses it.
const OPTIONS: &[(&str, &str)] = &[
    ("unflake", ""),
    (
        "unflake run",
        "affected at-end base classpath-file filter flaky-result fresh fresh-by full github gitlab \
         granularity immediate jobs json junit markdown never-excuse new-processes one-test output-limit private \
         private-keep quiet results rule runner-output sarif shard shard-group store test-classes threshold timeout too-many verify-base",
    ),
    (
        "unflake why",
        "all classpath-file engine for fresh-by full github gitlab is-fixed jobs json junit markdown \
         one-test output-limit quiet rate results sarif store test-classes timeout",
    ),
    (
        "unflake affected",
        "base classpath-file format granularity jobs learn null one-test output-limit results store \
         test-classes timeout why",
    ),
    (
        "unflake nio",
        "base changed classpath-file engine for fresh-by full github gitlab jobs json junit markdown \
         mode no-state output-limit quiet sarif shard shard-group store test-classes thorough timeout",
    ),
    (
        "unflake order",
        "classpath-file engine for fresh-by full github gitlab jobs json junit markdown no-state \
         output-limit quiet random sarif seed store test-classes thorough timeout",
    ),
    (
        "unflake locate",
        "again all classpath-file engine for fresh-by full github gitlab html jobs json junit lines-only \
         main-branch markdown max-runs min-score output-limit private private-keep quiet runs sarif \
         store test-classes timeout",
    ),
    (
        "unflake factors",
        "classpath-file engine factor for fresh-by full github gitlab html jobs json junit layer \
         markdown max-runs one-test output-limit quiet results resume sarif store test-classes timeout \
         together",
    ),
    (
        "unflake measure",
        "classpath-file configuration engine for fresh-by full github gitlab html jobs json junit layer \
         markdown no-rule one-test output-limit quiet results runs sarif seed shard shard-group store table \
         test-classes timeout",
    ),
    (
        "unflake stress",
        "classpath-file engine for fresh-by full github gitlab jobs json junit markdown max-runs \
         one-test output-limit private private-keep quiet results sarif store test-classes timeout",
    ),
    ("unflake filter", ""),
    (
        "unflake filter learn",
        "classpath-file dry-run expires file fresh-by full github gitlab jobs json junit markdown \
         output-limit quiet rule runs sarif store test-classes timeout",
    ),
    ("unflake filter show", "file limit store"),
    ("unflake filter tune", "file html json labels rule store write"),
    ("unflake filter label", "labels"),
    ("unflake history", ""),
    ("unflake history show", "limit store"),
    ("unflake history import", "at branch ci-attempt ci-run job quiet revision store"),
    ("unflake history score", "all json limit main-branch min-score store"),
    ("unflake history copy", ""),
    ("unflake history merge", "full github gitlab json junit markdown quiet sarif shard-group store"),
    ("unflake history prune", "dry-run older-than output-older-than store"),
    ("unflake history export", "newer-than store"),
    ("unflake quarantine", ""),
    ("unflake quarantine list", "store"),
    ("unflake quarantine add", "days issue owner reason skip store"),
    ("unflake quarantine remove", ""),
    ("unflake serve", "listen port store tls-cert tls-key trusted-proxy url user-header writer"),
    ("unflake token", ""),
    ("unflake token create", "days role store"),
    ("unflake token list", "store"),
    ("unflake token revoke", "store"),
    ("unflake report", ""),
    ("unflake report html", "store"),
    ("unflake report comment", "base granularity main-branch min-score store to"),
    ("unflake report issue", "main-branch store to"),
    ("unflake report feedback", "store why"),
    (
        "unflake under",
        "address-seed collection-order cores date delays forced-value hash-seed interpreter listing load locale \
         memory network open-files private quiet random-seed reflection-order schedule seed speed state \
         switch-interval time-zone variable without world",
    ),
    (
        "unflake replay",
        "at-once classpath-file fresh-by full github gitlab json junit markdown one-test order output-limit quiet \
         results sarif store test-classes timeout under",
    ),
    ("unflake trace", "classpath-file files output-limit store test-classes timeout"),
    ("unflake doctor", "classpath-file engine factors one-test results store test-classes"),
    ("unflake config", "init json"),
    ("unflake demo", "keep python"),
    ("unflake completions", ""),
    ("unflake man", ""),
];

/// Options that every command has.
const GLOBAL: [&str; 4] = ["color", "help", "verbose", "version"];

/// All visible commands and subcommands, by path.
fn commands() -> Vec<(String, Command)> {
    fn walk(path: &str, command: &Command, found: &mut Vec<(String, Command)>) {
        found.push((path.to_owned(), command.clone()));
        for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
            walk(&format!("{path} {}", below.get_name()), below, found);
        }
    }
    let mut found = Vec::new();
    crate::commands::under::declare_all();
    let mut command = command_line().term_width(SHORT_HELP_COLUMNS);
    command.build();
    walk("unflake", &command, &mut found);
    found
}

fn options(command: &Command) -> String {
    let mut names: Vec<&str> = command.get_arguments().filter_map(Arg::get_long).collect();
    names.retain(|name| !GLOBAL.contains(name));
    names.sort_unstable();
    names.join(" ")
}

#[test]
fn the_parser_accepts_the_declarations() {
    command_line().debug_assert();
}

#[test]
fn commands_have_exactly_the_options_that_they_use() {
    let found: Vec<(String, String)> = commands().iter().map(|(path, one)| (path.clone(), options(one))).collect();
    let expected: Vec<(String, String)> =
        OPTIONS.iter().map(|(path, options)| ((*path).to_owned(), (*options).to_owned())).collect();
    assert_eq!(found, expected);
}

#[test]
fn short_help_fits_on_a_screen() {
    for (path, mut command) in commands() {
        let help = command.render_help().to_string();
        let lines = help.trim_end().lines().count();
        assert!(lines <= SHORT_HELP_LINES, "`{path} -h` has {lines} lines:\n{help}");
        for line in help.lines() {
            assert!(line.chars().count() <= SHORT_HELP_COLUMNS, "`{path} -h` has a long line:\n{line}");
        }
    }
}

#[test]
fn each_help_text_is_one_line() {
    for (path, command) in commands() {
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        assert!((1..=ONE_LINE).contains(&about.chars().count()), "{path}: {about}");
        for argument in command.get_arguments().filter(|one| !one.is_hide_set()) {
            let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
            let text = help.split(" [default").next().unwrap_or_default();
            assert!((1..=ONE_LINE).contains(&text.chars().count()), "{path} {}: {text}", argument.get_id());
        }
    }
}

#[test]
fn long_help_has_examples_and_exit_codes() {
    for (path, mut command) in commands() {
        let help = command.render_long_help().to_string();
        if path == "unflake" || !command.has_subcommands() {
            assert!(help.contains("Examples:\n"), "`{path} --help` has no examples");
            assert!(help.contains("Exit codes:\n"), "`{path} --help` has no exit codes");
            let examples = help.split("Examples:\n").nth(1).and_then(|rest| rest.split("\n\n").next()).unwrap();
            let count = examples.lines().filter(|line| !line.starts_with("     ")).count();
            assert!((2..=4).contains(&count), "`{path} --help` has {count} examples:\n{examples}");
        }
    }
}

/// The examples of help texts are commands that the parser accepts.
#[test]
fn examples_can_be_parsed() {
    for (path, mut command) in commands() {
        let help = command.render_long_help().to_string();
        let Some(examples) = help.split("Examples:\n").nth(1) else { continue };
        let examples = examples.split("\n\n").next().unwrap();
        for line in examples.lines().filter(|line| line.starts_with("  unflake ")) {
            let words = shell_words(line.split([';', '|', '>']).next().unwrap());
            let parsed = command_line().try_get_matches_from(words);
            assert!(parsed.is_ok(), "{path}: `{}`: {}", line.trim(), parsed.unwrap_err());
        }
    }
}

/// Splits at blanks outside of single quotes.
fn shell_words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for (at, part) in line.trim().split('\'').enumerate() {
        if at % 2 == 1 {
            words.last_mut().unwrap().push_str(part);
        } else {
            let mut pieces = part.split(' ');
            words.last_mut().unwrap().push_str(pieces.next().unwrap());
            words.extend(pieces.map(str::to_owned));
        }
    }
    words.retain(|word| !word.is_empty());
    words
}
