//! Moves the heap and later mappings by distances that follow from a seed. The system gives every
//! process the same layout then, so the seed alone decides it.

use core::ffi::c_void;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use crate::random_seed::mix;
use crate::system;

const PAGE: usize = 4096;
/// So many positions, as with the random layout of the system, in a range that limits permit.
const PAGES: u64 = 1024;
/// The alignment of `malloc`, and by how many steps the heap moves.
const STEP: usize = 16;
const STEPS: u64 = 4096;
/// Blocks of each small size, up to a kilobyte: libraries have used the heap already and left gaps.
const SMALL_SIZES: usize = 64;
const BLOCKS: u64 = 8;

/// The last block taken. Each points to the one before, so that leak checkers can reach all.
static TAKEN: AtomicPtr<*mut c_void> = AtomicPtr::new(null_mut());

/// Seed 0 leaves everything where the system puts it.
pub fn initialize(seed: u64) {
    if seed == 0 {
        return;
    }
    let part = |part: u64| mix(mix(seed) ^ part);
    system::move_heap((part(1) % PAGES) as usize * PAGE);
    system::reserve_addresses((1 + part(2) % PAGES) as usize * PAGE);
    for size in 1..=SMALL_SIZES {
        for _ in 0..part(size as u64 + 3) % BLOCKS {
            take(size * STEP - size_of::<usize>());
        }
    }
    take((1 + part(3) % STEPS) as usize * STEP);
}

/// Takes a part of the heap for good.
fn take(size: usize) {
    // SAFETY: the block is new and has room for a pointer.
    unsafe {
        let block: *mut *mut c_void = system::malloc(size).cast();
        if !block.is_null() {
            *block = TAKEN.swap(block, Relaxed).cast();
        }
    }
}
