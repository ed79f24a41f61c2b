//! The beta distribution: what is known of a rate after a number of hits and misses.

use statrs::function::beta::beta_reg;
use statrs::function::gamma::ln_gamma;

/// A Beta(a, b) prior of a rate, with its evidence tabulated for counts up to a limit: the search
/// for change points evaluates it very often.
pub(crate) struct BetaPrior {
    a: Vec<f64>,
    b: Vec<f64>,
    both: Vec<f64>,
}

impl BetaPrior {
    pub(crate) fn new(a: f64, b: f64, limit: usize) -> Self {
        let table = |offset: f64| (0..=limit).map(|n| ln_gamma(n as f64 + offset) - ln_gamma(offset)).collect();
        Self { a: table(a), b: table(b), both: table(a + b) }
    }

    /// Log-probability of one particular sequence with these numbers of hits and misses.
    pub(crate) fn evidence(&self, hits: usize, misses: usize) -> f64 {
        self.a[hits] + self.b[misses] - self.both[hits + misses]
    }
}

/// The quantile of Beta(a, b), by bisection.
pub(crate) fn quantile(probability: f64, a: f64, b: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..40 {
        let middle = 0.5 * (low + high);
        if beta_reg(a, b, middle) < probability { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_match_known_values() {
        // The distribution function of Beta(1, b) is 1 - (1 - x)^b.
        assert!((quantile(0.95, 1.0, 10.0) - (1.0 - 0.05_f64.powf(0.1))).abs() < 1e-6);
        assert!((quantile(0.3, 1.0, 1.0) - 0.3).abs() < 1e-9);
        assert!((quantile(0.5, 2.0, 2.0) - 0.5).abs() < 1e-9);
        // R: qbeta(0.05, 3, 20)
        assert!((quantile(0.05, 3.0, 20.0) - 0.037_74).abs() < 2e-3, "{}", quantile(0.05, 3.0, 20.0));
    }

    #[test]
    fn evidence_sums_to_one_over_all_sequences() {
        let prior = BetaPrior::new(0.1, 5.0, 10);
        let sequences = [1.0, 4.0, 6.0, 4.0, 1.0];
        let sum: f64 = (0..=4).map(|hits| sequences[hits] * prior.evidence(hits, 4 - hits).exp()).sum();
        assert!((sum - 1.0).abs() < 1e-9, "{sum}");
    }
}
