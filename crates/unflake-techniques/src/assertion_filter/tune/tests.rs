//! Tests of `tune`.

use super::*;
use crate::assertion_filter::flakiness::accumulate;
use crate::assertion_filter::gao_example::{FIRST, REVEALING, samples};

fn example() -> Vec<ScoredFailure> {
    let label = |name: &str| REVEALING.contains(&name).then_some(FailureLabel::True);
    accumulate(samples("v1", &FIRST))
        .iter()
        .zip(FIRST)
        .map(|(known, (name, _))| ScoredFailure { score: known.score(), label: label(name) })
        .collect()
}

fn near(one: f64, other: f64) -> bool {
    (one - other).abs() < 0.005
}

#[test]
fn shares_match_the_running_example() {
    let all = example();
    for (threshold, taken, stay) in
        [(0.0, 1.0, 0.5), (0.3, 1.0, 0.5), (0.4, 0.75, 1.0), (0.6, 0.75, 1.0), (0.7, 0.5, 1.0), (1.3, 0.0, 1.0)]
    {
        assert_eq!((removed(&all, threshold), kept(&all, threshold)), (Some(taken), Some(stay)), "at {threshold}");
    }
}

#[test]
fn the_balance_matches_the_running_example() {
    let (threshold, share) = balance(&curve(&example())).unwrap();
    assert!(near(threshold, 0.37) && near(share, 0.83), "{threshold} {share}");
}

#[test]
fn the_recommendation_is_the_smallest_threshold_that_loses_no_bug() {
    let advice = advise(&example()).unwrap();
    assert_eq!(advice.point, ThresholdPoint { threshold: 0.33, removed: Some(0.75), kept: Some(1.0) });
    assert_eq!((advice.bugs, advice.varied), (2, 4));
    assert!(near(advice.may_lose, 0.78), "two bugs prove little: {}", advice.may_lose);
}

#[test]
fn intended_updates_must_stay_visible() {
    let scored = |score, label| ScoredFailure { score, label: Some(label) };
    let all = [scored(0.0, FailureLabel::True), scored(0.5, FailureLabel::Update), scored(1.0, FailureLabel::Flaky)];
    assert_eq!(advise(&all).unwrap().point.threshold, 0.5);
}

#[test]
fn bugs_that_never_varied_need_no_threshold() {
    let all = [
        ScoredFailure { score: 0.0, label: Some(FailureLabel::True) },
        ScoredFailure { score: 0.3, label: Some(FailureLabel::Flaky) },
    ];
    let advice = advise(&all).unwrap();
    assert_eq!(advice.point, ThresholdPoint { threshold: 0.0, removed: Some(1.0), kept: Some(1.0) });
    assert_eq!(advice.balance, Some((0.0, 1.0)));
}

#[test]
fn without_labels_nothing_is_recommended() {
    assert_eq!(advise(&[ScoredFailure { score: 1.0, label: Some(FailureLabel::Flaky) }]), None);
    assert_eq!(balance(&curve(&[ScoredFailure { score: 1.0, label: None }])), None);
}
