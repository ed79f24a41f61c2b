//! Calibration of scores on simulated histories whose true rates are known.

use std::collections::BTreeMap;

use super::*;
use crate::search::rng::SeededRng;

trait RandomRates {
    fn hits(&mut self, rate: f64) -> bool;
    fn between(&mut self, low: f64, high: f64) -> f64;
}

impl RandomRates for SeededRng {
    fn hits(&mut self, rate: f64) -> bool {
        self.unit() < rate
    }

    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }
}

/// A simulated history with the true probability of a flaky failure in its next run.
struct SimulatedHistory {
    runs: Vec<ScoredRun>,
    next: f64,
    /// Run of the last change of behaviour, if any.
    changed: Option<usize>,
}

/// A third of flaky failures are proven by a rerun.
fn flake(rng: &mut SeededRng) -> ScoredRun {
    if rng.hits(0.33) { ScoredRun::Flaked } else { ScoredRun::Failed }
}

fn drawn(rng: &mut SeededRng, rate: f64) -> ScoredRun {
    if rng.hits(rate) { flake(rng) } else { ScoredRun::Passed }
}

fn independent(rng: &mut SeededRng, length: usize) -> SimulatedHistory {
    let rate = flaky_rate(rng);
    SimulatedHistory { runs: (0..length).map(|_| drawn(rng, rate)).collect(), next: rate, changed: None }
}

/// Most tests are sound, and most others are hardly flaky.
fn flaky_rate(rng: &mut SeededRng) -> f64 {
    if rng.hits(0.7) { 0.0 } else { rng.between(0.0, 0.7).powi(2) }
}

fn bursty(rng: &mut SeededRng, length: usize) -> SimulatedHistory {
    let (begins, goes_on) = (rng.between(0.01, 0.05), rng.between(0.5, 0.8));
    let mut failing = false;
    let mut runs = Vec::new();
    for _ in 0..length {
        failing = rng.hits(if failing { goes_on } else { begins });
        runs.push(if failing { flake(rng) } else { ScoredRun::Passed });
    }
    SimulatedHistory { runs, next: if failing { goes_on } else { begins }, changed: None }
}

fn drifting(rng: &mut SeededRng, length: usize) -> SimulatedHistory {
    let (from, to) = (rng.between(0.0, 0.3), rng.between(0.0, 0.3));
    let rate = |at: usize| from + (to - from) * at as f64 / length as f64;
    SimulatedHistory { runs: (0..length).map(|at| drawn(rng, rate(at))).collect(), next: rate(length), changed: None }
}

/// Broken for a while, otherwise sound or slightly flaky.
fn broken(rng: &mut SeededRng, length: usize) -> SimulatedHistory {
    let mut history = independent(rng, length);
    let begin = rng.between(20.0, length as f64 - 10.0) as usize;
    let end = (begin + rng.between(3.0, 30.0) as usize).min(length);
    history.runs[begin..end].fill(ScoredRun::Failed);
    history.changed = Some(if end == length { begin } else { end });
    history
}

/// Flaky, then fixed.
fn fixed(rng: &mut SeededRng, length: usize) -> SimulatedHistory {
    let rate = rng.between(0.1, 0.4);
    let at = rng.between(40.0, length as f64 - 60.0) as usize;
    let runs = (0..length).map(|run| if run < at { drawn(rng, rate) } else { ScoredRun::Passed }).collect();
    SimulatedHistory { runs, next: 0.0, changed: Some(at) }
}

fn became_flaky(rng: &mut SeededRng, length: usize) -> SimulatedHistory {
    let rate = rng.between(0.1, 0.4);
    let at = rng.between(60.0, length as f64 - 40.0) as usize;
    let runs = (0..length).map(|run| if run < at { ScoredRun::Passed } else { drawn(rng, rate) }).collect();
    SimulatedHistory { runs, next: rate, changed: Some(at) }
}

type Draw = fn(&mut SeededRng, usize) -> SimulatedHistory;

