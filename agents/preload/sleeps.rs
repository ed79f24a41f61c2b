//! Sleeps last as long as the program's clock says.

use core::ffi::{c_int, c_uint};

use crate::clock::{
    MONOTONIC, or_given, real_deadline, real_timeout, to_nanoseconds, to_program_duration, to_timespec,
};
use crate::delays::delay_wait;
use crate::real_functions::{Call, interpose, next};
use crate::settings::{SPEED, active};
use crate::system::Timespec;

const ABSOLUTE: c_int = 1; // TIMER_ABSTIME
const SECOND: i64 = 1_000_000_000;

/// Converts the remaining time of an interrupted sleep.
unsafe fn convert_remaining(time: *mut Timespec) {
    if !time.is_null()
        && let Some(real) = to_nanoseconds(*time)
    {
        *time = to_timespec(to_program_duration(real));
    }
}

interpose! {
    fn nanosleep(time: *const Timespec, remaining: *mut Timespec) -> c_int, or -1 => |real| {
        delay_wait();
        let Some(scaled) = real_timeout(time) else { return real(time, remaining) };
        let result = real(&scaled, remaining);
        if result != 0 {
            convert_remaining(remaining);
        }
        result
    };
    fn clock_nanosleep(clock: c_int, flags: c_int, time: *const Timespec, remaining: *mut Timespec) -> c_int, or 38 => |real| {
        delay_wait();
        if flags & ABSOLUTE != 0 {
            return real(clock, flags, or_given(&real_deadline(clock, time), time), remaining);
        }
        let Some(scaled) = real_timeout(time) else { return real(clock, flags, time, remaining) };
        let result = real(clock, flags, &scaled, remaining);
        if result != 0 {
            convert_remaining(remaining);
        }
        result
    };
    fn usleep(microseconds: c_uint) -> c_int, or -1 => |real| {
        delay_wait();
        match real_timeout(&to_timespec(i64::from(microseconds) * 1_000)) {
            Some(scaled) => sleep_for(&scaled, core::ptr::null_mut()),
            None => real(microseconds),
        }
    };
    fn sleep(seconds: c_uint) -> c_uint, or seconds => |real| {
        delay_wait();
        let Some(scaled) = real_timeout(&to_timespec(i64::from(seconds) * SECOND)) else { return real(seconds) };
        let mut remaining = Timespec::default();
        match sleep_for(&scaled, &mut remaining) {
            0 => 0,
            _ => ((to_program_duration(to_nanoseconds(remaining).unwrap_or(0)) + SECOND - 1) / SECOND) as c_uint,
        }
    };
}

unsafe fn sleep_for(time: &Timespec, remaining: *mut Timespec) -> c_int {
    debug_assert!(active() & SPEED != 0);
    type Sleep = unsafe extern "C" fn(c_int, c_int, *const Timespec, *mut Timespec) -> c_int;
    let found = next(Call::clock_nanosleep);
    match core::mem::transmute::<usize, Option<Sleep>>(found).map_or(0, |sleep| sleep(MONOTONIC, 0, time, remaining)) {
        0 => 0,
        error => {
            crate::system::set_errno(error);
            -1
        }
    }
}
