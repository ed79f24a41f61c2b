//! The settings in `UNFLAKE_UNDER`, read once: words separated by `;`, each a name and numbers.
//! `page`, the path of the shared page, is the last, because a path can contain anything.

use core::sync::atomic::{AtomicI64, AtomicPtr, AtomicU32, AtomicU64, Ordering::Relaxed};

use crate::shared_page::{Page, VERSION};
use crate::system::OpenFile;
use crate::{address_layout, program_starts, random_seed, real_functions, system, waits};

pub const READY: u32 = 1 << 31;
const BUSY: u32 = 1 << 30;
/// The clock is shifted or runs at another speed.
pub const CLOCK: u32 = 1;
pub const SPEED: u32 = 1 << 1;
pub const RANDOM: u32 = 1 << 2;
pub const CPU_COUNT: u32 = 1 << 3;
pub const DELAYS: u32 = 1 << 4;
pub const NO_NETWORK: u32 = 1 << 5;
pub const SLOW_NETWORK: u32 = 1 << 6;
pub const DIRECTORY_ORDER: u32 = 1 << 7;
/// unflake wants to know which programs load the shim.
pub const REPORT: u32 = 1 << 8;
/// Python switches threads more often.
pub const SWITCH_INTERVAL: u32 = 1 << 9;

static ACTIVE: AtomicU32 = AtomicU32::new(0);

/// Nanoseconds added to the time of day.
static SHIFT: AtomicI64 = AtomicI64::new(0);
/// Millionths.
pub static RATE: AtomicI64 = AtomicI64::new(RATE_ONE);
pub const RATE_ONE: i64 = 1_000_000;
/// The clocks at the start of the command, from which they run at another speed: time of day,
/// monotonic, boot.
pub static ORIGINS: [AtomicI64; 3] = [const { AtomicI64::new(0) }; 3];
pub static RANDOM_SEED: AtomicU64 = AtomicU64::new(0);
pub static REPORTED_CPUS: AtomicI64 = AtomicI64::new(0);
/// Maximum in nanoseconds, one in how many calls, seed.
pub static DELAY_PARAMETERS: [AtomicU64; 3] = [const { AtomicU64::new(0) }; 3];
/// Nanoseconds.
pub static LATENCY: AtomicI64 = AtomicI64::new(0);
/// 0 sorted, 1 reversed, 2 shuffled; and the seed.
pub static SORT_ORDER: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];
/// Microseconds.
pub static SWITCH_MICROSECONDS: AtomicU64 = AtomicU64::new(0);
static ARMED: AtomicU32 = AtomicU32::new(0);
static PAGE: AtomicPtr<Page> = AtomicPtr::new(core::ptr::null_mut());

/// The active factors as bits. The first call reads the settings.
#[inline(always)]
pub fn active() -> u32 {
    let active = ACTIVE.load(Relaxed);
    if active == 0 { initialize() } else { active }
}

pub fn page() -> Option<&'static Page> {
    // SAFETY: only set to a mapping that lives as long as the process.
    unsafe { PAGE.load(Relaxed).as_ref() }
}

/// Nanoseconds currently added to the time of day.
pub fn shift() -> i64 {
    let rewound = page().map_or(0, |page| page.rewound.load(Relaxed)) as i64;
    SHIFT.load(Relaxed).wrapping_sub(rewound)
}

/// Whether delays are currently on.
pub fn are_delays_on() -> bool {
    ARMED.load(Relaxed) != 0 || page().is_some_and(|page| page.armed.load(Relaxed) != 0)
}

#[cold]
fn initialize() -> u32 {
    if ACTIVE.compare_exchange(0, READY | BUSY, Relaxed, Relaxed).is_err() {
        return READY;
    }
    real_functions::initialize();
    let mut active = READY;
    if let Some(text) = system::env_var(b"UNFLAKE_UNDER\0") {
        active |= parse(text);
        if active & CLOCK != 0 {
            waits::initialize();
        }
        if active & RANDOM != 0 {
            random_seed::initialize();
        }
        if active & REPORT != 0 {
            program_starts::initialize();
        }
    }
    ACTIVE.store(active, Relaxed);
    active
}

fn parse(text: &[u8]) -> u32 {
    let (list, path) = match text.windows(6).position(|part| part == b";page=") {
        Some(index) => (&text[..index], Some(&text[index + 6..])),
        None => (text, None),
    };
    let mut active = 0;
    for setting in list.split(|byte| *byte == b';') {
        let index = setting.iter().position(|byte| *byte == b'=').unwrap_or(setting.len());
        let mut numbers = setting[index..].split(|byte| b"=,".contains(byte)).skip(1).map(parse_number);
        let mut next = || numbers.next().unwrap_or(0);
        match &setting[..index] {
            b"shift" => {
                SHIFT.store(next(), Relaxed);
                active |= CLOCK;
            }
            b"speed" => {
                RATE.store(next().max(1), Relaxed);
                active |= CLOCK | SPEED;
            }
            b"origins" => ORIGINS.iter().for_each(|origin| origin.store(next(), Relaxed)),
            b"random" => {
                RANDOM_SEED.store(next() as u64, Relaxed);
                active |= RANDOM;
            }
            b"addresses" => address_layout::initialize(next() as u64),
            b"cores" => {
                REPORTED_CPUS.store(next(), Relaxed);
                active |= CPU_COUNT;
            }
            b"delays" => {
                DELAY_PARAMETERS.iter().for_each(|part| part.store(next() as u64, Relaxed));
                active |= DELAYS;
            }
            b"armed" => ARMED.store(1, Relaxed),
            b"off" => active |= NO_NETWORK,
            b"slow" => {
                LATENCY.store(next(), Relaxed);
                active |= SLOW_NETWORK;
            }
            b"listing" => {
                SORT_ORDER.iter().for_each(|part| part.store(next() as u64, Relaxed));
                active |= DIRECTORY_ORDER;
            }
            b"turns" => {
                SWITCH_MICROSECONDS.store(next() as u64, Relaxed);
                active |= SWITCH_INTERVAL;
            }
            _ => {}
        }
    }
    match path.and_then(map_page) {
        Some(page) => {
            PAGE.store(page, Relaxed);
            active | REPORT
        }
        None => active,
    }
}

fn map_page(path: &[u8]) -> Option<*mut Page> {
    let mut with_nul = [0; 256];
    with_nul.get_mut(..path.len())?.copy_from_slice(path);
    let page: *mut Page = OpenFile::open(&with_nul, 2)?.map(size_of::<Page>())?.cast();
    // SAFETY: just mapped; unflake has made the file large enough.
    (unsafe { (*page).version.load(Relaxed) } == VERSION).then_some(page)
}

fn parse_number(text: &[u8]) -> i64 {
    let (digits, sign) = text.strip_prefix(b"-").map_or((text, 1), |rest| (rest, -1));
    let value = |sum: i64, digit: &u8| sum.wrapping_mul(10).wrapping_add(i64::from(digit.wrapping_sub(b'0')));
    digits.iter().fold(0, value).wrapping_mul(sign)
}
