use balance::{mean, total};

const ENTRIES: usize = 2000;

/// A part of a ledger: many small entries that come to `sum`.
fn part(entries: usize, sum: f64) -> Vec<f64> {
    vec![sum / entries as f64; entries]
}

#[test]
fn total_of_a_year() {
    let year: Vec<Vec<f64>> = (1..=12).map(|month| part(ENTRIES, 1234.56 * f64::from(month))).collect();
    let month_by_month = year.iter().fold(0.0, |total, month| total + month.iter().sum::<f64>());

    assert_eq!(total(&year), month_by_month, "the total is off");
}

#[test]
fn nothing_comes_to_nothing() {
    assert_eq!(total(&[]), 0.0);
    assert_eq!(mean(&[]), None);
}

#[test]
fn whole_numbers_add_up() {
    assert_eq!(total(&[part(10, 20.0), part(10, 40.0), part(10, 60.0)]), 120.0);
}

#[test]
fn mean_of_equal_entries() {
    assert_eq!(mean(&[part(4, 8.0), part(2, 4.0)]), Some(2.0));
}
