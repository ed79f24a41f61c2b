//! Delays before sleeps, waits and locks, and after a thread was started or changed what all of them
//! share: a random fraction of the calls, drawn from a seed.

use core::ffi::c_char;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering::Relaxed};

use crate::random_seed::mix;
use crate::settings::{DELAY_PARAMETERS, DELAYS, active, are_delays_on};
use crate::system;

/// Locks are about a hundred times as frequent as waits.
const LOCK_RARITY: u64 = 100;

static CALLS: AtomicU64 = AtomicU64::new(0);

#[inline(always)]
pub fn delay_wait() {
    if active() & DELAYS != 0 {
        delay(1);
    }
}

/// Only delays where another thread could use the time.
#[inline(always)]
pub fn delay_lock() {
    if active() & DELAYS != 0 && !is_single_threaded() {
        delay(LOCK_RARITY);
    }
}

/// After a change that other threads see. The error of the call is kept.
#[inline(always)]
pub fn delay_change() {
    if active() & DELAYS != 0 && !is_single_threaded() {
        delay(1);
    }
}

#[cold]
fn delay(rarity: u64) {
    if !are_delays_on() {
        return;
    }
    let [max_nanoseconds, one_in, seed] = DELAY_PARAMETERS.each_ref().map(|part| part.load(Relaxed));
    let random = mix(seed ^ mix(CALLS.fetch_add(1, Relaxed)));
    if random % (one_in.max(1) * rarity) == 0 {
        system::sleep((mix(random) % max_nanoseconds.max(1)) as i64);
    }
}

/// As far as the C library knows; older versions do not say.
fn is_single_threaded() -> bool {
    static FLAG: AtomicPtr<c_char> = AtomicPtr::new(null_mut());
    static NONE: c_char = 0;
    let mut flag = FLAG.load(Relaxed);
    if flag.is_null() {
        // SAFETY: the name is NUL-terminated; the variable lives as long as the C library.
        flag = unsafe { system::dlsym(null_mut(), c"__libc_single_threaded".as_ptr()) }.cast();
        flag = if flag.is_null() { (&raw const NONE).cast_mut() } else { flag };
        FLAG.store(flag, Relaxed);
    }
    // SAFETY: see above.
    unsafe { flag.read_volatile() != 0 }
}
