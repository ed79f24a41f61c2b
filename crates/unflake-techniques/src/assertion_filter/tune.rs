//! Recommends a score threshold: how many flaky failures it removes against how many real ones it
//! keeps.

use crate::stats::binomial::upper_bound_of_none;

/// A failed assertion with its score and a person's label.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScoredFailure {
    pub score: f64,
    pub label: Option<FailureLabel>,
}

/// What a failure turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureLabel {
    /// It revealed a bug.
    True,
    /// The feature changed on purpose and the test must follow.
    Update,
    Flaky,
}

/// A threshold with its effect as shares of 1; `None` when there is nothing to take a share of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThresholdPoint {
    pub threshold: f64,
    pub removed: Option<f64>,
    pub kept: Option<f64>,
}

/// The recommended threshold and its basis.
#[derive(Clone, Debug, PartialEq)]
pub struct ThresholdAdvice {
    /// The lowest threshold that keeps every failure labelled as a bug or an update.
    pub point: ThresholdPoint,
    /// Where both curves meet, interpolated linearly.
    pub balance: Option<(f64, f64)>,
    pub curve: Vec<ThresholdPoint>,
    pub bugs: u32,
    pub updates: u32,
    pub flaky: u32,
    /// Number of assertions that varied at all.
    pub varied: u32,
    /// Upper 95 % bound on the share of bugs the threshold may lose.
    pub may_lose: f64,
}

/// Distance between two thresholds of a curve.
const STEP: f64 = 0.1;

/// R(τ): share of varying assertions that the threshold removes (5.3 for tests, 5.4 for
/// assertions).
pub(crate) fn removed(all: &[ScoredFailure], threshold: f64) -> Option<f64> {
    let above = |threshold: f64| all.iter().filter(|one| one.score > threshold).count() as f64;
    (above(0.0) > 0.0).then(|| above(threshold) / above(0.0))
}

/// B(τ): share of bug-revealing failures that remain (5.5; as printed, the share that is lost).
pub(crate) fn kept(all: &[ScoredFailure], threshold: f64) -> Option<f64> {
    share_kept(all, threshold, |label| label == FailureLabel::True)
}

fn share_kept(all: &[ScoredFailure], threshold: f64, counts: impl Fn(FailureLabel) -> bool) -> Option<f64> {
    let labelled: Vec<&ScoredFailure> = all.iter().filter(|one| one.label.is_some_and(&counts)).collect();
    let stay = labelled.iter().filter(|one| one.score <= threshold).count() as f64;
    (!labelled.is_empty()).then(|| stay / labelled.len() as f64)
}

pub(crate) fn point(all: &[ScoredFailure], threshold: f64) -> ThresholdPoint {
    ThresholdPoint { threshold, removed: removed(all, threshold), kept: kept(all, threshold) }
}

/// Both shares for thresholds from 0 to beyond the largest score.
pub(crate) fn curve(all: &[ScoredFailure]) -> Vec<ThresholdPoint> {
    let largest = all.iter().map(|one| one.score).fold(0.0, f64::max);
    let steps = (largest / STEP).floor() as u32 + 1;
    (0..=steps).map(|step| point(all, f64::from(step) * STEP)).collect()
}

/// Where the falling and the rising curve meet.
pub(crate) fn balance(curve: &[ThresholdPoint]) -> Option<(f64, f64)> {
    let gap = |point: &ThresholdPoint| Some(point.kept? - point.removed?);
    let first = curve.first()?;
    if gap(first)? >= 0.0 {
        return Some((first.threshold, first.removed?));
    }
    curve.windows(2).find_map(|pair| {
        let (before, after) = (gap(&pair[0])?, gap(&pair[1])?);
        if before >= 0.0 || after < 0.0 {
            return None;
        }
        let fraction = before / (before - after);
        let between = |from: f64, to: f64| from + fraction * (to - from);
        Some((between(pair[0].threshold, pair[1].threshold), between(pair[0].removed?, pair[1].removed?)))
    })
}

/// `None` without a failure labelled as real: nothing can be recommended then.
pub fn advise(all: &[ScoredFailure]) -> Option<ThresholdAdvice> {
    let count = |wanted: FailureLabel| all.iter().filter(|one| one.label == Some(wanted)).count() as u32;
    let must_stay = |one: &&ScoredFailure| matches!(one.label, Some(FailureLabel::True | FailureLabel::Update));
    let highest = all.iter().filter(must_stay).map(|one| one.score).reduce(f64::max)?;
    // Rounded up to the next hundredth, because people type it.
    let threshold = (highest * 100.0 - 1e-9).ceil().max(0.0) / 100.0;
    let curve = curve(all);
    Some(ThresholdAdvice {
        point: point(all, threshold),
        balance: balance(&curve),
        curve,
        bugs: count(FailureLabel::True),
        updates: count(FailureLabel::Update),
        flaky: count(FailureLabel::Flaky),
        varied: all.iter().filter(|one| one.score > 0.0).count() as u32,
        may_lose: upper_bound_of_none(count(FailureLabel::True).max(1), 0.05),
    })
}

#[cfg(test)]
mod tests;
