//! Delays at given places: a thread sleeps when it is about to run through one for the nth time.
//!
//! `UNFLAKE_DELAY_AT` has them as addresses in files, because this library knows no lines:
//! `POINT,SIZE,FROM,TO,TIME,MICROSECONDS,THREAD;…`. A point may have several ranges of addresses. `SIZE`
//! is that of the program or library. `TIME` 0 means every time. `THREAD` is `main`, or `main.0.2` for the
//! third thread that the first thread of the main thread created, or `*` for all of them.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use crate::format::STEPS;
use crate::process;
use crate::system;
use crate::thread::Thread;

/// Points in all, whose executions each thread counts, and ranges of addresses.
pub const POINTS: usize = 32;
const RANGES: usize = 256;
/// Microseconds that all delays together take in one process.
const LIMIT: u64 = 20_000_000;
const ANY: u32 = u32::MAX;

static KNOWN: KnownRanges = KnownRanges(UnsafeCell::new([AddressRange::NONE; RANGES]));
static COUNT: AtomicUsize = AtomicUsize::new(0);
static SPENT: AtomicU64 = AtomicU64::new(0);

/// Written before `COUNT`, while the process has one thread.
struct KnownRanges(UnsafeCell<[AddressRange; RANGES]>);
// SAFETY: see above.
unsafe impl Sync for KnownRanges {}

#[derive(Clone, Copy)]
struct AddressRange {
    point: usize,
    size: u64,
    from: u64,
    to: u64,
    time: u32,
    microseconds: u64,
    depth: u32,
    steps: [u32; STEPS],
}

impl AddressRange {
    const NONE: AddressRange =
        AddressRange { point: 0, size: 0, from: 0, to: 0, time: 0, microseconds: 0, depth: ANY, steps: [0; STEPS] };

    fn parse(text: &[u8]) -> Option<AddressRange> {
        let mut fields = text.split(|byte| *byte == b',');
        let [point, size, from, to, time, microseconds] = [0; 6].map(|_| fields.next().map_or(u64::MAX, number));
        let thread = fields.next()?;
        let mut range = AddressRange { point: point as usize, size, from, to, time: time as u32, microseconds, ..AddressRange::NONE };
        if thread != b"*" {
            let mut steps = thread.split(|byte| *byte == b'.').skip(1);
            range.depth = 0;
            for step in steps.by_ref().take(STEPS) {
                range.steps[range.depth as usize] = number(step) as u32;
                range.depth += 1;
            }
        }
        (range.point < POINTS).then_some(range)
    }

    unsafe fn is_on(&self, thread: *const Thread) -> bool {
        let depth = (*thread).depth;
        self.depth == ANY
            || self.depth == depth && self.steps[..depth as usize] == (&(*thread).steps)[..depth as usize]
    }
}

fn number(digits: &[u8]) -> u64 {
    let digit = |sum: u64, digit: &u8| sum.wrapping_mul(10).wrapping_add(u64::from(digit.wrapping_sub(b'0')));
    digits.iter().fold(0, digit)
}

/// Reads the settings, the value of `UNFLAKE_DELAY_AT`.
///
/// # Safety
/// Called once, before a second thread exists.
pub unsafe fn initialize(text: &[u8]) {
    let mut count = 0;
    for range in text.split(|byte| *byte == b';').filter_map(AddressRange::parse).take(RANGES) {
        (&mut *KNOWN.0.get())[count] = range;
        count += 1;
    }
    COUNT.store(count, Relaxed);
}

/// The thread runs through a place.
///
/// # Safety
/// `thread` is the current thread's.
#[inline(always)]
pub unsafe fn step(thread: *mut Thread, place: u32) {
    let count = COUNT.load(Relaxed);
    if count > 0 {
        compare(thread, place, count);
    }
}

#[inline(never)]
unsafe fn compare(thread: *mut Thread, place: u32, count: usize) {
    let Some((size, address)) = process::file_address(place) else { return };
    for range in &(&*KNOWN.0.get())[..count] {
        if range.size != size || !(range.from..range.to).contains(&address) || !range.is_on(thread) {
            continue;
        }
        let times = &raw mut (*thread).passed[range.point];
        *times = (*times).saturating_add(1);
        let is_due = range.time == 0 || u32::from(*times) == range.time;
        if is_due && SPENT.fetch_add(range.microseconds, Relaxed) < LIMIT {
            system::sleep(range.microseconds);
        }
    }
}
