//! The flakiness score of a test: its probability of a flaky failure in the next run.
//!
//! Recent runs weigh more. Breakages do not raise the score: runs in which the test, or something
//! else such as a machine, was broken are excluded. Tests with few runs have wide bounds.

use crate::score::change_points::{Behaviour, MOST_RUNS, Segment, segments};
use crate::stats::beta::quantile;

/// How a test ended in one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScoredRun {
    Passed,
    /// It failed, and passed in the same run or with the same code.
    Flaked,
    /// It failed, and nothing excuses it.
    Failed,
    /// It failed in all of the reruns that tell real failures from flaky ones.
    Real,
}

impl ScoredRun {
    pub(crate) fn fails(self) -> bool {
        self != Self::Passed
    }
}

/// Number of runs after which a run's weight is halved.
const HALF_LIFE: f64 = 60.0;
/// Weight of runs before a change of behaviour relative to those after it.
const BEFORE_A_CHANGE: f64 = 0.05;
/// Prior: before its first run a test is assumed to be hardly flaky. Failures and passes.
const FAILURES: f64 = 0.1;
const PASSES: f64 = 4.0;
/// The 90 % interval of the rate.
const BOUNDS: [f64; 2] = [0.05, 0.95];
/// Minimum failure rate before a change for a test to be reported as fixed or newly flaky.
const REPORTED_RATE: f64 = 0.01;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    /// Probability of a flaky failure in the next run.
    pub probability: f64,
    pub low: f64,
    pub high: f64,
    /// Counted runs, and flaky failures among them.
    pub runs: usize,
    pub failures: usize,
    /// Failures that were not counted because the test was broken.
    pub broken: usize,
    pub state: TestHealth,
    pub since: Option<FlakySince>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestHealth {
    /// No flaky failure since its last change.
    Sound,
    Flaky,
    /// It fails in bursts.
    Bursty,
    Broken,
}

/// The last change of behaviour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlakySince {
    pub change: RateChange,
    /// The first run after it with its 90 % bounds; indexes into the given runs.
    pub run: usize,
    pub earliest: usize,
    pub latest: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateChange {
    Broken,
    /// It was broken and passes again.
    Mended,
    Flaky,
    /// It was flaky and no longer is.
    Fixed,
    Worse,
    Better,
}

/// The score after these runs, oldest first.
pub fn score(runs: &[ScoredRun]) -> Score {
    let skipped = runs.len().saturating_sub(MOST_RUNS);
    let runs = &runs[skipped..];
    let segments = segments(runs);
    let counted = WeightedCounts::of(runs, &segments);
    let last = segments.last();
    let usual = (FAILURES + counted.failed, PASSES + counted.passed);
    let (a, b) = last.and_then(|last| after_last(last, runs)).unwrap_or(usual);
    let within = |segment: &Segment| runs[segment.begin..segment.end].iter().filter(|seen| seen.fails()).count();
    let state = match last {
        Some(segment) if segment.kind == Behaviour::Broken => TestHealth::Broken,
        Some(segment) if segment.kind == Behaviour::Bursty => TestHealth::Bursty,
        Some(segment) if within(segment) > 0 => TestHealth::Flaky,
        _ => TestHealth::Sound,
    };
    let (low, high) = bounds(a, b, state == TestHealth::Sound);
    let since = since(runs, &segments).map(|since| FlakySince {
        run: since.run + skipped,
        earliest: since.earliest + skipped,
        latest: since.latest + skipped,
        ..since
    });
    Score {
        probability: a / (a + b),
        low,
        high,
        runs: runs.len() - counted.excluded,
        failures: counted.failures,
        broken: counted.broken,
        state,
        since,
    }
}

/// The lower bound is zero for a test that has not failed since its last change.
fn bounds(a: f64, b: f64, sound: bool) -> (f64, f64) {
    let low = if sound { 0.0 } else { quantile(BOUNDS[0], a, b).min(a / (a + b)) };
    (low, quantile(BOUNDS[1], a, b))
}

