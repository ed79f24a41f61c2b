//! Adds up large ledgers on several threads.
use std::sync::Mutex;
use std::thread;

/// The sum of all parts, each of which is added up on a thread of its own.
pub fn total(parts: &[Vec<f64>]) -> f64 {
    let total = Mutex::new(0.0);
    thread::scope(|scope| {
        for part in parts {
            let total = &total;
            scope.spawn(move || {
                let sum: f64 = part.iter().sum();
                *total.lock().unwrap() += sum;
            });
        }
    });
    total.into_inner().unwrap()
}

pub fn mean(parts: &[Vec<f64>]) -> Option<f64> {
    let count: usize = parts.iter().map(Vec::len).sum();
    (count > 0).then(|| total(parts) / count as f64)
}
