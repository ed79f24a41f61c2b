//! Options of `unflake completions`.

use std::ffi::OsString;

use clap::{Args, ValueEnum};

use crate::args::help::long_help;
use crate::exit::Exit;

#[derive(Debug, Args)]
#[command(after_long_help = after_help())]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub(crate) shell: CompletionShell,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub(crate) enum CompletionShell {
    Bash,
    Zsh,
    Fish,
}

/// What the scripts ask for at each key press.
#[derive(Debug, Args)]
pub(crate) struct CompleteArgs {
    /// The number of the word to complete; `unflake` is 0.
    pub(crate) index: usize,

    #[arg(last = true)]
    pub(crate) words: Vec<OsString>,
}

fn after_help() -> String {
    let examples = [
        ("source <(unflake completions bash)", "In ~/.bashrc: complete commands, options and tests."),
        ("source <(unflake completions zsh)", "In ~/.zshrc, after compinit."),
        ("unflake completions fish | source", "In ~/.config/fish/config.fish."),
    ];
    long_help(&examples, &[(Exit::Success, "the script is printed")], &[Exit::Usage])
}
