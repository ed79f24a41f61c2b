//! What the clocks say. The time of day is shifted; all clocks but those of CPU time run at another speed, counted from when
//! the command was started, so that all its processes agree.

use core::ffi::c_int;
use core::sync::atomic::Ordering::Relaxed;

use crate::real::stand;
use crate::settings::{CLOCK, ONE, ORIGINS, RATE, SPEED, on, shift};
use crate::system::{Long, Timespec, Timeval};

pub const REALTIME: c_int = 0;
pub const MONOTONIC: c_int = 1;
const SECOND: i64 = 1_000_000_000;
/// Beyond, a time is a way to say "never", and is passed on as it is.
const FAR: i64 = 9_000_000_000;

/// What is added to a clock at its origin, and its origin. None: it is left alone.
fn base(clock: c_int) -> Option<(i64, i64)> {
    let origin = |which: usize| ORIGINS[which].load(Relaxed);
    match clock {
        0 | 5 | 8 | 11 => Some((shift(), origin(0))), // time of day: plain, coarse, alarm, TAI
        1 | 4 | 6 => Some((0, origin(1))),                        // monotonic: plain, raw, coarse
        7 | 9 => Some((0, origin(2))),                            // since boot: plain, alarm
        _ => None,
    }
}

/// A length of real time as the program sees it.
pub fn seen_length(nanoseconds: i64) -> i64 {
    match RATE.load(Relaxed) {
        ONE => nanoseconds,
        rate => clamp(i128::from(nanoseconds) * i128::from(rate) / i128::from(ONE)),
    }
}

/// A length of time that the program means, in real time. Rounded up: nobody is to wake too early.
pub fn real_length(nanoseconds: i64) -> i64 {
    match RATE.load(Relaxed) {
        ONE => nanoseconds,
        rate => clamp((i128::from(nanoseconds) * i128::from(ONE) + i128::from(rate - 1)).div_euclid(i128::from(rate))),
    }
}

fn clamp(number: i128) -> i64 {
    number.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}

pub fn seen(clock: c_int, real: i64) -> i64 {
    match base(clock) {
        Some((shift, origin)) => origin + shift + seen_length(real - origin),
        None => real,
    }
}

/// The moment that the program means by what its clock would say.
pub fn real(clock: c_int, seen: i64) -> i64 {
    match base(clock) {
        Some((shift, origin)) => origin + real_length(seen - shift - origin),
        None => seen,
    }
}

pub fn to_nanoseconds(time: Timespec) -> Option<i64> {
    let fits = (0..FAR).contains(&time.seconds) && (0..SECOND).contains(&time.nanoseconds);
    fits.then(|| time.seconds * SECOND + time.nanoseconds)
}

pub fn to_timespec(nanoseconds: i64) -> Timespec {
    let nanoseconds = nanoseconds.max(0);
    Timespec { seconds: nanoseconds / SECOND, nanoseconds: nanoseconds % SECOND }
}

/// A deadline of the program, as the system is to be told. What makes no sense is passed on, to be refused.
pub unsafe fn deadline(clock: c_int, time: *const Timespec) -> Option<Timespec> {
    if on() & CLOCK == 0 || time.is_null() {
        return None;
    }
    Some(to_timespec(real(clock, to_nanoseconds(*time)?)))
}

/// The same for how long to wait.
pub unsafe fn length(time: *const Timespec) -> Option<Timespec> {
    if on() & SPEED == 0 || time.is_null() {
        return None;
    }
    Some(to_timespec(real_length(to_nanoseconds(*time)?)))
}

/// `other`, where there is one, in place of what the program has given.
pub fn or(other: &Option<Timespec>, given: *const Timespec) -> *const Timespec {
    other.as_ref().map_or(given, |time| &raw const *time)
}

stand! {
    fn clock_gettime(clock: c_int, into: *mut Timespec) -> c_int, or -1 => |real| {
        let back = real(clock, into);
        if on() & CLOCK != 0 && back == 0 {
            let told = (*into).seconds * SECOND + (*into).nanoseconds;
            *into = to_timespec(seen(clock, told));
        }
        back
    };
    fn gettimeofday(into: *mut Timeval, zone: *mut u64) -> c_int, or -1 => |real| {
        let back = real(into, zone);
        if on() & CLOCK != 0 && back == 0 && !into.is_null() {
            let told = to_timespec(seen(REALTIME, (*into).seconds * SECOND + (*into).microseconds * 1_000));
            *into = Timeval { seconds: told.seconds, microseconds: told.nanoseconds / 1_000 };
        }
        back
    };
    fn time(into: *mut i64) -> i64, or -1 => |real| {
        if on() & CLOCK == 0 {
            return real(into);
        }
        let seconds = seen(REALTIME, crate::system::clock(REALTIME)) / SECOND;
        if !into.is_null() {
            *into = seconds;
        }
        seconds
    };
    fn timespec_get(into: *mut Timespec, base: c_int) -> c_int, or 0 => |real| {
        let back = real(into, base);
        if on() & CLOCK != 0 && back == 1 {
            *into = to_timespec(seen(REALTIME, (*into).seconds * SECOND + (*into).nanoseconds));
        }
        back
    };
    // What it gives back is a clock in ticks; what it fills in is CPU time.
    fn times(into: *mut u64) -> Long, or -1 => |real| {
        let back = real(into);
        if on() & SPEED == 0 || back < 0 {
            return back;
        }
        const TICK: i64 = 10_000_000;
        seen(MONOTONIC, crate::system::clock(MONOTONIC)) / TICK
    };
}
