//! What is told in `UNFLAKE_UNDER`, read once: words parted by `;`, each a name and numbers. `page`, the path of the shared
//! page, is the last, because a path may hold anything.

use core::sync::atomic::{AtomicI64, AtomicPtr, AtomicU32, AtomicU64, Ordering::Relaxed};

use crate::page::{Page, VERSION};
use crate::system::File;
use crate::{chance, programs, real, system, waits};

pub const READY: u32 = 1 << 31;
const BUSY: u32 = 1 << 30;
/// The clock is another one: shifted, or of another speed.
pub const CLOCK: u32 = 1;
pub const SPEED: u32 = 1 << 1;
pub const RANDOM: u32 = 1 << 2;
pub const CORES: u32 = 1 << 3;
pub const DELAYS: u32 = 1 << 4;
pub const OFF: u32 = 1 << 5;
pub const SLOW: u32 = 1 << 6;
pub const LISTING: u32 = 1 << 7;
/// Somebody wants to know whom we have reached.
pub const MARK: u32 = 1 << 8;
/// Threads of Python take turns sooner.
pub const TURNS: u32 = 1 << 9;

static ON: AtomicU32 = AtomicU32::new(0);

/// Nanoseconds that are added to the time of day.
static SHIFT: AtomicI64 = AtomicI64::new(0);
/// Millionths.
pub static RATE: AtomicI64 = AtomicI64::new(ONE);
pub const ONE: i64 = 1_000_000;
/// What the clocks said when the command was started, from where on they run at another speed: time of day, monotonic, boot.
pub static ORIGINS: [AtomicI64; 3] = [const { AtomicI64::new(0) }; 3];
pub static RANDOM_SEED: AtomicU64 = AtomicU64::new(0);
pub static CORES_SEEN: AtomicI64 = AtomicI64::new(0);
/// Nanoseconds at most, one in how many, seed.
pub static DELAY: [AtomicU64; 3] = [const { AtomicU64::new(0) }; 3];
/// Nanoseconds.
pub static LATENCY: AtomicI64 = AtomicI64::new(0);
/// 0 sorted, 1 reversed, 2 shuffled; and the seed.
pub static ORDER: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];
/// Microseconds.
pub static TURN: AtomicU64 = AtomicU64::new(0);
static ARMED: AtomicU32 = AtomicU32::new(0);
static PAGE: AtomicPtr<Page> = AtomicPtr::new(core::ptr::null_mut());

/// What is to be done, as bits. The first call finds out.
#[inline(always)]
pub fn on() -> u32 {
    let on = ON.load(Relaxed);
    if on == 0 { come() } else { on }
}

pub fn page() -> Option<&'static Page> {
    // SAFETY: mapped for as long as the process lives, and only ever set to such a mapping.
    unsafe { PAGE.load(Relaxed).as_ref() }
}

/// Nanoseconds that are added to the time of day now.
pub fn shift() -> i64 {
    let rewound = page().map_or(0, |page| page.rewound.load(Relaxed)) as i64;
    SHIFT.load(Relaxed).wrapping_sub(rewound)
}

/// Whether delays are to be made now.
pub fn is_armed() -> bool {
    ARMED.load(Relaxed) != 0 || page().is_some_and(|page| page.armed.load(Relaxed) != 0)
}

#[cold]
fn come() -> u32 {
    if ON.compare_exchange(0, READY | BUSY, Relaxed, Relaxed).is_err() {
        return READY;
    }
    real::come();
    let mut on = READY;
    if let Some(text) = system::variable(b"UNFLAKE_UNDER\0") {
        on |= read(text);
        if on & CLOCK != 0 {
            waits::come();
        }
        if on & RANDOM != 0 {
            chance::come();
        }
        if on & MARK != 0 {
            programs::come();
        }
    }
    ON.store(on, Relaxed);
    on
}

fn read(text: &[u8]) -> u32 {
    let (words, path) = match text.windows(6).position(|part| part == b";page=") {
        Some(at) => (&text[..at], Some(&text[at + 6..])),
        None => (text, None),
    };
    let mut on = 0;
    for word in words.split(|byte| *byte == b';') {
        let at = word.iter().position(|byte| *byte == b'=').unwrap_or(word.len());
        let mut numbers = word[at..].split(|byte| b"=,".contains(byte)).skip(1).map(number);
        let mut next = || numbers.next().unwrap_or(0);
        match &word[..at] {
            b"shift" => {
                SHIFT.store(next(), Relaxed);
                on |= CLOCK;
            }
            b"speed" => {
                RATE.store(next().max(1), Relaxed);
                on |= CLOCK | SPEED;
            }
            b"origins" => ORIGINS.iter().for_each(|origin| origin.store(next(), Relaxed)),
            b"random" => {
                RANDOM_SEED.store(next() as u64, Relaxed);
                on |= RANDOM;
            }
            b"cores" => {
                CORES_SEEN.store(next(), Relaxed);
                on |= CORES;
            }
            b"delays" => {
                DELAY.iter().for_each(|part| part.store(next() as u64, Relaxed));
                on |= DELAYS;
            }
            b"armed" => ARMED.store(1, Relaxed),
            b"off" => on |= OFF,
            b"slow" => {
                LATENCY.store(next(), Relaxed);
                on |= SLOW;
            }
            b"listing" => {
                ORDER.iter().for_each(|part| part.store(next() as u64, Relaxed));
                on |= LISTING;
            }
            b"turns" => {
                TURN.store(next() as u64, Relaxed);
                on |= TURNS;
            }
            _ => {}
        }
    }
    match path.and_then(map) {
        Some(page) => {
            PAGE.store(page, Relaxed);
            on | MARK
        }
        None => on,
    }
}

fn map(path: &[u8]) -> Option<*mut Page> {
    let mut closed = [0; 256];
    closed.get_mut(..path.len())?.copy_from_slice(path);
    let page: *mut Page = File::open(&closed, 2)?.map(size_of::<Page>())?.cast();
    // SAFETY: just mapped; unflake has made the file large enough.
    (unsafe { (*page).version.load(Relaxed) } == VERSION).then_some(page)
}

fn number(text: &[u8]) -> i64 {
    let (digits, sign) = text.strip_prefix(b"-").map_or((text, 1), |rest| (rest, -1));
    let value = |sum: i64, digit: &u8| sum.wrapping_mul(10).wrapping_add(i64::from(digit.wrapping_sub(b'0')));
    digits.iter().fold(0, value).wrapping_mul(sign)
}
