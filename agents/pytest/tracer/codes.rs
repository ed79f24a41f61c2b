//! Code objects by address. The caller that adds one keeps it alive, so that its address stays unique.

use crate::python::Ref;

pub struct Code {
    pub is_project: bool,
    /// A coroutine or an asynchronous generator.
    pub is_async: bool,
    first_line: usize,
    places: Vec<u32>,
}

/// Ids of lines further from the first line of their code are not cached.
const MAX_LINES: usize = 1 << 20;

impl Code {
    pub fn foreign() -> Code {
        Code { is_project: false, is_async: false, first_line: 0, places: Vec::new() }
    }

    pub fn project(first_line: usize, is_async: bool) -> Code {
        Code { is_project: true, is_async, first_line, places: Vec::new() }
    }

    /// The id of a line; 0 if it has none yet.
    #[inline(always)]
    pub fn place(&self, line: usize) -> u32 {
        self.places.get(line.wrapping_sub(self.first_line)).copied().unwrap_or(0)
    }

    pub fn set_place(&mut self, line: usize, place: u32) {
        let at = line.wrapping_sub(self.first_line);
        if at < MAX_LINES {
            if self.places.len() <= at {
                self.places.resize(at + 1, 0);
            }
            self.places[at] = place;
        }
    }
}

/// A hash table with open addressing: a lookup takes a step or two.
pub struct Codes {
    slots: Vec<(Ref, *mut Code)>,
    used: usize,
}

impl Codes {
    pub const fn new() -> Codes {
        Codes { slots: Vec::new(), used: 0 }
    }

    /// Null if it is not known.
    #[inline(always)]
    pub fn get(&self, code: Ref) -> *mut Code {
        if self.slots.is_empty() {
            return core::ptr::null_mut();
        }
        let mask = self.slots.len() - 1;
        let mut at = hash(code) & mask;
        loop {
            // SAFETY: the mask keeps the index in range, and there is always an empty slot.
            let (key, value) = unsafe { *self.slots.get_unchecked(at) };
            if key == code || key.is_null() {
                return value;
            }
            at = (at + 1) & mask;
        }
    }

    pub fn add(&mut self, key: Ref, code: Code) -> *mut Code {
        if 2 * (self.used + 1) > self.slots.len() {
            let more = (2 * self.slots.len()).max(1024);
            let old = core::mem::replace(&mut self.slots, vec![(core::ptr::null_mut(), core::ptr::null_mut()); more]);
            for (key, value) in old {
                if !key.is_null() {
                    self.put(key, value);
                }
            }
        }
        self.used += 1;
        let code = Box::into_raw(Box::new(code));
        self.put(key, code);
        code
    }

    fn put(&mut self, key: Ref, value: *mut Code) {
        let mask = self.slots.len() - 1;
        let mut at = hash(key) & mask;
        while !self.slots[at].0.is_null() {
            at = (at + 1) & mask;
        }
        self.slots[at] = (key, value);
    }
}

/// Objects are aligned to 16 bytes, so the lowest bits say nothing.
#[inline(always)]
fn hash(code: Ref) -> usize {
    let bits = code as usize >> 4;
    (bits ^ (bits >> 9)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 24
}
