//! Clocks as the program sees them. The time of day is shifted; all clocks except those of CPU time
//! run at another speed, measured from the start of the command, so that all its processes agree.

use core::ffi::c_int;
use core::sync::atomic::Ordering::Relaxed;

use crate::real_functions::interpose;
use crate::settings::{CLOCK, ORIGINS, RATE, RATE_ONE, SPEED, active, shift};
use crate::system::{Long, Timespec, Timeval};

pub const REALTIME: c_int = 0;
pub const MONOTONIC: c_int = 1;
pub const SECOND: i64 = 1_000_000_000;
/// Later times mean "never" and are passed on unchanged.
const MAX_SECONDS: i64 = 9_000_000_000;

/// Shift and origin of a clock. None: the clock is not changed.
fn base(clock: c_int) -> Option<(i64, i64)> {
    let origin = |which: usize| ORIGINS[which].load(Relaxed);
    match clock {
        0 | 5 | 8 | 11 => Some((shift(), origin(0))), // time of day: plain, coarse, alarm, TAI
        1 | 4 | 6 => Some((0, origin(1))),            // monotonic: plain, raw, coarse
        7 | 9 => Some((0, origin(2))),                // since boot: plain, alarm
        _ => None,
    }
}

/// Converts a real duration to the program's.
pub fn to_program_duration(nanoseconds: i64) -> i64 {
    match RATE.load(Relaxed) {
        RATE_ONE => nanoseconds,
        rate => clamp(i128::from(nanoseconds) * i128::from(rate) / i128::from(RATE_ONE)),
    }
}

/// Converts a duration of the program to a real one. Rounded up, so that no wait ends too early.
pub fn to_real_duration(nanoseconds: i64) -> i64 {
    match RATE.load(Relaxed) {
        RATE_ONE => nanoseconds,
        rate => {
            clamp((i128::from(nanoseconds) * i128::from(RATE_ONE) + i128::from(rate - 1)).div_euclid(i128::from(rate)))
        }
    }
}

fn clamp(number: i128) -> i64 {
    number.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}

pub fn to_program_time(clock: c_int, real: i64) -> i64 {
    match base(clock) {
        Some((shift, origin)) => origin + shift + to_program_duration(real - origin),
        None => real,
    }
}

/// Converts a time of the program's clock to a real one.
pub fn to_real_time(clock: c_int, seen: i64) -> i64 {
    match base(clock) {
        Some((shift, origin)) => origin + to_real_duration(seen - shift - origin),
        None => seen,
    }
}

pub fn to_nanoseconds(time: Timespec) -> Option<i64> {
    let fits = (0..MAX_SECONDS).contains(&time.seconds) && (0..SECOND).contains(&time.nanoseconds);
    fits.then(|| time.seconds * SECOND + time.nanoseconds)
}

pub fn to_timespec(nanoseconds: i64) -> Timespec {
    let nanoseconds = nanoseconds.max(0);
    Timespec { seconds: nanoseconds / SECOND, nanoseconds: nanoseconds % SECOND }
}

/// A deadline of the program for the kernel. Invalid times are passed on, to be rejected there.
pub unsafe fn real_deadline(clock: c_int, time: *const Timespec) -> Option<Timespec> {
    if active() & CLOCK == 0 || time.is_null() {
        return None;
    }
    Some(to_timespec(to_real_time(clock, to_nanoseconds(*time)?)))
}

/// A timeout of the program for the kernel.
pub unsafe fn real_timeout(time: *const Timespec) -> Option<Timespec> {
    if active() & SPEED == 0 || time.is_null() {
        return None;
    }
    Some(to_timespec(to_real_duration(to_nanoseconds(*time)?)))
}

/// The replacement, or the given time if there is none.
pub fn or_given(replacement: &Option<Timespec>, given: *const Timespec) -> *const Timespec {
    replacement.as_ref().map_or(given, |time| &raw const *time)
}

interpose! {
    fn clock_gettime(clock: c_int, into: *mut Timespec) -> c_int, or -1 => |real| {
        let result = real(clock, into);
        if active() & CLOCK != 0 && result == 0 {
            let time = (*into).seconds * SECOND + (*into).nanoseconds;
            *into = to_timespec(to_program_time(clock, time));
        }
        result
    };
    fn gettimeofday(into: *mut Timeval, zone: *mut u64) -> c_int, or -1 => |real| {
        let result = real(into, zone);
        if active() & CLOCK != 0 && result == 0 && !into.is_null() {
            let time = to_timespec(to_program_time(REALTIME, (*into).seconds * SECOND + (*into).microseconds * 1_000));
            *into = Timeval { seconds: time.seconds, microseconds: time.nanoseconds / 1_000 };
        }
        result
    };
    fn time(into: *mut i64) -> i64, or -1 => |real| {
        if active() & CLOCK == 0 {
            return real(into);
        }
        let seconds = to_program_time(REALTIME, crate::system::clock(REALTIME)) / SECOND;
        if !into.is_null() {
            *into = seconds;
        }
        seconds
    };
    fn timespec_get(into: *mut Timespec, base: c_int) -> c_int, or 0 => |real| {
        let result = real(into, base);
        if active() & CLOCK != 0 && result == 1 {
            *into = to_timespec(to_program_time(REALTIME, (*into).seconds * SECOND + (*into).nanoseconds));
        }
        result
    };
    // The result is a clock in ticks; the filled-in times are CPU time.
    fn times(into: *mut u64) -> Long, or -1 => |real| {
        let result = real(into);
        if active() & SPEED == 0 || result < 0 {
            return result;
        }
        const TICK: i64 = 10_000_000;
        to_program_time(MONOTONIC, crate::system::clock(MONOTONIC)) / TICK
    };
}
