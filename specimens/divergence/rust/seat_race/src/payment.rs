use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const PERIOD: u64 = 30;

/// Asks the bank.
pub fn authorise() {
    thread::sleep(Duration::from_millis(12));
}

/// Guests who come late are let in all at once, at full periods.
pub fn queue_up() {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970").as_millis() as u64;
    thread::sleep(Duration::from_millis(PERIOD - now % PERIOD));
}
