//! Tests of `value_split`.

use super::*;

fn split_numbers(failing: &[f64], passing: &[f64]) -> ValueSplitRule {
    let numbers: Vec<Option<f64>> = failing.iter().chain(passing).map(|number| Some(*number)).collect();
    let failed: Vec<bool> = (0..numbers.len()).map(|at| at < failing.len()).collect();
    let exact = ExactTest::new(numbers.len());
    RunOutcomes { failed: &failed, exact: &exact }.numbers(&numbers).unwrap()
}

fn split_words(failing: &[&str], passing: &[&str]) -> Option<ValueSplitRule> {
    let sample = |word: &&str| {
        let word: Arc<str> = (*word).into();
        Some(FeatureSample { at: 1.0, value: FeatureValue::Word(word.clone()), shown: word })
            .filter(|sample| &*sample.shown != "-")
    };
    let samples: Vec<Option<FeatureSample>> = failing.iter().chain(passing).map(sample).collect();
    let failed: Vec<bool> = (0..samples.len()).map(|at| at < failing.len()).collect();
    let exact = ExactTest::new(samples.len());
    RunOutcomes { failed: &failed, exact: &exact }.split(&samples)
}

#[test]
fn a_pure_threshold_has_two_arrangements() {
    let found = split_numbers(&[0.95, 0.99], &[0.1, 0.5, 0.92]);
    assert_eq!(found.rule, SplitRule::AtLeast(Some(0.92), 0.95));
    assert_eq!(found.predicts, [true, true, false, false, false]);
    assert!((found.p_value - 2.0 / 10.0).abs() < 1e-12);
    assert_eq!(split_numbers(&[1.0, 2.0], &[3.0, 4.0, 5.0]).rule, SplitRule::AtMost(2.0, Some(3.0)));
}

#[test]
fn a_range_in_the_middle_is_found() {
    let failing: Vec<f64> = (10..20).map(f64::from).collect();
    let passing: Vec<f64> = (0..10).chain(20..40).map(f64::from).collect();
    assert_eq!(split_numbers(&failing, &passing).rule, SplitRule::Between(10.0, 19.0));
    assert_eq!(split_numbers(&passing, &failing).rule, SplitRule::Outside(10.0, 19.0));
}

#[test]
fn a_misprediction_weakens_a_split_without_voiding_it() {
    let (failing, mut passing): (Vec<f64>, Vec<f64>) =
        ((60..80).map(f64::from).collect(), (0..30).map(f64::from).collect());
    let clear = split_numbers(&failing, &passing).p_value;
    passing.push(65.5);
    let found = split_numbers(&failing, &passing);
    assert!(found.p_value > clear && found.p_value < 1e-6, "{}", found.p_value);
}

#[test]
fn words_that_differ_in_every_run_are_insignificant() {
    assert!(split_words(&["a", "b", "c"], &["d", "e", "f"]).unwrap().p_value > 0.999);
    let found = split_words(&["a"; 5], &["b"; 5]).unwrap();
    assert_eq!(found.rule, SplitRule::OneOf(vec!["a".into()]));
    assert!((found.p_value - 2.0 / 252.0).abs() < 1e-12);
    assert!(split_words(&["a", "a"], &["a", "a"]).is_none());
}

#[test]
fn missing_values_are_no_evidence() {
    let found = split_words(&["-", "-", "-", "b"], &["c"; 20]);
    assert!(found.is_none_or(|found| found.predicts.iter().filter(|predicts| **predicts).count() == 1));
}

#[test]
fn thresholds_are_short_and_exact() {
    assert_eq!(shortest_between(0.9312, Some(0.9288)), "0.93");
    assert_eq!(shortest_between(0.9312, Some(0.9311)), "0.9312");
    assert_eq!(shortest_between(61.0, Some(58.0)), "61");
    assert_eq!(shortest_between(0.25, Some(0.61)), "0.3");
    assert_eq!(shortest_between(-0.5, Some(-0.9)), "-0.5");
    assert_eq!(shortest_between(7.0, None), "7");
}
