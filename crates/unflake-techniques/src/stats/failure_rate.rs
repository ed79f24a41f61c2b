//! Comparison of two failure rates: exact, because there are few runs, and corrected, because many
//! factors are compared.

use std::ops::Add;

use crate::stats::exact_test::ExactTest;

/// Number of failures in a number of runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FailureCount {
    pub(crate) failed: u32,
    pub(crate) runs: u32,
}

impl FailureCount {
    pub(crate) fn new(failed: u32, runs: u32) -> Self {
        Self { failed, runs }
    }

    /// The failure rate; one half without any run.
    pub(crate) fn share(self) -> f64 {
        if self.runs == 0 { 0.5 } else { f64::from(self.failed) / f64::from(self.runs) }
    }

    pub(crate) fn is_mixed(self) -> bool {
        self.failed > 0 && self.failed < self.runs
    }

    fn passes(self) -> Self {
        Self { failed: self.runs - self.failed, ..self }
    }
}

impl Add for FailureCount {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self::new(self.failed + other.failed, self.runs + other.runs)
    }
}

/// P-value of a difference between two rates, each as failures and runs (Fisher, both sides).
pub fn rate_difference(one: (u32, u32), other: (u32, u32)) -> f64 {
    let (one, other) = (FailureCount::new(one.0, one.1), FailureCount::new(other.0, other.1));
    (2.0 * more_often(one, other).min(more_often(other, one))).min(1.0)
}

/// P-value of `one` failing more often than `other` (Fisher, one-sided).
pub(crate) fn more_often(one: FailureCount, other: FailureCount) -> f64 {
    let runs = (one.runs + other.runs) as usize;
    if one.runs == 0 || other.runs == 0 {
        return 1.0;
    }
    ExactTest::new(runs).at_least(one.failed as usize, one.runs as usize, (one.failed + other.failed) as usize, runs)
}

/// P-value of `one` failing less often than `other`.
pub(crate) fn less_often(one: FailureCount, other: FailureCount) -> f64 {
    more_often(one.passes(), other.passes())
}

/// Two-sided p-value.
pub(crate) fn differs(one: FailureCount, other: FailureCount) -> f64 {
    (2.0 * more_often(one, other).min(less_often(one, other))).min(1.0)
}

/// P-values corrected for multiple comparisons (Holm).
pub(crate) fn corrected(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|one, other| p_values[*one].total_cmp(&p_values[*other]));
    let mut corrected = vec![1.0; p_values.len()];
    let mut least = 0.0_f64;
    for (rank, at) in order.into_iter().enumerate() {
        least = least.max(p_values[at] * (p_values.len() - rank) as f64).min(1.0);
        corrected[at] = least;
    }
    corrected
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(one: f64, other: f64) {
        assert!((one - other).abs() < 1e-9, "{one} and {other}");
    }

    #[test]
    fn all_against_none_is_one_of_all_assignments() {
        near(more_often(FailureCount::new(6, 6), FailureCount::new(0, 6)), 1.0 / 924.0);
        near(less_often(FailureCount::new(0, 6), FailureCount::new(6, 6)), 1.0 / 924.0);
        near(differs(FailureCount::new(6, 6), FailureCount::new(0, 6)), 2.0 / 924.0);
        near(more_often(FailureCount::new(0, 6), FailureCount::new(6, 6)), 1.0);
        near(differs(FailureCount::new(3, 6), FailureCount::new(3, 6)), 1.0);
    }

    #[test]
    fn without_runs_nothing_is_significant() {
        near(differs(FailureCount::new(0, 0), FailureCount::new(5, 5)), 1.0);
        near(more_often(FailureCount::new(2, 2), FailureCount::new(0, 0)), 1.0);
    }

    #[test]
    fn more_comparisons_make_each_less_significant() {
        let found = corrected(&[0.04, 0.01, 0.03]);
        near(found[1], 0.03);
        near(found[2], 0.06);
        near(found[0], 0.06); // Not below a smaller uncorrected p-value.
        assert!(corrected(&[]).is_empty());
        assert_eq!(corrected(&[0.9, 0.8]), [1.0, 1.0]);
    }

    #[test]
    fn a_difference_counts_in_both_directions() {
        assert!(rate_difference((2, 6), (93, 96)) < 0.01);
        assert!(rate_difference((93, 96), (2, 6)) < 0.01);
        assert!(rate_difference((2, 6), (30, 96)) > 0.5);
        assert_eq!(rate_difference((0, 0), (3, 3)), 1.0);
    }
}
