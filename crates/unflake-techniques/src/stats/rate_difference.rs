//! Whether two rates of failure differ by more than chance: exact, because there are few runs, and corrected, because many
//! factors are looked at.

use crate::stats::fisher::Chance;

/// Failures of so many runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Failures {
    pub(crate) failed: u32,
    pub(crate) runs: u32,
}

impl Failures {
    pub(crate) fn new(failed: u32, runs: u32) -> Self {
        Self { failed, runs }
    }

    /// Half, where nothing is known.
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

/// How likely it is, if both fail equally often, that `one` fails at least as much more often than `other` as it does (Fisher).
pub(crate) fn more_often(one: Failures, other: Failures) -> f64 {
    let runs = (one.runs + other.runs) as usize;
    if one.runs == 0 || other.runs == 0 {
        return 1.0;
    }
    Chance::new(runs).at_least(one.failed as usize, one.runs as usize, (one.failed + other.failed) as usize, runs)
}

/// The same for less often.
pub(crate) fn less_often(one: Failures, other: Failures) -> f64 {
    more_often(one.passes(), other.passes())
}

/// In either direction.
pub(crate) fn differs(one: Failures, other: Failures) -> f64 {
    (2.0 * more_often(one, other).min(less_often(one, other))).min(1.0)
}

/// What each of these is by chance, given that the smallest of them were looked for (Holm).
pub(crate) fn corrected(chances: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..chances.len()).collect();
    order.sort_by(|one, other| chances[*one].total_cmp(&chances[*other]));
    let mut corrected = vec![1.0; chances.len()];
    let mut least = 0.0_f64;
    for (rank, at) in order.into_iter().enumerate() {
        least = least.max(chances[at] * (chances.len() - rank) as f64).min(1.0);
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
    fn all_against_none_is_one_of_all_ways() {
        near(more_often(Failures::new(6, 6), Failures::new(0, 6)), 1.0 / 924.0);
        near(less_often(Failures::new(0, 6), Failures::new(6, 6)), 1.0 / 924.0);
        near(differs(Failures::new(6, 6), Failures::new(0, 6)), 2.0 / 924.0);
        near(more_often(Failures::new(0, 6), Failures::new(6, 6)), 1.0);
        near(differs(Failures::new(3, 6), Failures::new(3, 6)), 1.0);
    }

    #[test]
    fn nothing_is_known_of_what_was_not_run() {
        near(differs(Failures::new(0, 0), Failures::new(5, 5)), 1.0);
        near(more_often(Failures::new(2, 2), Failures::new(0, 0)), 1.0);
    }

    #[test]
    fn the_more_are_looked_at_the_less_each_says() {
        let found = corrected(&[0.04, 0.01, 0.03]);
        near(found[1], 0.03);
        near(found[2], 0.06);
        near(found[0], 0.06); // Not less than one that is smaller by itself.
        assert!(corrected(&[]).is_empty());
        assert_eq!(corrected(&[0.9, 0.8]), [1.0, 1.0]);
    }
}
