//! The beta distribution: what is known of a rate after so many failures and passes.

use std::sync::OnceLock;

/// ln Γ (Lanczos' approximation, good to 15 digits).
pub(crate) fn ln_gamma(x: f64) -> f64 {
    const G: f64 = 7.0;
    const C: [f64; 9] = [
        0.999_999_999_999_809_9,
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    if x < 0.5 {
        let pi = std::f64::consts::PI;
        return (pi / (pi * x).sin()).ln() - ln_gamma(1.0 - x);
    }
    let x = x - 1.0;
    let sum = C.iter().enumerate().skip(1).fold(C[0], |sum, (i, c)| sum + c / (x + i as f64));
    let t = x + G + 0.5;
    0.5 * (2.0 * std::f64::consts::PI).ln() + (x + 0.5) * t.ln() - t + sum.ln()
}

fn ln_beta(a: f64, b: f64) -> f64 {
    ln_gamma(a) + ln_gamma(b) - ln_gamma(a + b)
}

/// A rate of which nothing but this is known beforehand, for counts up to a limit. Looked up, because the search for change
/// points asks for it very often.
pub(crate) struct Prior {
    a: Vec<f64>,
    b: Vec<f64>,
    both: Vec<f64>,
}

impl Prior {
    pub(crate) fn new(a: f64, b: f64, limit: usize) -> Self {
        let table = |offset: f64| (0..=limit).map(|n| ln_gamma(n as f64 + offset) - ln_gamma(offset)).collect();
        Self { a: table(a), b: table(b), both: table(a + b) }
    }

    /// How likely one particular row of so many hits and misses is, as a logarithm.
    pub(crate) fn evidence(&self, hits: usize, misses: usize) -> f64 {
        self.a[hits] + self.b[misses] - self.both[hits + misses]
    }
}

/// The rate below which the true one is with this probability, given Beta(a, b).
pub(crate) fn quantile(probability: f64, a: f64, b: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..40 {
        let middle = 0.5 * (low + high);
        if below(middle, a, b) < probability { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// The probability that a rate is below x (the regularised incomplete beta function, by its continued fraction).
fn below(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - below(1.0 - x, b, a);
    }
    let front = (a * x.ln() + b * (1.0 - x).ln() - ln_beta(a, b)).exp() / a;
    const TINY: f64 = 1e-300;
    let (mut fraction, mut c, mut d) = (1.0, 1.0, 0.0);
    for i in 0..300 {
        let m = f64::from(i / 2);
        let numerator = match i {
            0 => 1.0,
            i if i % 2 == 0 => m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m)),
            _ => -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0)),
        };
        d = 1.0 / or_tiny(1.0 + numerator * d, TINY);
        c = or_tiny(1.0 + numerator / c, TINY);
        let step = c * d;
        fraction *= step;
        if (step - 1.0).abs() < 1e-10 {
            break;
        }
    }
    (front * (fraction - 1.0)).clamp(0.0, 1.0)
}

fn or_tiny(x: f64, tiny: f64) -> f64 {
    if x.abs() < tiny { tiny } else { x }
}

/// The priors of the segments, made once.
pub(crate) fn shared(cell: &'static OnceLock<Prior>, a: f64, b: f64, limit: usize) -> &'static Prior {
    cell.get_or_init(|| Prior::new(a, b, limit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        assert!((ln_gamma(5.0) - 24.0_f64.ln()).abs() < 1e-12);
        assert!((ln_gamma(0.5) - std::f64::consts::PI.sqrt().ln()).abs() < 1e-12);
        assert!((below(0.5, 2.0, 2.0) - 0.5).abs() < 1e-9);
        assert!((below(0.3, 1.0, 1.0) - 0.3).abs() < 1e-9);
        // Of Beta(1, b) the distribution is 1 - (1 - x)^b.
        assert!((quantile(0.95, 1.0, 10.0) - (1.0 - 0.05_f64.powf(0.1))).abs() < 1e-6);
        // R: qbeta(c(0.05, 0.95), 3, 20)
        assert!((quantile(0.05, 3.0, 20.0) - 0.037_74).abs() < 2e-3, "{}", quantile(0.05, 3.0, 20.0));
    }

    #[test]
    fn the_evidence_of_all_rows_is_one() {
        let prior = Prior::new(0.1, 5.0, 10);
        let ways = [1.0, 4.0, 6.0, 4.0, 1.0];
        let sum: f64 = (0..=4).map(|hits| ways[hits] * prior.evidence(hits, 4 - hits).exp()).sum();
        assert!((sum - 1.0).abs() < 1e-9, "{sum}");
    }
}