impl Score {
    /// The score of a test that never failed. Equal to [`score`], but cheaper.
    pub fn of_passes(runs: usize) -> Self {
        let runs = runs.min(MOST_RUNS);
        let passed = weight_of(runs);
        let (a, b) = (FAILURES, PASSES + passed);
        let (low, high) = bounds(a, b, true);
        Self {
            probability: a / (a + b),
            low,
            high,
            runs,
            failures: 0,
            broken: 0,
            state: TestHealth::Sound,
            since: None,
        }
    }

    /// Whether it needs attention: it has failed because of flakiness, and recently enough to
    /// matter.
    pub fn is_flaky(&self) -> bool {
        self.failures > 0 && matches!(self.state, TestHealth::Flaky | TestHealth::Bursty)
    }
}

/// Total weight of this many runs, the last of which weighs 1.
fn weight_of(runs: usize) -> f64 {
    let fade = 0.5_f64.powf(1.0 / HALF_LIFE);
    (1.0 - fade.powi(runs as i32)) / (1.0 - fade)
}

#[derive(Default)]
struct WeightedCounts {
    /// Weighted.
    failed: f64,
    passed: f64,
    failures: usize,
    broken: usize,
    excluded: usize,
}

impl WeightedCounts {
    fn of(runs: &[ScoredRun], segments: &[Segment]) -> Self {
        let fade = 0.5_f64.powf(1.0 / HALF_LIFE);
        let (mut counted, mut weight, mut later) = (Self::default(), 1.0, None::<Behaviour>);
        for segment in segments.iter().rev() {
            let part = &runs[segment.begin..segment.end];
            if segment.kind == Behaviour::Broken {
                counted.excluded += part.len();
                counted.broken += part.iter().filter(|seen| seen.fails()).count();
                continue;
            }
            if later.is_some() {
                weight *= BEFORE_A_CHANGE;
            }
            // A test that was broken in between is still the same test.
            later = Some(segment.kind);
            for seen in part.iter().rev() {
                let fails = seen.fails();
                *(if fails { &mut counted.failed } else { &mut counted.passed }) += weight;
                counted.failures += usize::from(fails);
                weight *= fade;
            }
        }
        counted
    }
}

/// For a bursty test the last run is most informative: failures and passes after runs like it.
fn after_last(last: &Segment, runs: &[ScoredRun]) -> Option<(f64, f64)> {
    if last.kind != Behaviour::Bursty {
        return None;
    }
    let part = &runs[last.begin..last.end];
    let fails = |seen: &ScoredRun| *seen != ScoredRun::Passed;
    let failing = part.last().is_some_and(fails);
    let (mut a, mut b) = if failing { (1.0, 1.0) } else { (FAILURES, PASSES) };
    for pair in part.windows(2).filter(|pair| fails(&pair[0]) == failing) {
        *(if fails(&pair[1]) { &mut a } else { &mut b }) += 1.0;
    }
    Some((a, b))
}

fn since(runs: &[ScoredRun], segments: &[Segment]) -> Option<FlakySince> {
    let [.., before, after] = segments else { return None };
    let rate = |segment: &Segment| {
        let part = &runs[segment.begin..segment.end];
        part.iter().filter(|seen| seen.fails()).count() as f64 / part.len().max(1) as f64
    };
    let change = match (before.kind, after.kind) {
        (_, Behaviour::Broken) => RateChange::Broken,
        (Behaviour::Broken, _) => RateChange::Mended,
        _ if rate(after) == 0.0 && rate(before) >= REPORTED_RATE => RateChange::Fixed,
        _ if rate(before) < REPORTED_RATE && rate(after) > rate(before) => RateChange::Flaky,
        _ if rate(after) > rate(before) => RateChange::Worse,
        _ => RateChange::Better,
    };
    Some(FlakySince { change, run: after.begin, earliest: after.earliest, latest: after.latest })
}

#[cfg(test)]
mod tests;
