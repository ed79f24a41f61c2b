use std::collections::BTreeSet;
use std::path::Path;

use lottery::{hits, Lottery};

#[test]
fn six_different_numbers_are_drawn() {
    let drawn = Lottery::from_file(Path::new("tests/lottery.seed")).unwrap().draw();
    let different: BTreeSet<u8> = drawn.into_iter().collect();

    assert_eq!(different.len(), 6, "a number was drawn twice: {drawn:?}");
}

#[test]
fn a_draw_can_be_repeated() {
    assert_eq!(Lottery::from_seed(7).draw(), Lottery::from_seed(7).draw());
}

#[test]
fn numbers_are_from_1_to_49() {
    let mut lottery = Lottery::from_seed(1);

    assert!((0..1000).flat_map(|_| lottery.draw()).all(|number| (1..=49).contains(&number)));
}

#[test]
fn hits_are_counted() {
    assert_eq!(hits(&[1, 2, 3, 4, 5, 6], &[2, 4, 6, 8, 10, 12]), 3);
}
