//! Moves the heap and later mappings by distances that follow from a seed. The system gives every
//! process the same layout then, so the seed alone decides it.
//!
//! Distances are as large as those that the system draws, so that a test that depends on a high bit
//! of an address meets both values. Addresses cost no memory, but they count against a limit of the
//! address space: processes with one move less, and one that sets a limit gets them back.

use core::ffi::{c_int, c_void};
use core::mem::transmute;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::Relaxed};

use crate::random_seed::mix;
use crate::real_functions::{Call, interpose, next};
use crate::system::{self, PAGE};

/// Half of 2^40 bytes, in pages. Mappings move by this to twice as much: so a limit that a program
/// sets is either below, and meant for the program alone, or was computed from what it has.
const FAR: u64 = 1 << 27;
/// The heap moves by at most 2^34 bytes.
const HEAP: u64 = 1 << 22;
/// Both under a limit, or where the system has fewer addresses.
const NEAR: u64 = 1 << 10;
/// The heap moves by so many pages at a time, because the system counts each step as used memory
/// until it is unmapped.
const HEAP_STEP: u64 = 1 << 16;
/// The alignment of `malloc`, and by how many steps the heap moves.
const STEP: usize = 16;
const STEPS: u64 = 4096;
/// Blocks of each small size, up to a kilobyte: libraries have used the heap already and left gaps.
const SMALL_SIZES: usize = 64;
const BLOCKS: u64 = 8;

const DATA_LIMIT: c_int = 2; // RLIMIT_DATA
const ADDRESS_LIMIT: c_int = 9; // RLIMIT_AS

/// The last block taken. Each points to the one before, so that leak checkers can reach all.
static TAKEN: AtomicPtr<*mut c_void> = AtomicPtr::new(null_mut());
/// The reserved addresses above all later mappings.
static START: AtomicUsize = AtomicUsize::new(0);
static SIZE: AtomicUsize = AtomicUsize::new(0);

/// Seed 0 leaves everything where the system puts it.
pub fn initialize(seed: u64) {
    if seed == 0 {
        return;
    }
    let part = |part: u64| mix(mix(seed) ^ part);
    let is_limited = system::is_limited(ADDRESS_LIMIT);
    let is_heap_limited = is_limited || system::is_limited(DATA_LIMIT);
    move_heap(part(1) % if is_heap_limited { NEAR } else { HEAP });
    if is_limited || !reserve(FAR + part(2) % FAR) {
        reserve(1 + part(2) % NEAR);
    }
    for size in 1..=SMALL_SIZES {
        for _ in 0..part(size as u64 + 3) % BLOCKS {
            take(size * STEP - size_of::<usize>());
        }
    }
    take((1 + part(3) % STEPS) as usize * STEP);
}

fn move_heap(pages: u64) {
    let mut left = pages;
    while left > 0 && system::move_heap(left.min(HEAP_STEP) as usize * PAGE) {
        left -= left.min(HEAP_STEP);
    }
}

fn reserve(pages: u64) -> bool {
    let size = pages as usize * PAGE;
    let start = system::reserve_addresses(size);
    SIZE.store(size, Relaxed);
    START.store(start.unwrap_or(0), Relaxed);
    start.is_some()
}

/// Gives the reserved addresses back to a program that may have fewer than these.
fn before_limit(resource: c_int, limit: *const u64) {
    // SAFETY: a limit is two numbers, of which the first applies. The range is released once.
    unsafe {
        if resource == ADDRESS_LIMIT && !limit.is_null() && *limit < SIZE.load(Relaxed) as u64 {
            let start = START.swap(0, Relaxed);
            if start != 0 {
                system::release_addresses(start, SIZE.load(Relaxed));
            }
        }
    }
}

/// Takes a part of the heap of the C library for good. A program that brings an allocator of its own
/// may be inside of its first call, and must not be called again.
fn take(size: usize) {
    type Malloc = unsafe extern "C" fn(usize) -> *mut c_void;
    // SAFETY: the function of that name; the block is new and has room for a pointer.
    unsafe {
        let own = transmute::<usize, Option<Malloc>>(next(Call::__libc_malloc)).unwrap_or(system::malloc);
        let block: *mut *mut c_void = own(size).cast();
        if !block.is_null() {
            *block = TAKEN.swap(block, Relaxed).cast();
        }
    }
}

interpose! {
    fn setrlimit(resource: c_int, limit: *const u64) -> c_int, or -1 => |real| {
        before_limit(resource, limit);
        real(resource, limit)
    };
    fn setrlimit64(resource: c_int, limit: *const u64) -> c_int, or -1 => |real| {
        before_limit(resource, limit);
        real(resource, limit)
    };
    fn prlimit(process: c_int, resource: c_int, limit: *const u64, old: *mut u64) -> c_int, or -1 => |real| {
        if process == 0 || process as u32 == system::process_id() {
            before_limit(resource, limit);
        }
        real(process, resource, limit, old)
    };
    fn prlimit64(process: c_int, resource: c_int, limit: *const u64, old: *mut u64) -> c_int, or -1 => |real| {
        if process == 0 || process as u32 == system::process_id() {
            before_limit(resource, limit);
        }
        real(process, resource, limit, old)
    };
}
