//! Detects whether noise rules hid a difference between attempts.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::layers::noise_rules::{Mask, Rules};

/// The maximum number of stored texts; differences beyond it are not counted.
const MAX_TEXTS: usize = 200_000;
const MAX_SHOWN: usize = 100;

/// Consecutive values in one attempt, before and after the noise rules.
#[derive(Default)]
pub(crate) struct CleanedValues {
    pub(crate) mask: Mask,
    pub(crate) clean: u64,
    raw: u64,
    /// The beginning of the raw values, for display.
    first: String,
}

#[derive(Default)]
pub(crate) struct NoiseTracker {
    /// By test, unit and cleaned value: the first raw value, and whether another one followed.
    seen: HashMap<(u32, u64, u64), (u64, String, bool)>,
}

impl CleanedValues {
    pub(crate) fn push(&mut self, clean: &str, raw: &str, mask: Mask) {
        self.mask |= mask;
        self.clean = digest(&(self.clean, clean));
        self.raw = digest(&(self.raw, raw));
        if mask != 0 && self.first.len() < MAX_SHOWN {
            let comma = if self.first.is_empty() { "" } else { ", " };
            self.first.push_str(comma);
            self.first.push_str(&short(raw));
        }
    }
}

impl NoiseTracker {
    /// Adds the value of a unit in an attempt at a test.
    pub(crate) fn record(&mut self, rules: &mut Rules, test: u32, unit: &str, values: &CleanedValues) {
        let key = (test, digest(unit), values.clean);
        if values.mask == 0 || self.seen.len() >= MAX_TEXTS && !self.seen.contains_key(&key) {
            return;
        }
        let before = self.seen.entry(key).or_insert_with(|| (values.raw, values.first.clone(), false));
        if before.0 != values.raw && !before.2 {
            before.2 = true;
            rules.hid(values.mask, &short(unit), &before.1, &values.first);
        }
    }
}

fn short(text: &str) -> String {
    text.chars().take(MAX_SHOWN).collect()
}

/// Stable within one process; the collision probability is one in 10¹⁹.
pub(crate) fn digest<T: Hash + ?Sized>(what: &T) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}
