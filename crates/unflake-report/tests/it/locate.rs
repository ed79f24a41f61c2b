//! Divergence points on a terminal.

use insta::assert_snapshot;

use crate::divergences::*;
use crate::samples::{ASCII, COLOUR, NARROW, WIDE};

#[test]
fn a_value_that_decides() {
    assert_snapshot!(drawn().terminal(&WIDE, false));
}

#[test]
fn the_same_narrow() {
    assert_snapshot!(drawn().terminal(&NARROW, false));
}

#[test]
fn the_same_in_ascii() {
    let page = drawn().terminal(&ASCII, false);
    assert!(page.is_ascii(), "{page}");
    assert_snapshot!(page);
}

#[test]
fn the_same_quiet() {
    assert_snapshot!(drawn().terminal(&WIDE, true));
}

#[test]
fn the_same_in_colour() {
    assert_snapshot!(drawn().terminal(&COLOUR, false).replace('\x1b', "ESC"));
}

#[test]
fn two_divergence_points() {
    assert_snapshot!(two_points().terminal(&WIDE, false));
}

#[test]
fn another_order_and_no_source() {
    assert_snapshot!(another_order().terminal(&WIDE, false));
}

#[test]
fn no_difference_found() {
    assert_snapshot!(unknown().terminal(&WIDE, false));
}

#[test]
fn locations_far_apart() {
    assert_snapshot!(distant_locations().terminal(&WIDE, false));
}

#[test]
fn hostile_text_is_bounded() {
    let page = hostile().terminal(&WIDE, false);
    assert!(page.lines().count() < 120 && page.lines().all(|line| line.len() < 500), "{page}");
}
