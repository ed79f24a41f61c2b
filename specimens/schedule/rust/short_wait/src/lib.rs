use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

/// Counts letters in the background.
pub struct Counter {
    counted: Arc<AtomicUsize>,
    worker: Option<JoinHandle<()>>,
}

impl Counter {
    pub fn start(text: &str) -> Counter {
        let counted = Arc::new(AtomicUsize::new(0));
        let (text, result) = (text.to_owned(), counted.clone());
        let worker = thread::spawn(move || {
            let letters = text.chars().filter(|letter| letter.is_alphabetic()).count();
            result.store(letters, Ordering::SeqCst);
        });
        Counter { counted, worker: Some(worker) }
    }

    pub fn letters(&self) -> usize {
        self.counted.load(Ordering::SeqCst)
    }

    pub fn wait(&mut self) {
        if let Some(worker) = self.worker.take() {
            worker.join().unwrap();
        }
    }
}
