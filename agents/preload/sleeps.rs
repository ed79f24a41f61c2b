//! Sleeping: as long as the clock of the program says.

use core::ffi::{c_int, c_uint};

use crate::clock::{MONOTONIC, deadline, length, or, seen_length, to_nanoseconds, to_timespec};
use crate::delays::at_wait;
use crate::real::{Call, next, stand};
use crate::settings::{SPEED, on};
use crate::system::Timespec;

const ABSOLUTE: c_int = 1; // TIMER_ABSTIME
const SECOND: i64 = 1_000_000_000;

/// What is left of a sleep that was interrupted, as the program counts.
unsafe fn left(of: *mut Timespec) {
    if !of.is_null()
        && let Some(real) = to_nanoseconds(*of)
    {
        *of = to_timespec(seen_length(real));
    }
}

stand! {
    fn nanosleep(time: *const Timespec, rest: *mut Timespec) -> c_int, or -1 => |real| {
        at_wait();
        let Some(scaled) = length(time) else { return real(time, rest) };
        let back = real(&scaled, rest);
        if back != 0 {
            left(rest);
        }
        back
    };
    fn clock_nanosleep(clock: c_int, how: c_int, time: *const Timespec, rest: *mut Timespec) -> c_int, or 38 => |real| {
        at_wait();
        if how & ABSOLUTE != 0 {
            return real(clock, how, or(&deadline(clock, time), time), rest);
        }
        let Some(scaled) = length(time) else { return real(clock, how, time, rest) };
        let back = real(clock, how, &scaled, rest);
        if back != 0 {
            left(rest);
        }
        back
    };
    fn usleep(microseconds: c_uint) -> c_int, or -1 => |real| {
        at_wait();
        match length(&to_timespec(i64::from(microseconds) * 1_000)) {
            Some(scaled) => sleep_for(&scaled, core::ptr::null_mut()),
            None => real(microseconds),
        }
    };
    fn sleep(seconds: c_uint) -> c_uint, or seconds => |real| {
        at_wait();
        let Some(scaled) = length(&to_timespec(i64::from(seconds) * SECOND)) else { return real(seconds) };
        let mut rest = Timespec::default();
        match sleep_for(&scaled, &mut rest) {
            0 => 0,
            _ => ((seen_length(to_nanoseconds(rest).unwrap_or(0)) + SECOND - 1) / SECOND) as c_uint,
        }
    };
}

unsafe fn sleep_for(time: &Timespec, rest: *mut Timespec) -> c_int {
    debug_assert!(on() & SPEED != 0);
    type Sleep = unsafe extern "C" fn(c_int, c_int, *const Timespec, *mut Timespec) -> c_int;
    let found = next(Call::clock_nanosleep);
    match core::mem::transmute::<usize, Option<Sleep>>(found).map_or(0, |sleep| sleep(MONOTONIC, 0, time, rest)) {
        0 => 0,
        error => {
            crate::system::set_errno(error);
            -1
        }
    }
}
