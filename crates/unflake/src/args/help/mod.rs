//! What `--help` says beyond the options: examples and exit codes.

pub(crate) mod command_groups;

use std::fmt::Write;

use crate::exit::Exit;

/// The further exit codes of commands that run tests.
pub(crate) const RUNS_TESTS: &[Exit] = &[Exit::Usage, Exit::Runner, Exit::NoTests, Exit::Internal, Exit::Interrupted];
/// The further exit codes of commands that only read or write files.
pub(crate) const READS: &[Exit] = &[Exit::Usage, Exit::Internal];

/// Examples with what they do, then exit codes: `own` with their meanings in this command, `further`
/// with their general ones.
pub(crate) fn long_help(examples: &[(&str, &str)], own: &[(Exit, &str)], further: &[Exit]) -> String {
    let mut text = "Examples:\n".to_owned();
    for (command, meaning) in examples {
        let _ = writeln!(text, "  {command}\n      {meaning}");
    }
    text.push_str("\nExit codes:\n");
    let further = further.iter().map(|exit| (*exit, exit.meaning()));
    let mut exits: Vec<(Exit, &str)> = own.iter().copied().chain(further).collect();
    exits.sort_by_key(|(exit, _)| exit.code());
    for (exit, meaning) in exits {
        let _ = writeln!(text, "  {:>3}  {meaning}", exit.code());
    }
    text.truncate(text.trim_end().len());
    text
}
