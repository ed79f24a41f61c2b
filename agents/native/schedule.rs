//! Schedules: threads sleep at places that a seed chooses, so that their order changes.
//!
//! `UNFLAKE_UNDER` has the seed and the rate, as for the other parts of a world. What a thread does
//! follows from the seed, its ancestry and how many places it has run through, never from the numbers
//! of places, which another build gives otherwise: an equal run has equal delays. Single
//! threads are not delayed, unless the settings say so: some thread must have created another and run on.

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};

use crate::format::STEPS;
use crate::system;
use crate::thread::Thread;

/// One in so many places is a change point, where no rate is given.
const RATES: [u64; 6] = [2, 4, 10, 30, 100, 400];
/// Microseconds. All together are at most LIMIT in one process.
const DELAYS: [u64; 3] = [1_000, 4_000, 15_000];
const LIMIT: u64 = 1_000_000;
/// With half of the seeds some threads are not delayed at all.
const THREAD_FACTORS: [u64; 4] = [0, 0, 1, 2];
/// One in so many places is a change point when a thread first runs through it.
const PLACE_RATES: [u64; 3] = [2, 4, 8];
/// Bits of what threads have run through, by hash.
const SEEN_BITS: usize = 1 << 19;

static IS_ON: AtomicBool = AtomicBool::new(false);
static SEED: AtomicU64 = AtomicU64::new(0);
static RATE: AtomicU64 = AtomicU64::new(0);
static IS_CONCURRENT: AtomicBool = AtomicBool::new(false);
/// The thread whose delays those have that the main thread creates, counted from 1. 0: each its own.
static LONE: AtomicU32 = AtomicU32::new(0);
static SPENT: AtomicU64 = AtomicU64::new(0);
static SEEN: [AtomicU32; SEEN_BITS / 32] = [const { AtomicU32::new(0) }; SEEN_BITS / 32];

/// What the schedule knows of a thread.
#[repr(C)]
pub struct ScheduledThread {
    /// 0: not known yet.
    identity: u64,
    random: u64,
    remaining: u64,
    /// Microseconds; 0: this thread is not delayed.
    delay: u64,
    /// 0: first executions are not special.
    place_rate: u64,
    /// How many different places it has run through.
    places: u64,
    rate: u64,
}

/// Reads the settings. `under` is the value of `UNFLAKE_UNDER`.
pub fn initialize(under: &[u8]) {
    let end = under.windows(6).position(|part| part == b";page=").unwrap_or(under.len());
    let found = under[..end].split(|byte| *byte == b';').find_map(|word| word.strip_prefix(b"schedule="));
    let Some(numbers) = found else { return };
    let mut numbers = numbers.split(|byte| *byte == b',').map(|digits| {
        let digit = |sum: u64, digit: &u8| sum.wrapping_mul(10).wrapping_add(u64::from(digit.wrapping_sub(b'0')));
        digits.iter().fold(0, digit)
    });
    SEED.store(numbers.next().unwrap_or(0), Relaxed);
    RATE.store(numbers.next().unwrap_or(0), Relaxed);
    let from_start = under[..end].split(|byte| *byte == b';').find_map(|word| word.strip_prefix(b"from-start="));
    let number = |sum: u32, digit: &u8| sum.wrapping_mul(10).wrapping_add(u32::from(digit.wrapping_sub(b'0')));
    let thread = from_start.map_or(0, |digits| digits.iter().fold(0, number));
    LONE.store(thread, Relaxed);
    IS_CONCURRENT.store(from_start.is_some(), Relaxed);
    IS_ON.store(true, Relaxed);
}

/// The thread runs through a place.
///
/// # Safety
/// `thread` is the current thread's.
#[inline(always)]
pub unsafe fn step(thread: *mut Thread, place: u32) {
    if IS_ON.load(Relaxed) {
        consider(thread, place);
    }
}

#[inline(never)]
unsafe fn consider(thread: *mut Thread, place: u32) {
    if (*thread).children > 0 && !IS_CONCURRENT.load(Relaxed) {
        IS_CONCURRENT.store(true, Relaxed);
    }
    if !IS_CONCURRENT.load(Relaxed) {
        return;
    }
    let depth = ((*thread).depth as usize).min(STEPS);
    let state = &raw mut (*thread).schedule;
    if (*state).identity == 0 {
        let lone = [LONE.load(Relaxed).wrapping_sub(1)];
        let is_lone = depth == 1 && lone[0] != u32::MAX;
        let ancestry: &[u32] = if is_lone { &lone } else { &(&(*thread).steps)[..depth] };
        state.write(ScheduledThread::new(ancestry));
    }
    if (*state).delay > 0 && (*state).is_change_point(place) {
        if SPENT.fetch_add((*state).delay, Relaxed) < LIMIT {
            system::sleep((*state).delay);
        }
    }
}

impl ScheduledThread {
    fn new(ancestry: &[u32]) -> ScheduledThread {
        let (seed, given) = (SEED.load(Relaxed), RATE.load(Relaxed));
        let drawn = mix(seed ^ 0x7363_6865_6475_6c65);
        let pick = |list: &[u64], by: u64| list[(by % list.len() as u64) as usize];
        let identity = ancestry.iter().fold(mix(seed), |hash, step| mix(hash ^ (u64::from(*step) + 1))) | 1;
        let factor = if drawn >> 48 & 1 == 0 { 1 } else { pick(&THREAD_FACTORS, mix(identity)) };
        let rate = if given > 0 { given } else { pick(&RATES, drawn) };
        let mut thread = ScheduledThread {
            identity,
            random: identity,
            remaining: 0,
            delay: pick(&DELAYS, drawn >> 16) * factor,
            place_rate: if given > 0 { 0 } else { pick(&PLACE_RATES, drawn >> 32) },
            places: 0,
            rate,
        };
        thread.remaining = thread.gap();
        thread
    }

    /// A random number of places, `rate` on average.
    fn gap(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        1 + mix(self.random) % (2 * self.rate - 1)
    }

    fn is_change_point(&mut self, place: u32) -> bool {
        let hash = mix(self.identity ^ u64::from(place));
        let bit = (hash >> 16) as usize % SEEN_BITS;
        let mask = 1 << (bit % 32);
        let is_first = self.place_rate > 0 && SEEN[bit / 32].fetch_or(mask, Relaxed) & mask == 0;
        if is_first {
            self.places += 1;
            if mix(self.identity.wrapping_add(self.places)) % self.place_rate == 0 {
                return true;
            }
        }
        self.remaining -= 1;
        if self.remaining > 0 {
            return false;
        }
        self.remaining = self.gap();
        true
    }
}

fn mix(mut value: u64) -> u64 {
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
