//! Timers that ring: by signal, or through a file.

use core::ffi::{c_int, c_uint, c_void};
use core::sync::atomic::{AtomicU8, AtomicUsize, Ordering::Relaxed};

use crate::clock::{MONOTONIC, REALTIME, deadline, real_length, seen_length, to_nanoseconds, to_timespec};
use crate::real::{Call, next, stand};
use crate::settings::{CLOCK, SPEED, on};
use crate::system::{Timespec, Timeval};

/// How often, and when first.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct Times {
    every: Timespec,
    first: Timespec,
}

#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct Values {
    every: Timeval,
    first: Timeval,
}

/// By which clock a timer goes, plus one: of files by their number, of others in the order in which they are made.
static FILES: [AtomicU8; 1024] = [const { AtomicU8::new(0) }; 1024];
static TIMERS: [(AtomicUsize, AtomicU8); 64] = [const { (AtomicUsize::new(0), AtomicU8::new(0)) }; 64];

fn clock_of_file(file: c_int) -> c_int {
    let kept = FILES.get(file as usize).map_or(0, |kept| kept.load(Relaxed));
    if kept == 0 { MONOTONIC } else { c_int::from(kept) - 1 }
}

fn clock_of_timer(timer: usize) -> c_int {
    let kept = TIMERS.iter().find(|(of, clock)| of.load(Relaxed) == timer && clock.load(Relaxed) != 0);
    kept.map_or(REALTIME, |(_, clock)| c_int::from(clock.load(Relaxed)) - 1)
}

unsafe fn to_real(clock: c_int, absolute: bool, times: *const Times) -> Option<Times> {
    if on() & CLOCK == 0 || times.is_null() {
        return None;
    }
    let every = to_timespec(real_length(to_nanoseconds((*times).every)?));
    // All zero is a timer that is stopped.
    let first = match to_nanoseconds((*times).first)? {
        0 => (*times).first,
        _ if absolute => deadline(clock, &(*times).first)?,
        length => to_timespec(real_length(length)),
    };
    Some(Times { every, first })
}

unsafe fn to_seen(times: *mut Times) {
    if on() & SPEED != 0
        && !times.is_null()
        && let (Some(every), Some(first)) = (to_nanoseconds((*times).every), to_nanoseconds((*times).first))
    {
        *times = Times { every: to_timespec(seen_length(every)), first: to_timespec(seen_length(first)) };
    }
}

fn scaled(time: Timeval, by: fn(i64) -> i64) -> Timeval {
    let given = Timespec { seconds: time.seconds, nanoseconds: time.microseconds * 1_000 };
    let Some(given) = to_nanoseconds(given) else { return time };
    // Rounded up: a time that became zero would stop the timer.
    let time = to_timespec((by(given) + 999) / 1_000 * 1_000);
    Timeval { seconds: time.seconds, microseconds: time.nanoseconds / 1_000 }
}

unsafe fn scale(values: *mut Values, by: fn(i64) -> i64) {
    if !values.is_null() {
        *values = Values { every: scaled((*values).every, by), first: scaled((*values).first, by) };
    }
}

const WALL: c_int = 0; // ITIMER_REAL; the others count CPU time.
const ABSOLUTE: c_int = 1;

stand! {
    fn timerfd_create(clock: c_int, how: c_int) -> c_int, or -1 => |real| {
        let file = real(clock, how);
        if on() & CLOCK != 0 && let Some(kept) = FILES.get(file as usize) {
            kept.store((clock + 1) as u8, Relaxed);
        }
        file
    };
    fn timerfd_settime(file: c_int, how: c_int, new: *const Times, old: *mut Times) -> c_int, or -1 => |real| {
        let other = to_real(clock_of_file(file), how & ABSOLUTE != 0, new);
        let back = real(file, how, other.as_ref().map_or(new, |other| &raw const *other), old);
        to_seen(old);
        back
    };
    fn timerfd_gettime(file: c_int, into: *mut Times) -> c_int, or -1 => |real| {
        let back = real(file, into);
        if back == 0 {
            to_seen(into);
        }
        back
    };
    fn timer_create(clock: c_int, event: *mut c_void, into: *mut usize) -> c_int, or -1 => |real| {
        let back = real(clock, event, into);
        if on() & CLOCK != 0 && back == 0 {
            let free = |of: &AtomicUsize, clock: &AtomicU8| clock.load(Relaxed) == 0 || of.load(Relaxed) == *into;
            if let Some((of, kept)) = TIMERS.iter().find(|(of, clock)| free(of, clock)) {
                of.store(*into, Relaxed);
                kept.store((clock + 1) as u8, Relaxed);
            }
        }
        back
    };
    fn timer_settime(timer: usize, how: c_int, new: *const Times, old: *mut Times) -> c_int, or -1 => |real| {
        let other = to_real(clock_of_timer(timer), how & ABSOLUTE != 0, new);
        let back = real(timer, how, other.as_ref().map_or(new, |other| &raw const *other), old);
        to_seen(old);
        back
    };
    fn timer_gettime(timer: usize, into: *mut Times) -> c_int, or -1 => |real| {
        let back = real(timer, into);
        if back == 0 {
            to_seen(into);
        }
        back
    };
    fn setitimer(which: c_int, new: *const Values, old: *mut Values) -> c_int, or -1 => |real| {
        if on() & SPEED == 0 || which != WALL || new.is_null() {
            return real(which, new, old);
        }
        let mut other = *new;
        scale(&mut other, real_length);
        let back = real(which, &other, old);
        scale(old, seen_length);
        back
    };
    fn getitimer(which: c_int, into: *mut Values) -> c_int, or -1 => |real| {
        let back = real(which, into);
        if on() & SPEED != 0 && which == WALL && back == 0 {
            scale(into, seen_length);
        }
        back
    };
    fn alarm(seconds: c_uint) -> c_uint, or 0 => |real| {
        type Set = unsafe extern "C" fn(c_int, *const Values, *mut Values) -> c_int;
        let set = core::mem::transmute::<usize, Option<Set>>(next(Call::setitimer));
        let (true, Some(set)) = (on() & SPEED != 0, set) else { return real(seconds) };
        let mut new = Values { first: Timeval { seconds: i64::from(seconds), microseconds: 0 }, ..Values::default() };
        let mut old = Values::default();
        scale(&mut new, real_length);
        set(WALL, &new, &mut old);
        scale(&mut old, seen_length);
        old.first.seconds as c_uint + c_uint::from(old.first.microseconds > 0)
    };
}