/// Among tests with similar scores, as many fail in their next run as the score predicts.
#[test]
fn scores_are_calibrated() {
    let kinds: [(&str, Draw); 6] = [
        ("independent", independent),
        ("bursty", bursty),
        ("drifting", drifting),
        ("broken", broken),
        ("fixed", fixed),
        ("became flaky", became_flaky),
    ];
    let rng = &mut SeededRng(1);
    let bounds = [0.0, 0.01, 0.05, 0.15, 0.3, 0.5, 1.01];
    let mut buckets = vec![(0.0, 0.0, 0.0); bounds.len() - 1];
    for (name, draw) in kinds {
        let (mut predicted, mut truth, mut covered, mut count) = (0.0, 0.0, 0.0, 0.0);
        for _ in 0..400 {
            let history = draw(rng, 300);
            let score = score(&history.runs);
            predicted += score.probability;
            truth += history.next;
            covered += f64::from(u8::from((score.low..=score.high).contains(&history.next)));
            count += 1.0;
            let bucket = bounds.iter().skip(1).position(|bound| score.probability < *bound).unwrap();
            let sums = &mut buckets[bucket];
            *sums = (sums.0 + score.probability, sums.1 + history.next, sums.2 + 1.0);
        }
        assert!((predicted / count - truth / count).abs() < 0.03, "{name}");
        assert!(covered >= 0.75 * count, "{name}: {covered} of {count} within bounds");
    }
    for (bounds, (predicted, truth, count)) in bounds.windows(2).zip(&buckets) {
        let (predicted, truth) = (predicted / count, truth / count);
        assert!((predicted - truth).abs() < 0.02 + 0.25 * predicted, "{bounds:?}: {predicted} {truth}");
    }
}

/// Changes are located, and their bounds cover the truth.
#[test]
fn changes_are_located() {
    let rng = &mut SeededRng(2);
    for (name, draw, least) in
        [("broken", broken as Draw, 0.9), ("fixed", fixed, 0.8), ("became flaky", became_flaky, 0.8)]
    {
        let (mut found, mut covered, mut far) = (0, 0, Vec::new());
        for _ in 0..400 {
            let history = draw(rng, 300);
            let (Some(truth), Some(since)) = (history.changed, score(&history.runs).since) else { continue };
            found += 1;
            covered += usize::from((since.earliest..=since.latest).contains(&truth));
            far.push(since.run.abs_diff(truth));
        }
        far.sort_unstable();
        assert!(f64::from(found) >= least * 400.0, "{name}: {found}");
        assert!(covered as f64 >= 0.8 * f64::from(found), "{name}: {covered} of {found}");
    }
}

#[test]
fn a_breakage_does_not_raise_the_score() {
    let mut runs = vec![ScoredRun::Passed; 100];
    runs.extend([ScoredRun::Failed; 20]);
    let now = score(&runs);
    assert_eq!((now.state, now.failures, now.broken), (TestHealth::Broken, 0, 20));
    assert!(now.probability < 0.002, "{now:?}");
    assert_eq!(now.since.map(|since| (since.change, since.run)), Some((RateChange::Broken, 100)));
    runs.extend([ScoredRun::Passed; 30]);
    let later = score(&runs);
    assert_eq!((later.state, later.failures), (TestHealth::Sound, 0));
    assert_eq!(later.since.map(|since| (since.change, since.run)), Some((RateChange::Mended, 120)));
}

#[test]
fn one_failure_is_a_flake_and_several_in_a_row_of_a_sound_test_are_not() {
    let with = |failures: usize, before: usize| {
        let mut runs = vec![ScoredRun::Passed; before];
        runs.extend(vec![ScoredRun::Failed; failures]);
        runs.extend([ScoredRun::Passed; 60]);
        score(&runs)
    };
    assert_eq!((with(1, 200).state, with(1, 200).failures), (TestHealth::Flaky, 1));
    assert_eq!((with(3, 200).state, with(3, 200).broken), (TestHealth::Sound, 3));
    // A test that often fails may fail three times in a row.
    let often: Vec<ScoredRun> =
        (0..200).map(|at| if at % 3 == 0 { ScoredRun::Failed } else { ScoredRun::Passed }).collect();
    let mut runs = often.clone();
    runs.extend([ScoredRun::Failed; 3]);
    runs.extend(&often);
    assert_eq!(score(&runs).broken, 0);
}

