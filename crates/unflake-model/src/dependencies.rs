//! What a test depended on: executed functions, files, variables and programs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Whether executed code is recorded by file or by function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Granularity {
    #[default]
    File,
    Function,
}

/// Everything in the project that an attempt depended on; in doubt more rather than less. Paths are relative to
/// `root` and separated by `/`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dependencies {
    pub root: PathBuf,
    /// Files whose code ran, with the entered functions; None: any of them.
    pub executed: BTreeMap<String, Option<BTreeSet<String>>>,
    /// Other files that were opened or checked.
    pub read: BTreeSet<String>,
    /// Files in which the runner looked for its configuration.
    #[serde(default)]
    pub configured: BTreeSet<String>,
    /// Files and directories that were created, changed or removed.
    pub written: BTreeSet<String>,
    /// Directories whose entries were listed.
    pub listed: BTreeSet<String>,
    /// Directories that were checked, not listed.
    pub looked: BTreeSet<String>,
    /// Paths that were looked for and missing.
    pub missed: BTreeSet<String>,
    /// By directory: module names that were searched in it.
    pub searched: BTreeMap<String, BTreeSet<String>>,
    /// Environment variables that were read; `*`: all.
    pub variables: BTreeSet<String>,
    /// Programs that were started.
    pub programs: BTreeSet<String>,
    /// Used files outside `root` that are not installed, by absolute path. No revision contains them.
    pub outside: BTreeSet<String>,
    /// Those of them that were created, changed or removed.
    #[serde(default)]
    pub written_outside: BTreeSet<String>,
    /// By path: the line that led there first, such as `tests/cart_test:12`.
    pub via: BTreeMap<String, String>,
    /// Earlier attempts in its process. What those left behind is not recorded here.
    pub after: u32,
    /// A hash of what was installed for the language. None: unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub installed: Option<String>,
    /// What could not be followed. While there is any, a change may matter.
    pub unknown: Vec<String>,
}

/// A file or directory that a failing attempt wrote, or tried to create, and that is there after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftFile {
    /// Absolute.
    pub path: String,
    /// It cannot be part of the project: it is outside, or git ignores it.
    pub is_leftover: bool,
}

impl Granularity {
    pub fn word(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Function => "function",
        }
    }
}

impl Dependencies {
    /// What agents report as unknown where an earlier attempt in the process may have hidden a
    /// dependency of this one, which that attempt then has.
    pub const HIDDEN_BY_EARLIER: &str = "earlier tests in its process may have hidden a dependency";

    /// Project files that it ran or read.
    pub fn files(&self) -> usize {
        let read = self.read.iter().filter(|path| !self.executed.contains_key(*path)).count();
        self.executed.len() + read
    }
}
