use std::thread;
use std::time::{Duration, Instant};

use short_wait::Counter;

#[test]
fn counts_soon() {
    let counter = Counter::start("two words");
    thread::sleep(Duration::from_millis(200));
    assert_eq!(counter.letters(), 8);
}

#[test]
fn counts_when_waited_for() {
    let mut counter = Counter::start("two words");
    counter.wait();
    assert_eq!(counter.letters(), 8);
}

#[test]
fn starts_fast() {
    let began = Instant::now();
    let mut counter = Counter::start("two words");
    assert!(began.elapsed() < Duration::from_millis(300));
    counter.wait();
}
