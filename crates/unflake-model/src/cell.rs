use serde::{Deserialize, Serialize};

/// A piece of state that tests left different from what it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// How to reach it, as a person would write it: `shop.registry._handlers['x']`, `os.environ['TZ']`.
    pub path: String,
    /// What sort of state it is, in a word or two: `module global`, `environment variable`, `file`.
    pub kind: String,
    /// What it was and what it is now, shortened. None: it was not there, or is gone.
    pub before: Option<String>,
    pub after: Option<String>,
    /// Why it cannot be put back. None: it can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixed: Option<String>,
    /// Where it was written, if that was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<WriteSite>,
}

/// The line that wrote a cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteSite {
    pub file: String,
    /// Counted from 1.
    pub line: u32,
    pub function: String,
}
