use serde::{Deserialize, Serialize};

use crate::Finding;

/// What a search for where a test starts to fail came to, kept for whoever asks later.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PreparedReport {
    /// None: there was nothing to compare, because all runs ended alike.
    pub finding: Option<Finding>,
    /// How unflake left, and why in words: `passed in all 200 runs: nothing to compare`.
    pub exit: u8,
    pub meaning: String,
    pub passed: u32,
    pub failed: u32,
    pub timed_out: u32,
    /// How many runs were wanted, and how many at most as long as all end alike.
    pub runs: u32,
    pub most: u32,
    pub lines_only: bool,
    pub seconds: f64,
    /// The time was over before all runs that were wanted had been made.
    pub cut_short: bool,
}

impl PreparedReport {
    /// Runs that came to an end in time.
    pub fn made(&self) -> u32 {
        self.passed + self.failed
    }
}
