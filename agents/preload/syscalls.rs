//! `syscall`, by which programs ask for what the C library has no function for, or had none once. Everything but time and chance
//! is jumped on to, so that nothing of ours is on the stack.

use core::ffi::c_int;
use core::mem::transmute;

use crate::chance::fill;
use crate::clock::{MONOTONIC, REALTIME, deadline, length, or};
use crate::real::{Call, next};
use crate::settings::{CLOCK, RANDOM, on};
use crate::system::Timespec;
use crate::system::numbers::{CLOCK_GETTIME, CLOCK_NANOSLEEP, FUTEX, GETRANDOM, GETTIMEOFDAY, NANOSLEEP};

type System = unsafe extern "C" fn(i64, usize, usize, usize, usize, usize, usize) -> i64;

#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn syscall() {
    #[cfg(target_arch = "x86_64")]
    core::arch::naked_asm!(
        "push rdi", "push rsi", "push rdx", "push rcx", "push r8", "push r9", "sub rsp, 8",
        "call {which}", "mov r11, rax",
        "add rsp, 8", "pop r9", "pop r8", "pop rcx", "pop rdx", "pop rsi", "pop rdi", "jmp r11",
        which = sym which,
    );
    #[cfg(target_arch = "aarch64")]
    core::arch::naked_asm!(
        "stp x29, x30, [sp, #-16]!", "stp x0, x1, [sp, #-16]!", "stp x2, x3, [sp, #-16]!", "stp x4, x5, [sp, #-16]!",
        "stp x6, x7, [sp, #-16]!",
        "bl {which}", "mov x16, x0",
        "ldp x6, x7, [sp], #16", "ldp x4, x5, [sp], #16", "ldp x2, x3, [sp], #16", "ldp x0, x1, [sp], #16",
        "ldp x29, x30, [sp], #16", "br x16",
        which = sym which,
    );
}

unsafe extern "C" fn which(number: i64) -> usize {
    let ours = match number {
        GETRANDOM => on() & RANDOM != 0,
        CLOCK_GETTIME | GETTIMEOFDAY | CLOCK_NANOSLEEP | NANOSLEEP | FUTEX => on() & CLOCK != 0,
        _ => false,
    };
    if ours { answer as *const () as usize } else { next(Call::syscall) }
}

unsafe extern "C" fn answer(number: i64, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> i64 {
    let system: System = transmute(next(Call::syscall));
    match number {
        GETRANDOM => {
            fill(a as *mut u8, b);
            b as i64
        }
        CLOCK_GETTIME => i64::from(crate::clock::clock_gettime(a as c_int, b as *mut Timespec)),
        GETTIMEOFDAY => i64::from(crate::clock::gettimeofday(a as *mut _, b as *mut _)),
        NANOSLEEP => i64::from(crate::sleeps::nanosleep(a as *const Timespec, b as *mut Timespec)),
        CLOCK_NANOSLEEP => match crate::sleeps::clock_nanosleep(a as c_int, b as c_int, c as *const _, d as *mut _) {
            0 => 0,
            error => {
                crate::system::set_errno(error);
                -1
            }
        },
        FUTEX => {
            let until = d as *const Timespec;
            let other = futex(b, until);
            system(number, a, b, c, or(&other, until) as usize, e, f)
        }
        _ => system(number, a, b, c, d, e, f),
    }
}

/// What a wait is to be told instead of its time limit. Other operations have something else in its place.
unsafe fn futex(operation: usize, until: *const Timespec) -> Option<Timespec> {
    const BY_TIME_OF_DAY: usize = 256;
    let clock = if operation & BY_TIME_OF_DAY != 0 { REALTIME } else { MONOTONIC };
    match operation & 0x7f {
        0 => length(until),               // FUTEX_WAIT
        6 => deadline(REALTIME, until),   // FUTEX_LOCK_PI
        9 | 13 => deadline(clock, until), // FUTEX_WAIT_BITSET, FUTEX_LOCK_PI2
        11 => deadline(clock, until),     // FUTEX_WAIT_REQUEUE_PI
        _ => None,
    }
}
