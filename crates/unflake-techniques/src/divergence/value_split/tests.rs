use super::*;

fn of(failing: &[f64], passing: &[f64]) -> Found {
    let numbers: Vec<Option<f64>> = failing.iter().chain(passing).map(|number| Some(*number)).collect();
    let failed: Vec<bool> = (0..numbers.len()).map(|at| at < failing.len()).collect();
    let chance = Chance::new(numbers.len());
    Outcomes { failed: &failed, chance: &chance }.numbers(&numbers).unwrap()
}

fn of_words(failing: &[&str], passing: &[&str]) -> Option<Found> {
    let answer = |word: &&str| {
        let word: Arc<str> = (*word).into();
        Some(Answer { at: 1.0, is: Is::Word(word.clone()), shown: word }).filter(|answer| &*answer.shown != "-")
    };
    let answers: Vec<Option<Answer>> = failing.iter().chain(passing).map(answer).collect();
    let failed: Vec<bool> = (0..answers.len()).map(|at| at < failing.len()).collect();
    let chance = Chance::new(answers.len());
    Outcomes { failed: &failed, chance: &chance }.split(&answers)
}

#[test]
fn a_pure_threshold_has_two_arrangements() {
    let found = of(&[0.95, 0.99], &[0.1, 0.5, 0.92]);
    assert_eq!(found.test, Test::AtLeast(Some(0.92), 0.95));
    assert_eq!(found.says, [true, true, false, false, false]);
    assert!((found.chance - 2.0 / 10.0).abs() < 1e-12);
    assert_eq!(of(&[1.0, 2.0], &[3.0, 4.0, 5.0]).test, Test::AtMost(2.0, Some(3.0)));
}

#[test]
fn a_range_in_the_middle_is_found() {
    let failing: Vec<f64> = (10..20).map(f64::from).collect();
    let passing: Vec<f64> = (0..10).chain(20..40).map(f64::from).collect();
    assert_eq!(of(&failing, &passing).test, Test::Between(10.0, 19.0));
    assert_eq!(of(&passing, &failing).test, Test::Outside(10.0, 19.0));
}

#[test]
fn a_misprediction_weakens_a_split_without_voiding_it() {
    let (failing, mut passing): (Vec<f64>, Vec<f64>) =
        ((60..80).map(f64::from).collect(), (0..30).map(f64::from).collect());
    let clear = of(&failing, &passing).chance;
    passing.push(65.5);
    let found = of(&failing, &passing);
    assert!(found.chance > clear && found.chance < 1e-6, "{}", found.chance);
}

#[test]
fn words_that_differ_in_every_run_are_insignificant() {
    assert!(of_words(&["a", "b", "c"], &["d", "e", "f"]).unwrap().chance > 0.999);
    let found = of_words(&["a"; 5], &["b"; 5]).unwrap();
    assert_eq!(found.test, Test::OneOf(vec!["a".into()]));
    assert!((found.chance - 2.0 / 252.0).abs() < 1e-12);
    assert!(of_words(&["a", "a"], &["a", "a"]).is_none());
}

#[test]
fn missing_values_are_no_evidence() {
    let found = of_words(&["-", "-", "-", "b"], &["c"; 20]);
    assert!(found.is_none_or(|found| found.says.iter().filter(|says| **says).count() == 1));
}

#[test]
fn thresholds_are_short_and_exact() {
    assert_eq!(between(0.9312, Some(0.9288)), "0.93");
    assert_eq!(between(0.9312, Some(0.9311)), "0.9312");
    assert_eq!(between(61.0, Some(58.0)), "61");
    assert_eq!(between(0.25, Some(0.61)), "0.3");
    assert_eq!(between(-0.5, Some(-0.9)), "-0.5");
    assert_eq!(between(7.0, None), "7");
}
