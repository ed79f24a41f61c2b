//! Coverage of a search for order dependence: which ordered pairs of tests have run next to each
//! other, and so what a search without findings is worth.

use unflake_model::{Coverage, PairCount};

/// Ordered pairs of tests that have run next to each other.
#[derive(Clone, Debug, Default)]
pub(crate) struct PairCoverage {
    n: usize,
    bits: Vec<u64>,
    count: u64,
}

impl PairCoverage {
    /// Pairs of more tests than this are not counted: it takes n² bits.
    const MOST: usize = 30_000;

    pub(crate) fn new(n: usize) -> Self {
        let bits = if n <= Self::MOST { n * n } else { 0 };
        Self { n, bits: vec![0; bits.div_ceil(64)], count: 0 }
    }

    pub(crate) fn add(&mut self, before: usize, after: usize) {
        let bit = before * self.n + after;
        if before != after
            && let Some(word) = self.bits.get_mut(bit / 64)
            && *word & (1 << (bit % 64)) == 0
        {
            *word |= 1 << (bit % 64);
            self.count += 1;
        }
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    fn has(&self, before: usize, after: usize) -> bool {
        let bit = before * self.n + after;
        self.bits.get(bit / 64).is_some_and(|word| word & (1 << (bit % 64)) != 0)
    }
}

/// The coverage of a search for order dependence so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct OrderCoverage {
    pub(crate) pairs: PairCoverage,
    tests: usize,
    /// Tests that leave no state, and those that could follow them: these pairs need not run.
    harmless: Vec<usize>,
    followers: Vec<usize>,
    /// Number of tests that cannot be placed next to others: they are skipped, or end their
    /// process.
    pub(crate) left_out: usize,
    /// Number of requested tests, if only some were requested.
    pub(crate) given: Option<usize>,
    /// Whether tests run in the order of the suite only, so that of each two only one can come first.
    own_order: bool,
    /// Whether everything planned was tried.
    pub(crate) finished: bool,
}

impl OrderCoverage {
    pub(crate) fn new(tests: usize, own_order: bool) -> Self {
        Self { pairs: PairCoverage::new(tests), tests, own_order, ..Self::default() }
    }

    /// `harmless`: tests that leave no state behind, of those that can run next to others.
    pub(crate) fn need_not_follow(&mut self, harmless: &[usize], runnable: &[usize]) {
        (self.harmless, self.followers) = (harmless.to_vec(), runnable.to_vec());
    }

    /// Pairs that did not run, because their first test leaves no state.
    fn by_state(&self) -> u64 {
        let is_new = |before: usize, after: usize| before != after && !self.pairs.has(before, after);
        let after = |before: &usize| self.followers.iter().filter(|after| is_new(*before, **after)).count() as u64;
        self.harmless.iter().map(after).sum()
    }

    /// `tried`: number of tests with a known outcome alone.
    pub(crate) fn summary(&self, tried: usize) -> Coverage {
        let running = (self.tests - self.left_out) as u64;
        let possible = running * running.saturating_sub(1) / if self.own_order { 2 } else { 1 };
        let by_state = self.by_state();
        let pairs = PairCount { covered: self.pairs.count() + by_state, by_state, of: possible };
        Coverage {
            tests: self.given.unwrap_or(self.tests) as u32,
            tried: tried.saturating_sub(self.left_out) as u32,
            left_out: self.left_out as u32,
            // Requested tests run after groups of others, which pairs do not count.
            pairs: self.given.is_none().then_some(pairs),
            complete: self.finished,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_of_tests_that_run_are_counted() {
        let mut coverage = OrderCoverage::new(4, false);
        coverage.left_out = 1;
        (1..3).for_each(|at| coverage.pairs.add(at - 1, at));
        let summary = coverage.summary(4);
        assert_eq!((summary.tests, summary.tried, summary.left_out), (4, 3, 1));
        assert_eq!(summary.pairs, Some(PairCount { covered: 2, by_state: 0, of: 6 }));
        assert!(summary.is_thin());
        coverage.finished = true;
        assert!(!coverage.summary(4).is_thin());
        let of_one_order = OrderCoverage { own_order: true, ..coverage }.summary(4);
        assert_eq!(of_one_order.pairs, Some(PairCount { covered: 2, by_state: 0, of: 3 }));
    }

    #[test]
    fn pairs_after_tests_without_state_need_not_run() {
        let mut coverage = OrderCoverage::new(4, false);
        coverage.pairs.add(1, 0);
        coverage.pairs.add(0, 3);
        coverage.need_not_follow(&[1, 2], &[0, 1, 2, 3]);
        assert_eq!(coverage.summary(4).pairs, Some(PairCount { covered: 7, by_state: 5, of: 12 }));
    }

    #[test]
    fn requested_tests_have_no_pairs() {
        let mut coverage = OrderCoverage::new(3, true);
        coverage.given = Some(1);
        let summary = coverage.summary(1);
        assert_eq!((summary.tests, summary.tried, summary.pairs), (1, 1, None));
        assert!(summary.is_thin(), "nothing else says how much was tried");
    }

    #[test]
    fn a_pair_counts_once() {
        let mut pairs = PairCoverage::new(3);
        [(0, 1), (0, 1), (1, 0), (2, 2)].into_iter().for_each(|(before, after)| pairs.add(before, after));
        assert_eq!(pairs.count(), 2);
    }
}
