//! What was tried, for whoever wants to know what a search without findings is worth.

use std::fmt;

use crate::order::order_cover::Pairs;

#[derive(Clone, Debug, Default)]
pub struct Coverage {
    pub(crate) pairs: Pairs,
    pub tests: usize,
    /// How many orders were run.
    pub orders: u32,
    /// How many tests cannot be brought next to others: they are skipped, or end their process.
    pub left_out: usize,
    /// How many tests were asked for, where only some are.
    pub given: Option<usize>,
    /// What random orders are drawn from.
    pub seed: u64,
    /// Whether everything was tried that was meant to be.
    pub finished: bool,
}

impl Coverage {
    pub(crate) fn new(pairs: Pairs, tests: usize, seed: u64) -> Self {
        Self { pairs, tests, orders: 0, left_out: 0, given: None, seed, finished: false }
    }

    /// How many ordered pairs of tests have been run next to each other, and how many there are.
    pub fn pairs(&self) -> (u64, u64) {
        let running = (self.tests - self.left_out) as u64;
        (self.pairs.count(), self.given.map_or(running, |given| given as u64) * running.saturating_sub(1))
    }
}

/// A line that stands by itself.
impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seen, of) = self.pairs();
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
        match (seen == of, self.given) {
            (true, Some(1)) => write!(f, "every other test has been run right before it")?,
            (true, Some(_)) => write!(f, "every other test has been run right before each of them")?,
            (true, None) => {
                let tests = thousands((self.tests - self.left_out) as u64);
                write!(f, "each of {tests} tests has been run right after every other")?;
            }
            (false, _) => {
                let share = seen as f64 * 100.0 / of as f64;
                let (seen, of) = (thousands(seen), thousands(of));
                write!(f, "{seen} of {of} ordered pairs of tests have been run next to each other ({share:.1} %)")?;
            }
        }
        write!(f, ", in {orders} (seed {})", self.seed)?;
        if self.left_out > 0 {
            write!(f, "; left out: {} that are skipped or end their process", thousands(self.left_out as u64))?;
        }
        if seen < of && !self.finished { write!(f, "; for the rest there was no time") } else { Ok(()) }
    }
}

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
    fn what_is_left_is_said() {
        let mut coverage = Coverage::new(Pairs::new(1000), 1000, 7);
        coverage.orders = 1;
        (1..1000).for_each(|at| coverage.pairs.see(at - 1, at));
        assert_eq!(
            coverage.to_string(),
            "999 of 999,000 ordered pairs of tests have been run next to each other (0.1 %), in 1 order (seed 7); for the rest there was no time"
        );
        coverage.finished = true;
        assert!(coverage.to_string().ends_with("(seed 7)"));
    }

    #[test]
    fn where_tests_are_named_only_what_ran_before_them_counts() {
        let mut coverage = Coverage::new(Pairs::new(3), 3, 0);
        coverage.given = Some(1);
        assert!(coverage.to_string().starts_with("it took no further orders"));
        coverage.orders = 2;
        coverage.pairs.see(0, 1);
        coverage.finished = true;
        assert_eq!(
            coverage.to_string(),
            "1 of 2 ordered pairs of tests have been run next to each other (50.0 %), in 2 orders (seed 0)"
        );
        coverage.pairs.see(2, 1);
        assert_eq!(coverage.to_string(), "every other test has been run right before it, in 2 orders (seed 0)");
    }

    #[test]
    fn a_guarantee_is_given_when_all_pairs_ran() {
        let mut coverage = Coverage::new(Pairs::new(2), 2, 0);
        coverage.orders = 2;
        coverage.pairs.see(0, 1);
        coverage.pairs.see(1, 0);
        assert_eq!(coverage.to_string(), "each of 2 tests has been run right after every other, in 2 orders (seed 0)");
    }
}
