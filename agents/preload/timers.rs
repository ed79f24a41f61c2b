//! Timers that expire by signal or through a file descriptor.

use core::ffi::{c_int, c_uint, c_void};
use core::sync::atomic::{AtomicU8, AtomicUsize, Ordering::Relaxed};

use crate::clock::{
    MONOTONIC, REALTIME, real_deadline, to_nanoseconds, to_program_duration, to_real_duration, to_timespec,
};
use crate::real_functions::{Call, interpose, next};
use crate::settings::{CLOCK, SPEED, active};
use crate::system::{Timespec, Timeval};

/// Interval, and time until the first expiration.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct TimerSpec {
    interval: Timespec,
    first: Timespec,
}

#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct IntervalSpec {
    interval: Timeval,
    first: Timeval,
}

/// The clock of a timer plus one: by descriptor, and by timer id.
static FILES: [AtomicU8; 1024] = [const { AtomicU8::new(0) }; 1024];
static TIMERS: [(AtomicUsize, AtomicU8); 64] = [const { (AtomicUsize::new(0), AtomicU8::new(0)) }; 64];

fn clock_of_file(file: c_int) -> c_int {
    let slot = FILES.get(file as usize).map_or(0, |slot| slot.load(Relaxed));
    if slot == 0 { MONOTONIC } else { c_int::from(slot) - 1 }
}

fn clock_of_timer(timer: usize) -> c_int {
    let slot = TIMERS.iter().find(|(id, clock)| id.load(Relaxed) == timer && clock.load(Relaxed) != 0);
    slot.map_or(REALTIME, |(_, clock)| c_int::from(clock.load(Relaxed)) - 1)
}

unsafe fn to_real(clock: c_int, absolute: bool, spec: *const TimerSpec) -> Option<TimerSpec> {
    if active() & CLOCK == 0 || spec.is_null() {
        return None;
    }
    let interval = to_timespec(to_real_duration(to_nanoseconds((*spec).interval)?));
    // All zeros stop a timer.
    let first = match to_nanoseconds((*spec).first)? {
        0 => (*spec).first,
        _ if absolute => real_deadline(clock, &(*spec).first)?,
        length => to_timespec(to_real_duration(length)),
    };
    Some(TimerSpec { interval, first })
}

unsafe fn to_program(spec: *mut TimerSpec) {
    if active() & SPEED != 0
        && !spec.is_null()
        && let (Some(interval), Some(first)) = (to_nanoseconds((*spec).interval), to_nanoseconds((*spec).first))
    {
        *spec = TimerSpec {
            interval: to_timespec(to_program_duration(interval)),
            first: to_timespec(to_program_duration(first)),
        };
    }
}

fn scaled(time: Timeval, by: fn(i64) -> i64) -> Timeval {
    let duration = Timespec { seconds: time.seconds, nanoseconds: time.microseconds * 1_000 };
    let Some(duration) = to_nanoseconds(duration) else { return time };
    // Rounded up: a time that became zero would stop the timer.
    let time = to_timespec((by(duration) + 999) / 1_000 * 1_000);
    Timeval { seconds: time.seconds, microseconds: time.nanoseconds / 1_000 }
}

unsafe fn scale(spec: *mut IntervalSpec, by: fn(i64) -> i64) {
    if !spec.is_null() {
        *spec = IntervalSpec { interval: scaled((*spec).interval, by), first: scaled((*spec).first, by) };
    }
}

const REAL_TIMER: c_int = 0; // ITIMER_REAL; the others count CPU time.
const ABSOLUTE: c_int = 1;

interpose! {
    fn timerfd_create(clock: c_int, flags: c_int) -> c_int, or -1 => |real| {
        let file = real(clock, flags);
        if active() & CLOCK != 0 && let Some(slot) = FILES.get(file as usize) {
            slot.store((clock + 1) as u8, Relaxed);
        }
        file
    };
    fn timerfd_settime(file: c_int, flags: c_int, new: *const TimerSpec, old: *mut TimerSpec) -> c_int, or -1 => |real| {
        let replacement = to_real(clock_of_file(file), flags & ABSOLUTE != 0, new);
        let result = real(file, flags, replacement.as_ref().map_or(new, |replacement| &raw const *replacement), old);
        to_program(old);
        result
    };
    fn timerfd_gettime(file: c_int, into: *mut TimerSpec) -> c_int, or -1 => |real| {
        let result = real(file, into);
        if result == 0 {
            to_program(into);
        }
        result
    };
    fn timer_create(clock: c_int, event: *mut c_void, into: *mut usize) -> c_int, or -1 => |real| {
        let result = real(clock, event, into);
        if active() & CLOCK != 0 && result == 0 {
            let free = |id: &AtomicUsize, clock: &AtomicU8| clock.load(Relaxed) == 0 || id.load(Relaxed) == *into;
            if let Some((id, slot)) = TIMERS.iter().find(|(id, clock)| free(id, clock)) {
                id.store(*into, Relaxed);
                slot.store((clock + 1) as u8, Relaxed);
            }
        }
        result
    };
    fn timer_settime(timer: usize, flags: c_int, new: *const TimerSpec, old: *mut TimerSpec) -> c_int, or -1 => |real| {
        let replacement = to_real(clock_of_timer(timer), flags & ABSOLUTE != 0, new);
        let result = real(timer, flags, replacement.as_ref().map_or(new, |replacement| &raw const *replacement), old);
        to_program(old);
        result
    };
    fn timer_gettime(timer: usize, into: *mut TimerSpec) -> c_int, or -1 => |real| {
        let result = real(timer, into);
        if result == 0 {
            to_program(into);
        }
        result
    };
    fn setitimer(which: c_int, new: *const IntervalSpec, old: *mut IntervalSpec) -> c_int, or -1 => |real| {
        if active() & SPEED == 0 || which != REAL_TIMER || new.is_null() {
            return real(which, new, old);
        }
        let mut replacement = *new;
        scale(&mut replacement, to_real_duration);
        let result = real(which, &replacement, old);
        scale(old, to_program_duration);
        result
    };
    fn getitimer(which: c_int, into: *mut IntervalSpec) -> c_int, or -1 => |real| {
        let result = real(which, into);
        if active() & SPEED != 0 && which == REAL_TIMER && result == 0 {
            scale(into, to_program_duration);
        }
        result
    };
    fn alarm(seconds: c_uint) -> c_uint, or 0 => |real| {
        type Set = unsafe extern "C" fn(c_int, *const IntervalSpec, *mut IntervalSpec) -> c_int;
        let set = core::mem::transmute::<usize, Option<Set>>(next(Call::setitimer));
        let (true, Some(set)) = (active() & SPEED != 0, set) else { return real(seconds) };
        let mut new = IntervalSpec { first: Timeval { seconds: i64::from(seconds), microseconds: 0 }, ..IntervalSpec::default() };
        let mut old = IntervalSpec::default();
        scale(&mut new, to_real_duration);
        set(REAL_TIMER, &new, &mut old);
        scale(&mut old, to_program_duration);
        old.first.seconds as c_uint + c_uint::from(old.first.microseconds > 0)
    };
}
