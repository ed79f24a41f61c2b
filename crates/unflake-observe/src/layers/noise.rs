//! What rules replaced, as long as it may turn out that it hid a difference.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::layers::noise_rules::{Mask, Rules};

/// So many texts are kept in mind; what rules hid beyond them is not counted.
const MOST: usize = 200_000;
const SHOWN: usize = 100;

/// What came one after the other in one attempt, as it was and as rules have left it.
#[derive(Default)]
pub(crate) struct Cleaned {
    pub(crate) mask: Mask,
    pub(crate) clean: u64,
    raw: u64,
    /// The first of them, to be shown.
    first: String,
}

#[derive(Default)]
pub(crate) struct Noise {
    /// By test, unit and what was left of it: what it was before, and whether it has been another.
    seen: HashMap<(u32, u64, u64), (u64, String, bool)>,
}

impl Cleaned {
    pub(crate) fn push(&mut self, clean: &str, raw: &str, mask: Mask) {
        self.mask |= mask;
        self.clean = digest(&(self.clean, clean));
        self.raw = digest(&(self.raw, raw));
        if mask != 0 && self.first.len() < SHOWN {
            let comma = if self.first.is_empty() { "" } else { ", " };
            self.first.push_str(comma);
            self.first.push_str(&short(raw));
        }
    }
}

impl Noise {
    /// In an attempt at a test, a unit was this.
    pub(crate) fn hear(&mut self, rules: &mut Rules, test: u32, unit: &str, was: &Cleaned) {
        let key = (test, digest(unit), was.clean);
        if was.mask == 0 || self.seen.len() >= MOST && !self.seen.contains_key(&key) {
            return;
        }
        let before = self.seen.entry(key).or_insert_with(|| (was.raw, was.first.clone(), false));
        if before.0 != was.raw && !before.2 {
            before.2 = true;
            rules.hid(was.mask, &short(unit), &before.1, &was.first);
        }
    }
}

fn short(text: &str) -> String {
    text.chars().take(SHOWN).collect()
}

/// The same for the same in one process; two things have the same by a chance of one in 10¹⁹.
pub(crate) fn digest<T: Hash + ?Sized>(what: &T) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}
