//! State that tests leave behind.

use serde::{Deserialize, Serialize};

/// A piece of state that tests changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// The access path: `shop.registry._handlers['x']`, `os.environ['TZ']`.
    pub path: String,
    /// The kind of state: `module global`, `environment variable`, `file`.
    pub kind: String,
    /// The values before and after, shortened. None: absent.
    pub before: Option<String>,
    pub after: Option<String>,
    /// Why it cannot be restored. None: it can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixed: Option<String>,
    /// Where it was written, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<WriteSite>,
    /// Shared set-up made this change, which the tests that need it expect.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub set_up: bool,
    /// The instrument itself restores it before the tests, because it could not compare otherwise,
    /// unless `Probe::bare` says no.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub preset: bool,
    /// Where an object was replaced by another of its kind: the parts in which they differ. Each can
    /// be restored instead of the whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inside: Vec<Cell>,
}

/// The line that wrote the cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteSite {
    pub file: String,
    /// Counted from 1.
    pub line: u32,
    pub function: String,
}
