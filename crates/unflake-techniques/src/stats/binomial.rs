//! Binomial rates: confidence intervals, and the runs needed to exclude a rate.

/// 95 % confidence interval of a rate, given `hits` in `runs` (Wilson).
pub(crate) fn wilson(hits: u32, runs: u32) -> (f64, f64) {
    if runs == 0 {
        return (0.0, 1.0);
    }
    const Z: f64 = 1.959_963_985;
    let (n, p) = (f64::from(runs), f64::from(hits) / f64::from(runs));
    let scale = 1.0 + Z * Z / n;
    let middle = (p + Z * Z / (2.0 * n)) / scale;
    let half = Z * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt() / scale;
    // At both ends the bound is exact, whatever rounding makes of it.
    (if hits == 0 { 0.0 } else { middle - half }, if hits == runs { 1.0 } else { middle + half })
}

/// Number of hits in a row that excludes a rate at this significance: rateⁿ ≤ significance.
pub(crate) fn runs_to_exclude(rate: f64, significance: f64) -> f64 {
    if rate < 1.0 { (significance.ln() / rate.ln()).ceil() } else { f64::INFINITY }
}

/// Upper bound of a rate after `runs` without a hit: (1 − p)ⁿ = significance.
pub(crate) fn upper_bound_of_none(runs: u32, significance: f64) -> f64 {
    1.0 - significance.powf(1.0 / f64::from(runs))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rounded(number: f64) -> f64 {
        (number * 100.0).round() / 100.0
    }

    #[test]
    fn intervals_match_the_literature() {
        let percent = |(low, high)| (rounded(low * 100.0), rounded(high * 100.0));
        assert_eq!(percent(wilson(0, 10)), (0.0, 27.75));
        assert_eq!(percent(wilson(1, 10)), (1.79, 40.42));
        assert_eq!(percent(wilson(10, 10)), (72.25, 100.0));
        assert_eq!(wilson(0, 0), (0.0, 1.0));
    }

    #[test]
    fn rates_are_excluded_by_enough_runs() {
        assert_eq!(runs_to_exclude(0.1, 0.01), 2.0);
        assert_eq!(runs_to_exclude(0.6, 0.01), 10.0);
        assert_eq!(runs_to_exclude(1.0, 0.01), f64::INFINITY);
        assert_eq!(rounded(upper_bound_of_none(2, 0.05)), 0.78);
    }

    proptest! {
        #[test]
        fn an_interval_contains_its_rate(runs in 1_u32..1000, part in 0.0..=1.0_f64) {
            let hits = (f64::from(runs) * part) as u32;
            let (low, high) = wilson(hits, runs);
            let rate = f64::from(hits) / f64::from(runs);
            prop_assert!(0.0 <= low && low <= rate && rate <= high && high <= 1.0);
        }
    }
}
