//! Delays at sleeps, waits and locks: one in so many calls, drawn from a seed, begins later.

use core::ffi::c_char;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering::Relaxed};

use crate::chance::mix;
use crate::settings::{DELAY, DELAYS, is_armed, on};
use crate::system;

/// Locks are taken a hundred times as often as anything is waited for.
const LOCKS: u64 = 100;

static CALLS: AtomicU64 = AtomicU64::new(0);

#[inline(always)]
pub fn at_wait() {
    if on() & DELAYS != 0 {
        delay(1);
    }
}

/// Only where there is another thread that could use the time.
#[inline(always)]
pub fn at_lock() {
    if on() & DELAYS != 0 && !is_single_threaded() {
        delay(LOCKS);
    }
}

#[cold]
fn delay(rarer: u64) {
    if !is_armed() {
        return;
    }
    let [most, one_in, seed] = DELAY.each_ref().map(|part| part.load(Relaxed));
    let drawn = mix(seed ^ mix(CALLS.fetch_add(1, Relaxed)));
    if drawn % (one_in.max(1) * rarer) == 0 {
        system::pause((mix(drawn) % most.max(1)) as i64);
    }
}

/// As far as the C library knows; older ones do not say.
fn is_single_threaded() -> bool {
    static FLAG: AtomicPtr<c_char> = AtomicPtr::new(null_mut());
    static NONE: c_char = 0;
    let mut flag = FLAG.load(Relaxed);
    if flag.is_null() {
        // SAFETY: a closed name; the variable lives as long as the C library.
        flag = unsafe { system::dlsym(null_mut(), c"__libc_single_threaded".as_ptr()) }.cast();
        flag = if flag.is_null() { (&raw const NONE).cast_mut() } else { flag };
        FLAG.store(flag, Relaxed);
    }
    // SAFETY: as above.
    unsafe { flag.read_volatile() != 0 }
}
