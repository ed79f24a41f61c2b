//! What a search covered: how much a search without findings is worth.

use serde::{Deserialize, Serialize};

/// What a technique has tried so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coverage {
    /// Tests that were to be searched.
    pub tests: u32,
    /// Tests that were tried as planned.
    pub tried: u32,
    /// Tests that cannot be tried: they are skipped, or end their process.
    pub left_out: u32,
    /// Ordered pairs of tests, where the search is about orders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pairs: Option<PairCount>,
    /// Whether everything planned was tried.
    pub complete: bool,
}

/// Ordered pairs of tests that ran directly after each other, or whose first test leaves no state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairCount {
    pub covered: u64,
    /// Those of them that did not run, because their first test leaves no state that can be seen.
    #[serde(default)]
    pub by_state: u64,
    pub of: u64,
}

/// The coverage of a search and what it took.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Searched {
    #[serde(flatten)]
    pub coverage: Coverage,
    pub sessions: u32,
    pub seconds: f64,
    /// The budget in seconds. None: unlimited.
    pub budget: Option<f64>,
}

impl Coverage {
    /// Whether too little was tried to conclude anything from an absence of findings.
    pub fn is_thin(&self) -> bool {
        let has_half_of_pairs = self.pairs.is_some_and(|pairs| 2 * pairs.covered >= pairs.of);
        !self.complete && (self.tried + self.left_out < self.tests || !has_half_of_pairs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_is_thin_below_half_of_the_pairs_or_with_tests_left() {
        let coverage = |tried, covered, complete| Coverage {
            tests: 10,
            tried,
            left_out: 0,
            pairs: Some(PairCount { covered, by_state: 0, of: 90 }),
            complete,
        };
        assert!(coverage(10, 44, false).is_thin());
        assert!(!coverage(10, 45, false).is_thin());
        assert!(coverage(9, 90, false).is_thin());
        assert!(!coverage(10, 0, true).is_thin());
    }
}
