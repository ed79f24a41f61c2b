use std::path::Path;
use std::thread;

use webhooks::{deliver, Receiver};

const SPOOL: &str = "tests/spool";

#[test]
fn can_be_opened_again_on_the_same_port() {
    let receiver = Receiver::open(0, Path::new(SPOOL)).unwrap();
    let port = receiver.port();
    receiver.close().unwrap();

    let again = Receiver::open(port, Path::new(SPOOL)).expect("opened again");

    assert_eq!(again.port(), port);
}

#[test]
fn a_delivery_is_received() {
    let receiver = Receiver::open(0, Path::new(SPOOL)).unwrap();
    let port = receiver.port();
    let sender = thread::spawn(move || deliver(port, "order 17 paid").unwrap());

    assert_eq!(receiver.receive().unwrap(), "order 17 paid");
    assert_eq!(sender.join().unwrap(), "thank you");
}

#[test]
fn two_receivers_do_not_share_a_port() {
    let receiver = Receiver::open(0, Path::new(SPOOL)).unwrap();

    assert!(Receiver::open(receiver.port(), Path::new(SPOOL)).is_err());
}
