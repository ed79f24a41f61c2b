//! Coverage of a search for order dependence: which ordered pairs of tests have run next to each
//! other, and so what a search without findings is worth.

use std::fmt;

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
}

/// What has been covered so far. Displayed as a sentence.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    pub(crate) pairs: PairCoverage,
    pub tests: usize,
    /// Number of executed orders.
    pub orders: u32,
    /// Number of tests that cannot be placed next to others: they are skipped, or end their
    /// process.
    pub left_out: usize,
    /// Number of requested tests, if only some were requested.
    pub given: Option<usize>,
    /// Seed of the random orders.
    pub seed: u64,
    /// Whether everything planned was tried.
    pub finished: bool,
}

impl Coverage {
    pub(crate) fn new(tests: usize, seed: u64) -> Self {
        Self { pairs: PairCoverage::new(tests), tests, seed, ..Self::default() }
    }

    /// Number of ordered pairs that have run next to each other, and of all pairs.
    pub fn pairs(&self) -> (u64, u64) {
        let running = (self.tests - self.left_out) as u64;
        (self.pairs.count(), self.given.map_or(running, |given| given as u64) * running.saturating_sub(1))
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (covered, of) = self.pairs();
        let orders = match self.orders {
            1 => "1 order".to_owned(),
            orders => format!("{} orders", thousands(orders.into())),
        };
        if self.given.is_some() && self.orders == 0 {
            return write!(
                f,
                "it took no further orders: what was named was run alone and after groups of other tests"
            );
        }
        match (covered == of, self.given) {
            (true, Some(1)) => write!(f, "every other test has been run right before it")?,
            (true, Some(_)) => write!(f, "every other test has been run right before each of them")?,
            (true, None) => {
                let tests = thousands((self.tests - self.left_out) as u64);
                write!(f, "each of {tests} tests has been run right after every other")?;
            }
            (false, _) => {
                let share = covered as f64 * 100.0 / of as f64;
                let (covered, of) = (thousands(covered), thousands(of));
                write!(f, "{covered} of {of} ordered pairs of tests have been run next to each other ({share:.1} %)")?;
            }
        }
        write!(f, ", in {orders} (seed {})", self.seed)?;
        if self.left_out > 0 {
            write!(f, "; left out: {} that are skipped or end their process", thousands(self.left_out as u64))?;
        }
        if covered < of && !self.finished { write!(f, "; for the rest there was no time") } else { Ok(()) }
    }
}

/// Groups digits by thousands.
fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uncovered_pairs_are_reported() {
        let mut coverage = Coverage::new(1000, 7);
        coverage.orders = 1;
        (1..1000).for_each(|at| coverage.pairs.add(at - 1, at));
        assert_eq!(
            coverage.to_string(),
            "999 of 999,000 ordered pairs of tests have been run next to each other (0.1 %), in 1 order (seed 7); for the rest there was no time"
        );
        coverage.finished = true;
        assert!(coverage.to_string().ends_with("(seed 7)"));
    }

    #[test]
    fn only_pairs_with_requested_tests_count() {
        let mut coverage = Coverage::new(3, 0);
        coverage.given = Some(1);
        assert!(coverage.to_string().starts_with("it took no further orders"));
        coverage.orders = 2;
        coverage.pairs.add(0, 1);
        coverage.finished = true;
        assert_eq!(
            coverage.to_string(),
            "1 of 2 ordered pairs of tests have been run next to each other (50.0 %), in 2 orders (seed 0)"
        );
        coverage.pairs.add(2, 1);
        assert_eq!(coverage.to_string(), "every other test has been run right before it, in 2 orders (seed 0)");
    }

    #[test]
    fn full_coverage_is_reported() {
        let mut coverage = Coverage::new(2, 0);
        coverage.orders = 2;
        coverage.pairs.add(0, 1);
        coverage.pairs.add(1, 0);
        assert_eq!(coverage.to_string(), "each of 2 tests has been run right after every other, in 2 orders (seed 0)");
    }

    #[test]
    fn a_pair_counts_once() {
        let mut pairs = PairCoverage::new(3);
        [(0, 1), (0, 1), (1, 0), (2, 2)].into_iter().for_each(|(before, after)| pairs.add(before, after));
        assert_eq!(pairs.count(), 2);
    }
}
