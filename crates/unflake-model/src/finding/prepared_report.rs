//! A stored result of a search for where a test starts to fail.

use serde::{Deserialize, Serialize};

use crate::Finding;

/// The result of a divergence search, stored to be shown later.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PreparedReport {
    /// None: all runs ended alike, so there was nothing to compare.
    pub finding: Option<Finding>,
    /// The exit code, and its meaning: `passed in all 200 runs: nothing to compare`.
    pub exit: u8,
    pub meaning: String,
    pub passed: u32,
    pub failed: u32,
    pub timed_out: u32,
    /// Requested runs, and the maximum as long as all end alike.
    pub runs: u32,
    pub most: u32,
    pub lines_only: bool,
    pub seconds: f64,
    /// The budget was exhausted before all requested runs.
    pub cut_short: bool,
}

impl PreparedReport {
    /// Runs that ended in time.
    pub fn made(&self) -> u32 {
        self.passed + self.failed
    }
}
