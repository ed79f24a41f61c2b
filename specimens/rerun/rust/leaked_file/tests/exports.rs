use std::fs;
use std::path::Path;

use export::{export, sweep, Refusal};

const DIRECTORY: &str = "tests/exports";

#[test]
fn an_order_without_amount_is_refused() {
    let refusal = export(Path::new(DIRECTORY), &["17: 9.90", "18"]);

    assert!(matches!(refusal, Err(Refusal::NoAmount { order }) if order == "18"));
}

#[test]
fn orders_are_written() {
    assert_eq!(export(Path::new(DIRECTORY), &["17: 9.90", "18: 4.50"]).expect("exported"), 2);
    assert_eq!(fs::read_to_string("tests/exports/orders.csv").unwrap(), "17;9.90\n18;4.50\n");
}

#[test]
fn swept_twice_is_swept() {
    let directory = Path::new(DIRECTORY);
    sweep(directory).unwrap();

    assert!(!sweep(directory).unwrap());
}

#[test]
fn unknown_directories_are_refused() {
    assert!(matches!(export(Path::new("tests/nowhere"), &[]), Err(Refusal::Disk(_))));
}
