use std::path::Path;
use std::thread;
use std::time::Duration;

use parcels::{label, Carrier};

#[test]
fn a_parcel_is_announced() {
    let carrier = Carrier::new(Path::new("tests/carrier"));
    carrier.announce("17");
    thread::sleep(Duration::from_secs(1));

    assert_eq!(carrier.announced(), ["17"], "not announced yet");
}

#[test]
fn nothing_is_announced_by_itself() {
    assert!(Carrier::new(Path::new("tests/carrier")).announced().is_empty());
}

#[test]
fn the_label_is_in_capitals() {
    assert_eq!(label("ana", 1500), "ANA (1.500 kg)");
}

#[test]
fn light_parcels_have_zeros() {
    assert_eq!(label("ben", 40), "BEN (0.040 kg)");
}