/// Failures that passed with the same code are never a breakage, however many come in a row.
#[test]
fn proven_flakiness_is_never_broken() {
    let mut runs = vec![ScoredRun::Passed; 100];
    runs.extend([ScoredRun::Flaked; 10]);
    let score = score(&runs);
    assert_eq!((score.broken, score.failures), (0, 10));
    assert!(score.probability > 0.3, "{score:?}");
}

#[test]
fn few_runs_give_wide_bounds() {
    let new = score(&[ScoredRun::Passed; 3]);
    assert!(new.high > 0.03 && new.low < 0.001, "{new:?}");
    let old = score(&[ScoredRun::Passed; 500]);
    assert!(old.high < 0.01, "{old:?}");
    let flaky = score(&[ScoredRun::Passed, ScoredRun::Flaked, ScoredRun::Passed]);
    assert!(flaky.low < 0.05 && flaky.high > 0.3, "{flaky:?}");
    assert_eq!(score(&[]).runs, 0);
}

#[test]
fn the_shortcut_for_tests_that_never_failed_is_equal() {
    for runs in [0, 1, 7, 100, 999, 1000, 5000] {
        let (long, short) = (score(&vec![ScoredRun::Passed; runs]), Score::of_passes(runs));
        assert!((long.probability - short.probability).abs() < 1e-9 && (long.high - short.high).abs() < 1e-6);
        assert_eq!((long.runs, long.state, long.since), (short.runs, short.state, short.since));
    }
}

/// Recurring bursts of failures are no breakages.
#[test]
fn recurring_bursts_are_flaky() {
    let mut runs = Vec::new();
    for _ in 0..8 {
        runs.extend([ScoredRun::Passed; 30]);
        runs.extend([ScoredRun::Failed; 4]);
    }
    runs.extend([ScoredRun::Passed; 10]);
    let score = score(&runs);
    assert_eq!((score.state, score.failures), (TestHealth::Bursty, 32), "{score:?}");
}

/// What a history of a few runs is, and what the score says of it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Story {
    Broken,
    Mended,
    Flaky,
}

impl Story {
    fn read(score: &Score) -> Option<Self> {
        match (score.state, score.since.map(|since| since.change)) {
            (TestHealth::Broken, _) => Some(Self::Broken),
            (TestHealth::Sound, Some(RateChange::Mended)) if score.failures == 0 => Some(Self::Mended),
            _ if score.is_flaky() => Some(Self::Flaky),
            _ => None,
        }
    }
}

/// `passes`, `failures` and `passes` again. `fails`: what a failure without a flaky cause is. Of
/// a flaky test as many runs fail, anywhere in the history.
fn history(rng: &mut SeededRng, story: Story, shape: (usize, usize, usize), fails: ScoredRun) -> Vec<ScoredRun> {
    let (before, failures, after) = shape;
    let mut runs = vec![ScoredRun::Passed; before];
    runs.resize(before + failures, fails);
    match story {
        Story::Broken => runs,
        Story::Mended => {
            runs.resize(before + failures + after, ScoredRun::Passed);
            runs
        }
        Story::Flaky => {
            let length = before + failures + after;
            let rate = failures as f64 / length as f64;
            // Four reruns after each failure, where failures are rerun at all.
            let flaked = |rng: &mut SeededRng| match fails {
                ScoredRun::Real if !rng.hits(rate.powi(4)) => ScoredRun::Flaked,
                _ => fails,
            };
            let mut runs = vec![ScoredRun::Passed; length];
            while runs.iter().all(|run| !run.fails()) {
                runs = (0..length).map(|_| if rng.hits(rate) { flaked(rng) } else { ScoredRun::Passed }).collect();
            }
            runs
        }
    }
}

