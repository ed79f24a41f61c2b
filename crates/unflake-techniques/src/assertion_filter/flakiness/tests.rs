//! Tests of `flakiness`.

use super::*;
use crate::assertion_filter::gao_example::{FIRST, SECOND, assertion, samples};

fn two_decimals(score: f64) -> f64 {
    (score * 100.0).round() / 100.0
}

/// Assertions whose score exceeds a threshold.
fn flaky(known: &[Flakiness], threshold: f64) -> Vec<Assertion> {
    known.iter().filter(|one| one.score() > threshold).map(|one| one.assertion.clone()).collect()
}

#[test]
fn scores_match_the_running_example() {
    let known = accumulate(samples("v1", &FIRST));
    let scores: Vec<f64> = known.iter().map(|one| two_decimals(one.score())).collect();
    assert_eq!(scores, [0.0, 1.03, 1.28, 0.0, 0.33, 0.61]);
    let tests = test_scores(&known);
    assert_eq!((tests.len(), two_decimals(tests[0].1)), (1, 1.28));
}

#[test]
fn ten_different_values_score_highest() {
    let values: Vec<String> = (0..10).map(|n| n.to_string()).collect();
    let values: Vec<(&str, u32)> = values.iter().map(|value| (value.as_str(), 1)).collect();
    let known = accumulate(samples("v1", &[("asr1", &values)]));
    assert_eq!(two_decimals(known[0].score()), 2.30);
}

#[test]
fn accumulated_versions_filter_one_more_failure() {
    let single = flaky(&accumulate(samples("v2", &SECOND)), 0.0);
    let all = samples("v1", &FIRST).into_iter().chain(samples("v2", &SECOND));
    let accumulated = flaky(&accumulate(all), 0.0);
    let failed_on_the_third = ["asr2", "asr3", "asr4", "asr6"].map(assertion);
    let filtered = |flaky: &[Assertion]| failed_on_the_third.iter().filter(|one| flaky.contains(one)).count();
    assert_eq!((filtered(&single), filtered(&accumulated)), (2, 3));
    assert!(!accumulated.contains(&assertion("asr4")), "the bug that is not mended stays");
}

#[test]
fn runs_of_one_version_form_one_sample_and_versions_stay_separate() {
    let once = |version: &str, value: &'static str| samples(version, &[("asr6", &[(value, 5)])]);
    let same = accumulate(once("v1", "22").into_iter().chain(once("v1", "17")));
    assert_eq!((two_decimals(same[0].score()), same[0].worst().runs()), (0.69, 10));
    // A difference between versions is a change, not chance.
    let two = accumulate(once("v1", "22").into_iter().chain(once("v2", "17")));
    assert_eq!((two[0].score(), two[0].worst_inconsistent()), (0.0, None));
}

#[test]
fn values_that_vary_without_changing_the_result_are_consistent() {
    let known = accumulate(samples("v1", &[("asr1", &[("1", 5), ("2", 5)]), ("asr6", &[("22", 9), ("17", 1)])]));
    assert!(known[0].score() > 0.6 && known[0].worst_inconsistent().is_none());
    assert_eq!(known[1].worst_inconsistent().map(VersionSample::runs), Some(10));
    assert_eq!(known[1].failing(), ["dialog.asr6 = 17"]);
}

#[test]
fn the_object_is_the_receiver_of_the_varying_expression() {
    let known = accumulate(samples("v1", &FIRST));
    assert_eq!(known[1].varying(), Some("dialog.asr2"));
    assert_eq!(known[0].varying(), None);
    let objects = object_scores(&known);
    assert_eq!((objects.len(), objects[0].0.0.as_str(), two_decimals(objects[0].1)), (1, "dialog", 1.28));
}
