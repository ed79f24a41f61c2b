use std::sync::atomic::Ordering;
use std::thread;

use lazy_config::Config;

fn loads_in_two_threads(ask: fn(&Config) -> String) -> usize {
    let config = Config::default();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| ask(&config));
        }
    });
    config.loads.load(Ordering::SeqCst)
}

#[test]
fn is_loaded_once() {
    assert_eq!(loads_in_two_threads(Config::region), 1);
}

#[test]
fn is_loaded_once_by_a_lock() {
    assert_eq!(loads_in_two_threads(Config::region_once), 1);
}