/// Passes, failures and passes. Two failures in a row, or one, mean a breakage only where reruns
/// have found them to be real.
#[test]
fn breakages_and_flaky_tests_are_told_apart() {
    let shapes = [(5, 3, 5), (5, 5, 5), (19, 5, 6), (20, 3, 10), (50, 4, 20), (100, 10, 100)];
    let few = [(5, 1, 5), (5, 2, 5), (30, 2, 3), (50, 1, 50)];
    let rng = &mut SeededRng(3);
    let rerun = shapes.iter().chain(&few).map(|shape| (ScoredRun::Real, *shape));
    for (fails, shape) in rerun.chain(shapes[1..].iter().map(|shape| (ScoredRun::Failed, *shape))) {
        for story in [Story::Broken, Story::Mended, Story::Flaky] {
            let is_right = |_: &i32| Story::read(&score(&history(rng, story, shape, fails))) == Some(story);
            let right = (0..100).filter(is_right).count();
            assert!(right >= 95, "{fails:?} {shape:?} {story:?}: {right} of 100");
        }
    }
}

#[test]
fn a_mended_test_stays_mended_while_it_passes() {
    for (before, failures) in [(0, 4), (5, 2), (19, 5), (100, 10)] {
        let mut runs = vec![ScoredRun::Passed; before];
        runs.resize(before + failures, ScoredRun::Real);
        assert_eq!(Story::read(&score(&runs)), Some(Story::Broken));
        for passes in 1..200 {
            runs.push(ScoredRun::Passed);
            assert_eq!(Story::read(&score(&runs)), Some(Story::Mended), "{before} {failures} {passes}");
        }
    }
}

/// Every shape between the shortest and the longest, with reruns: at least 95 % of the histories of a
/// shape are told right.
#[test]
fn shapes_from_short_to_long_are_told_apart() {
    let rng = &mut SeededRng(5);
    let mut all = (0, 0);
    let mut stories = BTreeMap::new();
    for before in [5, 10, 20, 40, 70, 100] {
        for failures in [2, 3, 5, 7, 10] {
            for after in [5, 20, 50, 100] {
                let shape = (before, failures, after);
                for story in [Story::Broken, Story::Mended, Story::Flaky] {
                    let is_right =
                        |_: &i32| Story::read(&score(&history(rng, story, shape, ScoredRun::Real))) == Some(story);
                    let right = (0..40).filter(is_right).count();
                    assert!(right >= 36, "{shape:?} {story:?}: {right} of 40");
                    all = (all.0 + right, all.1 + 40);
                    let of_story = stories.entry(format!("{story:?}")).or_insert((0, 0));
                    *of_story = (of_story.0 + right, of_story.1 + 40);
                }
            }
        }
    }
    assert!(stories.values().all(|(right, of)| 100 * right >= 95 * of), "{stories:?}");
    assert!(100 * all.0 >= 95 * all.1, "{all:?}");
}

/// More of the same is no new evidence: passes change the state of a test at most once, from what it was
/// to sound, and failures of a broken test never do.
#[test]
fn no_state_changes_its_mind_without_new_evidence() {
    let rng = &mut SeededRng(6);
    let draws: [Draw; 6] = [independent, bursty, drifting, broken, fixed, became_flaky];
    for (at, draw) in draws.iter().cycle().take(60).enumerate() {
        let length = 90 + at;
        let mut runs = draw(rng, 150).runs;
        runs.truncate(length);
        assert_eq!(score(&runs), score(&runs.clone()));
        let mut states = vec![score(&runs).state];
        let mut failing = runs.clone();
        for _ in 0..40 {
            runs.push(ScoredRun::Passed);
            states.push(score(&runs).state);
        }
        states.dedup();
        let is_settled = |states: &[TestHealth]| match states {
            [_] => true,
            [.., last] => *last == TestHealth::Sound && !states[..states.len() - 1].contains(&TestHealth::Sound),
            [] => false,
        };
        assert!(is_settled(&states), "{at}: {states:?}");
        // Six real failures in a row break any test, and it stays broken.
        failing.extend([ScoredRun::Real; 6]);
        assert_eq!(score(&failing).state, TestHealth::Broken, "{at}");
        for more in 0..30 {
            failing.push(ScoredRun::Real);
            assert_eq!(score(&failing).state, TestHealth::Broken, "{at} {more}");
        }
    }
}
