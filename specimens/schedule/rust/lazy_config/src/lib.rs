use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

#[derive(Default)]
pub struct Config {
    value: Mutex<Option<String>>,
    once: OnceLock<String>,
    pub loads: AtomicUsize,
}

impl Config {
    fn load(&self) -> String {
        self.loads.fetch_add(1, Ordering::SeqCst);
        "eu".to_owned()
    }

    /// Checks and loads in two steps.
    pub fn region(&self) -> String {
        let known = self.value.lock().unwrap().clone();
        match known {
            Some(region) => region,
            None => {
                let region = self.load();
                *self.value.lock().unwrap() = Some(region.clone());
                region
            }
        }
    }

    pub fn region_once(&self) -> String {
        self.once.get_or_init(|| self.load()).clone()
    }
}
