//! How likely a difference is by chance alone: exact, with the runs as they are and only their outcomes shuffled.

/// Logarithms, because the numbers of ways to shuffle are larger than numbers are.
pub(crate) struct Chance {
    factorials: Vec<f64>,
}

impl Chance {
    /// For so many runs.
    pub(crate) fn new(runs: usize) -> Self {
        let mut factorials = vec![0.0; runs + 1];
        for n in 1..=runs {
            factorials[n] = factorials[n - 1] + (n as f64).ln();
        }
        Self { factorials }
    }

    fn ln_choose(&self, n: usize, k: usize) -> f64 {
        self.factorials[n] - self.factorials[k] - self.factorials[n - k]
    }

    /// One of so many ways in which `failed` of `runs` can be the failing ones.
    pub(crate) fn one_way(&self, runs: usize, failed: usize) -> f64 {
        (-self.ln_choose(runs, failed)).exp()
    }

    /// That of `chosen` runs at least `hits` are failing ones (Fisher's exact test, one side).
    pub(crate) fn at_least(&self, hits: usize, chosen: usize, failed: usize, runs: usize) -> f64 {
        let all = self.ln_choose(runs, chosen);
        let most = chosen.min(failed);
        let least = hits.max((chosen + failed).saturating_sub(runs));
        let ways = |hit| self.ln_choose(failed, hit) + self.ln_choose(runs - failed, chosen - hit) - all;
        (least..=most).map(|hit| ways(hit).exp()).sum::<f64>().min(1.0)
    }

    /// That groups of runs of these sizes are as pure as this: at most `strays` runs are not what most of their group are.
    pub(crate) fn as_pure(&self, groups: &[usize], strays: usize, failed: usize, runs: usize) -> f64 {
        // ways[f][s]: how often f failing runs and s strays come together in the groups so far.
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
        (ways[failed].iter().sum::<f64>() * self.one_way(runs, failed)).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(one: f64, other: f64) -> bool {
        (one - other).abs() < 1e-9
    }

    #[test]
    fn fisher_as_in_the_book() {
        let chance = Chance::new(50);
        assert!(near(chance.at_least(3, 4, 4, 8), 17.0 / 70.0), "the lady tasting tea, with one error");
        assert!(near(chance.at_least(4, 4, 4, 8), 1.0 / 70.0));
        assert!(near(chance.at_least(0, 4, 4, 8), 1.0));
        assert!(near(chance.at_least(2, 7, 4, 8), 1.0), "four of seven cannot all be passing ones");
        assert!(chance.at_least(11, 11, 11, 50) < 1e-10);
    }

    #[test]
    fn values_that_are_all_different_are_pure_by_nature() {
        let chance = Chance::new(50);
        assert!(near(chance.as_pure(&[1; 10], 0, 4, 10), 1.0));
        assert!(near(chance.as_pure(&[4, 6], 0, 4, 10), 1.0 / 210.0));
        assert!(near(chance.as_pure(&[5, 5], 0, 5, 10), 2.0 / 252.0));
    }

    #[test]
    fn a_stray_is_counted_in() {
        let chance = Chance::new(50);
        // Of the four failing runs, in the group of four: all, all but one, or none.
        assert!(near(chance.as_pure(&[4, 6], 2, 4, 10), (1.0 + 4.0 * 6.0 + 15.0) / 210.0));
        assert!(near(chance.as_pure(&[4, 6], 4, 4, 10), 1.0));
    }
}
