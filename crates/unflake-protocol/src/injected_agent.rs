//! An agent that enters a runner through environment variables, as plain data.

use std::path::Path;

/// Everything the engine needs to offer an agent to a command whose runner it does not know.
#[derive(Clone, Copy, Debug)]
pub struct InjectedAgent {
    pub name: &'static str,
    /// The files are laid out in a directory of this name.
    pub directory: &'static str,
    /// Relative path and content of each file.
    pub files: &'static [(&'static str, &'static [u8])],
    /// The name of directories in which the runner keeps what it compiles from the files beside.
    pub compiled: &'static str,
    pub prepend: &'static [PrependedVariable],
}

/// Why a command ran and no agent connected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissedAgent {
    pub why: String,
    /// What the user can do.
    pub hint: String,
}

/// A value that goes in front of what an environment variable already has.
#[derive(Clone, Copy, Debug)]
pub struct PrependedVariable {
    pub name: &'static str,
    /// `{agent}` stands for the directory of the agent's files.
    pub value: &'static str,
    /// Separates the value from an older one.
    pub separator: &'static str,
}

impl PrependedVariable {
    /// The new value of the variable, given the directory of the agent's files and the old value.
    pub fn prepended(&self, directory: &Path, old: Option<&str>) -> String {
        let value = self.value.replace("{agent}", &directory.to_string_lossy());
        match old {
            Some(old) if !old.is_empty() => format!("{value}{}{old}", self.separator),
            _ => value,
        }
    }
}
