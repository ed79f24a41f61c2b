//! Counts the visitors of a hall that has several doors.
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Default)]
pub struct Hall {
    visitors: AtomicU64,
    limit: Option<u64>,
}

impl Hall {
    pub fn with_limit(limit: u64) -> Self {
        Self { visitors: AtomicU64::new(0), limit: Some(limit) }
    }

    /// Lets one visitor in, unless the hall is full.
    pub fn enter(&self) -> bool {
        let inside = self.visitors.load(Ordering::SeqCst);
        if self.limit.is_some_and(|limit| inside >= limit) {
            return false;
        }
        self.visitors.store(inside + 1, Ordering::SeqCst);
        true
    }

    pub fn leave(&self) {
        self.visitors.fetch_sub(1, Ordering::SeqCst);
    }

    pub fn visitors(&self) -> u64 {
        self.visitors.load(Ordering::SeqCst)
    }
}
