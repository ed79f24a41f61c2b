use std::time::{SystemTime, UNIX_EPOCH};

const WINDOW_MILLIS: u128 = 40;

/// The number of the window of time that it is now.
pub fn window() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970");
    (since.as_millis() / WINDOW_MILLIS) as u64
}
