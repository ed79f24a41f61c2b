//! Tests of `entropy`.

use proptest::prelude::*;

use super::*;

/// Table 3.1 of Gao's dissertation: the lines that four tests cover in four runs.
const TABLE: [[&[u32]; 4]; 4] = [
    [&[2, 3], &[2, 3], &[2, 3], &[2, 3]],
    [&[1, 2, 4], &[1, 2, 4, 5], &[1, 2, 4, 5], &[1, 2, 4, 5]],
    [&[2, 5], &[2, 5], &[1, 2, 4, 5], &[1, 2, 4, 5]],
    [&[2, 3, 4], &[2, 3, 4], &[2, 4], &[2, 3, 4, 6]],
];

fn differing(runs: &[Vec<u32>]) -> Vec<u32> {
    inconsistent(runs.iter().map(|run| (&run[..], 1))).into_keys().collect()
}

fn suite() -> Vec<Vec<u32>> {
    let union = |run: usize| {
        let mut lines: Vec<u32> = TABLE.iter().flat_map(|test| test[run].iter().copied()).collect();
        lines.sort_unstable();
        lines.dedup();
        lines
    };
    (0..4).map(union).collect()
}

fn rounded(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}

/// Table 3.2: inconsistent lines, range, groups and entropy.
#[test]
fn the_tables_of_the_dissertation_are_reproduced() {
    let expected: [(&[u32], &[u32], f64); 5] = [
        (&[], &[4], 0.0),
        (&[5], &[3, 1], 0.56),
        (&[1, 4], &[2, 2], 0.69),
        (&[3, 6], &[2, 1, 1], 1.04),
        (&[6], &[3, 1], 0.56),
    ];
    let tests = TABLE.map(|test| test.map(<[u32]>::to_vec).to_vec());
    let rows: Vec<_> = tests.iter().cloned().chain([suite()]).collect();
    for (runs, (lines, sizes, h)) in rows.iter().zip(expected) {
        assert_eq!(differing(runs), lines);
        assert_eq!(groups(runs), sizes);
        assert_eq!(rounded(entropy(sizes)), h);
    }
    let average = |of: &dyn Fn(&Vec<Vec<u32>>) -> f64| tests.iter().map(of).sum::<f64>() / 4.0;
    assert_eq!(average(&|runs| differing(runs).len() as f64), 1.25);
    assert_eq!(rounded(average(&|runs| entropy(&groups(runs)))), 0.57);
}

#[test]
fn entropy_matches_the_text_of_its_chapter() {
    assert_eq!(entropy(&[4]).to_string(), "0");
    assert_eq!(rounded(entropy(&[1; 10])), 2.30);
    assert_eq!(rounded(entropy(&[9, 1])), 0.33);
    assert_eq!(entropy(&[]), 0.0);
}

/// Formula 4.1, on its own table: run 1 is the truth, so TC2 is wrong three times, TC3 twice, TC4
/// twice, of 4 · 3.
#[test]
fn false_positives_are_counted_against_the_first_run() {
    let wrong: Vec<u32> = TABLE.iter().map(|test| false_positives(&test[..])).collect();
    assert_eq!(wrong, [0, 3, 2, 2]);
    let rate = f64::from(wrong.iter().sum::<u32>()) / (4.0 * 3.0) * 100.0;
    assert_eq!(rounded(rate), 58.33);
    assert_eq!(false_positives(&suite()), 1);
    assert_eq!(false_positives::<u32>(&[]), 0);
}

proptest! {
    #[test]
    fn entropy_is_bounded_by_the_number_of_runs(outputs in prop::collection::vec(0_u8..6, 1..40)) {
        let sizes = groups(&outputs);
        let h = entropy(&sizes);
        prop_assert!(h >= 0.0 && h <= (outputs.len() as f64).ln() + 1e-9);
        prop_assert_eq!(h == 0.0, sizes.len() == 1);
        prop_assert_eq!(sizes.iter().sum::<u32>() as usize, outputs.len());
    }

    #[test]
    fn the_order_of_runs_does_not_matter(
        (runs, shuffled) in prop::collection::vec(prop::collection::btree_set(0_u32..8, 0..6), 1..12)
            .prop_flat_map(|runs| (Just(runs.clone()), Just(runs).prop_shuffle()))
    ) {
        let vectors = |runs: &[std::collections::BTreeSet<u32>]| -> Vec<Vec<u32>> {
            runs.iter().map(|run| run.iter().copied().collect()).collect()
        };
        prop_assert_eq!(groups(&runs), groups(&shuffled));
        prop_assert_eq!(differing(&vectors(&runs)), differing(&vectors(&shuffled)));
    }

    #[test]
    fn equal_runs_can_be_grouped(
        runs in prop::collection::vec(prop::collection::btree_set(0_u32..8, 0..6), 1..12)
    ) {
        let runs: Vec<Vec<u32>> = runs.iter().map(|run| run.iter().copied().collect()).collect();
        let mut grouped: HashMap<&[u32], u32> = HashMap::new();
        runs.iter().for_each(|run| *grouped.entry(run).or_default() += 1);
        let ungrouped = inconsistent(runs.iter().map(|run| (&run[..], 1)));
        prop_assert_eq!(inconsistent(grouped), ungrouped.clone());
        prop_assert_eq!(groups(&runs).len() == 1, ungrouped.is_empty());
    }
}
