//! A logger whose level holds for the whole process.

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::Duration;

static LEVEL: AtomicU32 = AtomicU32::new(0);

pub fn set_level(level: u32) {
    LEVEL.store(level, Ordering::Relaxed);
}

pub fn is_enabled(level: u32) -> bool {
    level <= LEVEL.load(Ordering::Relaxed)
}

/// Opens the file that the messages go to.
pub fn open() {
    sleep(Duration::from_micros(300));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_messages_are_written_at_the_level_debug() {
        set_level(2);
        open();
        assert!(is_enabled(2));
    }

    #[test]
    fn debug_messages_are_not_written_at_the_level_error() {
        set_level(1);
        open();
        assert!(!is_enabled(2));
    }

    #[test]
    fn a_file_is_opened() {
        open();
    }

    #[test]
    fn a_file_is_opened_twice() {
        open();
        open();
    }

    #[test]
    fn nothing_is_opened() {}
}
