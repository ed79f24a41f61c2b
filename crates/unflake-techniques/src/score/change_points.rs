//! Change points: the most probable division of a test's history into segments of one behaviour
//! each.
//!
//! There are three behaviours. Steady: each run fails independently at some rate, possibly zero.
//! Bursty: failing and passing phases alternate. Broken: it always fails and never passes with the
//! same code. The rate is unknown, so each behaviour is weighed by its evidence over all rates. A
//! cut costs the probability of a code change; so two failures in a row break a test that never
//! failed, and mean nothing in one that often does. Breakages are soon mended, so the end of one
//! costs less. A flaky test hardly ever fails in all reruns, so a real failure is most likely a
//! breakage.

use std::sync::LazyLock;

use crate::score::estimate::ScoredRun;
use crate::stats::beta::BetaPrior;

/// Limits on runs and on blocks of equal outcomes that are considered.
pub(crate) const MOST_RUNS: usize = 1000;
const MOST_BLOCKS: usize = 400;

/// Probability of a change per run.
const CHANGE_RATE: f64 = 1.0 / 200.0;
/// Probability that a breakage ends with a given run.
const MEND_RATE: f64 = 1.0 / 10.0;
/// Probability that a flaky failure is found to be real, at first and directly after another one:
/// what makes it fail may last from run to run.
const REAL_WHEN_FLAKY: f64 = 0.003;
const AGAIN_REAL_WHEN_FLAKY: f64 = 0.3;
/// Prior probabilities of the behaviours.
const STEADY: f64 = 0.75;
const BROKEN: f64 = 0.24;
const BURSTY: f64 = 0.01;
/// Probability that a run of a broken test passes by mistake.
const PASS_WHEN_BROKEN: f64 = 0.001;
/// Confidence of the bounds of a change.
const CONFIDENCE: f64 = 0.9;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Behaviour {
    Steady,
    Bursty,
    Broken,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Segment {
    pub(crate) kind: Behaviour,
    /// The first run of it, and the first after it.
    pub(crate) begin: usize,
    pub(crate) end: usize,
    /// The change that began it lies between these two.
    pub(crate) earliest: usize,
    pub(crate) latest: usize,
}

/// Prefix sums over runs, so that any segment is a difference of two.
#[derive(Clone, Copy, Default)]
struct PrefixSums {
    runs: usize,
    /// Failures of both kinds, those proven flaky, and failures directly after a failure.
    failed: usize,
    flaked: usize,
    again: usize,
    /// Passes directly after a failure.
    recovered: usize,
    /// Real failures, and those directly after another one.
    real: usize,
    again_real: usize,
}

impl PrefixSums {
    fn then(self, before: Option<ScoredRun>, seen: ScoredRun) -> Self {
        let fails = seen.fails();
        let after_failure = before.is_some_and(ScoredRun::fails);
        let is_real = seen == ScoredRun::Real;
        Self {
            runs: self.runs + 1,
            failed: self.failed + usize::from(fails),
            flaked: self.flaked + usize::from(seen == ScoredRun::Flaked),
            again: self.again + usize::from(fails && after_failure),
            recovered: self.recovered + usize::from(!fails && after_failure),
            real: self.real + usize::from(is_real),
            again_real: self.again_real + usize::from(is_real && before == Some(ScoredRun::Real)),
        }
    }
}

struct SegmentLikelihood {
    rate: &'static BetaPrior,
    bursts: &'static BetaPrior,
    length: &'static BetaPrior,
}

impl SegmentLikelihood {
    fn new() -> Self {
        static RATE: LazyLock<BetaPrior> = LazyLock::new(|| BetaPrior::new(0.2, 4.0, MOST_RUNS));
        static BURSTS: LazyLock<BetaPrior> = LazyLock::new(|| BetaPrior::new(0.2, 10.0, MOST_RUNS));
        static LENGTH: LazyLock<BetaPrior> = LazyLock::new(|| BetaPrior::new(2.0, 1.0, MOST_RUNS));
        Self { rate: &RATE, bursts: &BURSTS, length: &LENGTH }
    }

    /// Log-likelihood of the runs between two prefix sums as a segment of this behaviour.
    fn of(&self, kind: Behaviour, from: &PrefixSums, to: &PrefixSums, before: Option<ScoredRun>) -> f64 {
        let runs = to.runs - from.runs;
        let failed = to.failed - from.failed;
        match kind {
            Behaviour::Steady => STEADY.ln() + self.rate.evidence(failed, runs - failed) + Self::of_real(from, to),
            Behaviour::Broken if to.flaked > from.flaked => f64::NEG_INFINITY,
            Behaviour::Broken => {
                let passed = (runs - failed) as f64;
                BROKEN.ln() + passed * PASS_WHEN_BROKEN.ln() + failed as f64 * (1.0 - PASS_WHEN_BROKEN).ln()
            }
            Behaviour::Bursty => {
                // The run before the segment does not belong to it.
                let (mut again, mut recovered) = (to.again - from.again, to.recovered - from.recovered);
                if before.is_some_and(ScoredRun::fails) && runs > 0 {
                    let first_fails = again + recovered > 0 && failed > 0 && Self::first_fails(from, to);
                    again -= usize::from(first_fails);
                    recovered -= usize::from(!first_fails && recovered > 0);
                }
                let begun = failed - again;
                let calm = (runs - failed).saturating_sub(recovered);
                let phases = self.bursts.evidence(begun, calm) + self.length.evidence(again, recovered);
                BURSTY.ln() + phases + Self::of_real(from, to)
            }
        }
    }

    /// Log-likelihood that failures of a flaky test were found to be real.
    fn of_real(from: &PrefixSums, to: &PrefixSums) -> f64 {
        let (real, again) = (to.real - from.real, to.again_real - from.again_real);
        (real - again) as f64 * REAL_WHEN_FLAKY.ln() + again as f64 * AGAIN_REAL_WHEN_FLAKY.ln()
    }

    /// Whether a segment that follows a failure begins with one: it then counts one repeated
    /// failure too many.
    fn first_fails(from: &PrefixSums, to: &PrefixSums) -> bool {
        to.again > from.again
    }
}

/// The segments of the runs, oldest first. Empty only if there are no runs.
pub(crate) fn segments(runs: &[ScoredRun]) -> Vec<Segment> {
    let runs = &runs[runs.len().saturating_sub(MOST_RUNS)..];
    if runs.is_empty() {
        return Vec::new();
    }
    let mut sums = vec![PrefixSums::default()];
    for (at, seen) in runs.iter().enumerate() {
        sums.push(sums[at].then(at.checked_sub(1).map(|before| runs[before]), *seen));
    }
    let likelihood = SegmentLikelihood::new();
    let cuts = cuts(runs);
    // best[i]: the most probable division of everything before cuts[i], and its last segment.
    let mut best: Vec<(f64, usize, Behaviour)> = vec![(0.0, 0, Behaviour::Steady)];
    for end in 1..cuts.len() {
        let mut here = (f64::NEG_INFINITY, 0, Behaviour::Steady);
        for begin in 0..end {
            let before = cuts[begin].checked_sub(1).map(|before| runs[before]);
            let cost = match best[begin] {
                _ if begin == 0 => 0.0,
                (_, _, Behaviour::Broken) => MEND_RATE.ln(),
                _ => CHANGE_RATE.ln(),
            };
            for kind in [Behaviour::Steady, Behaviour::Bursty, Behaviour::Broken] {
                let likely = likelihood.of(kind, &sums[cuts[begin]], &sums[cuts[end]], before);
                let total = best[begin].0 + cost + likely;
                if total > here.0 {
                    here = (total, begin, kind);
                }
            }
        }
        best.push(here);
    }
    let mut found = Vec::new();
    let mut end = cuts.len() - 1;
    while end > 0 {
        let (_, begin, kind) = best[end];
        found.push(Segment { kind, begin: cuts[begin], end: cuts[end], earliest: cuts[begin], latest: cuts[begin] });
        end = begin;
    }
    found.reverse();
    for at in 1..found.len() {
        bound(&mut found, at, &sums, runs, &likelihood);
    }
    found
}

/// Possible optimal cuts: between runs with different outcomes. If there are too many, the newest. A
/// failure that is proven to be flaky cannot be part of a breakage, so one may begin right after it.
fn cuts(runs: &[ScoredRun]) -> Vec<usize> {
    let outcome = |at: usize| (runs[at].fails(), runs[at] == ScoredRun::Flaked);
    let mut cuts: Vec<usize> = (1..runs.len()).filter(|at| outcome(at - 1) != outcome(*at)).collect();
    let surplus = cuts.len().saturating_sub(MOST_BLOCKS);
    cuts.drain(..surplus);
    cuts.insert(0, 0);
    cuts.push(runs.len());
    cuts
}

/// Bounds of the change with which a segment begins, everything else fixed.
fn bound(found: &mut [Segment], at: usize, sums: &[PrefixSums], runs: &[ScoredRun], likelihood: &SegmentLikelihood) {
    let (before, after) = (found[at - 1], found[at]);
    let places: Vec<usize> = (before.begin + 1..after.end).collect();
    let likely: Vec<f64> = places
        .iter()
        .map(|&place| {
            let first = before.begin.checked_sub(1).map(|at| runs[at]);
            likelihood.of(before.kind, &sums[before.begin], &sums[place], first)
                + likelihood.of(after.kind, &sums[place], &sums[after.end], Some(runs[place - 1]))
        })
        .collect();
    let most = likely.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = likely.iter().map(|one| (one - most).exp()).collect();
    let all: f64 = weights.iter().sum();
    let tail = (1.0 - CONFIDENCE) / 2.0 * all;
    let reach = |mut order: Box<dyn Iterator<Item = usize>>| {
        let mut sum = 0.0;
        order.by_ref().find(|&at| {
            sum += weights[at];
            sum >= tail
        })
    };
    let earliest = reach(Box::new(0..places.len())).map(|at| places[at]);
    let latest = reach(Box::new((0..places.len()).rev())).map(|at| places[at]);
    found[at].earliest = earliest.unwrap_or(after.begin).min(after.begin);
    found[at].latest = latest.unwrap_or(after.begin).max(after.begin);
}
