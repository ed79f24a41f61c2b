use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// How finely it is told what a test executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Granularity {
    #[default]
    File,
    Function,
}

/// Everything of the project that an attempt depended on, rather too much than too little. Paths are relative to `root` and
/// parted by `/`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dependencies {
    pub root: PathBuf,
    /// Files whose code ran, with the functions that were entered; None: any of them.
    pub executed: BTreeMap<String, Option<BTreeSet<String>>>,
    /// Other files that were opened or looked at.
    pub read: BTreeSet<String>,
    /// Files and directories that were made, changed or removed.
    pub written: BTreeSet<String>,
    /// Directories whose entries were listed.
    pub listed: BTreeSet<String>,
    /// Directories that were looked at, not into.
    pub looked: BTreeSet<String>,
    /// Paths that were looked for in vain.
    pub missed: BTreeSet<String>,
    /// By directory: names of modules that were looked for in it.
    pub searched: BTreeMap<String, BTreeSet<String>>,
    /// Variables of the environment that were read; `*`: all of them.
    pub variables: BTreeSet<String>,
    /// Programs that were started.
    pub programs: BTreeSet<String>,
    /// What was used outside of `root` and is not installed, by absolute paths. No revision knows of it.
    pub outside: BTreeSet<String>,
    /// By path: the line that led to it first, such as `tests/test_cart.py:12`.
    pub via: BTreeMap<String, String>,
    /// How many attempts its process had made before. What those left behind is not told here.
    pub after: u32,
    /// What could not be followed, in words. As long as there is one, nobody may say that a change does not matter.
    pub unknown: Vec<String>,
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
    /// How many files of the project it ran or read.
    pub fn files(&self) -> usize {
        let read = self.read.iter().filter(|path| !self.executed.contains_key(*path)).count();
        self.executed.len() + read
    }
}
