//! Exact tests: the probability of a difference if outcomes were assigned to runs at random.

/// Tabulated log-factorials: the numbers of arrangements exceed the range of floats, and p-values
/// are computed millions of times.
pub(crate) struct ExactTest {
    ln_factorials: Vec<f64>,
}

impl ExactTest {
    /// For up to this many runs.
    pub(crate) fn new(runs: usize) -> Self {
        let mut ln_factorials = vec![0.0; runs + 1];
        for n in 1..=runs {
            ln_factorials[n] = ln_factorials[n - 1] + (n as f64).ln();
        }
        Self { ln_factorials }
    }

    fn ln_choose(&self, n: usize, k: usize) -> f64 {
        self.ln_factorials[n] - self.ln_factorials[k] - self.ln_factorials[n - k]
    }

    /// Probability of one particular assignment of `failed` failures to `runs`.
    pub(crate) fn one_assignment(&self, runs: usize, failed: usize) -> f64 {
        (-self.ln_choose(runs, failed)).exp()
    }

    /// Probability of at least `hits` failures among `chosen` runs (Fisher, one-sided).
    pub(crate) fn at_least(&self, hits: usize, chosen: usize, failed: usize, runs: usize) -> f64 {
        let all = self.ln_choose(runs, chosen);
        let most = chosen.min(failed);
        let least = hits.max((chosen + failed).saturating_sub(runs));
        let ways = |hit| self.ln_choose(failed, hit) + self.ln_choose(runs - failed, chosen - hit) - all;
        (least..=most).map(|hit| ways(hit).exp()).sum::<f64>().min(1.0)
    }

    /// Probability that groups of these sizes are this pure: at most `strays` runs have another
    /// outcome than the majority of their group.
    pub(crate) fn as_pure(&self, groups: &[usize], strays: usize, failed: usize, runs: usize) -> f64 {
        // ways[f][s]: number of ways to have f failures and s strays in the groups so far.
        let mut ways = vec![vec![0.0_f64; strays + 1]; failed + 1];
        ways[0][0] = 1.0;
        for size in groups {
            let mut next = vec![vec![0.0_f64; strays + 1]; failed + 1];
            for hit in 0..=*size {
                let stray = hit.min(size - hit);
                if stray > strays || hit > failed {
                    continue;
                }
                let each = self.ln_choose(*size, hit).exp();
                for f in hit..=failed {
                    for s in stray..=strays {
                        next[f][s] += ways[f - hit][s - stray] * each;
                    }
                }
            }
            ways = next;
        }
        (ways[failed].iter().sum::<f64>() * self.one_assignment(runs, failed)).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(one: f64, other: f64) -> bool {
        (one - other).abs() < 1e-9
    }

    #[test]
    fn p_values_match_the_textbook() {
        let test = ExactTest::new(50);
        assert!(near(test.at_least(3, 4, 4, 8), 17.0 / 70.0), "the lady tasting tea, with one error");
        assert!(near(test.at_least(4, 4, 4, 8), 1.0 / 70.0));
        assert!(near(test.at_least(0, 4, 4, 8), 1.0));
        assert!(near(test.at_least(2, 7, 4, 8), 1.0), "four of seven cannot all pass");
        assert!(test.at_least(11, 11, 11, 50) < 1e-10);
    }

    #[test]
    fn groups_of_one_are_always_pure() {
        let test = ExactTest::new(50);
        assert!(near(test.as_pure(&[1; 10], 0, 4, 10), 1.0));
        assert!(near(test.as_pure(&[4, 6], 0, 4, 10), 1.0 / 210.0));
        assert!(near(test.as_pure(&[5, 5], 0, 5, 10), 2.0 / 252.0));
    }

    #[test]
    fn strays_are_allowed_for() {
        let test = ExactTest::new(50);
        // Of the four failing runs, in the group of four: all, all but one, or none.
        assert!(near(test.as_pure(&[4, 6], 2, 4, 10), (1.0 + 4.0 * 6.0 + 15.0) / 210.0));
        assert!(near(test.as_pure(&[4, 6], 4, 4, 10), 1.0));
    }
}
