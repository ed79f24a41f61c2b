//! `syscall`, which programs use where the C library has no function. Everything except time and
//! random bytes is jumped to, so that no frame of this library is on the stack.

use core::ffi::c_int;
use core::mem::transmute;

use crate::clock::{MONOTONIC, REALTIME, or_given, real_deadline, real_timeout};
use crate::random_seed::fill;
use crate::real_functions::{Call, next};
use crate::settings::{CLOCK, RANDOM, active};
use crate::system::Timespec;
use crate::system::numbers::{CLOCK_GETTIME, CLOCK_NANOSLEEP, FUTEX, GETRANDOM, GETTIMEOFDAY, NANOSLEEP};

type System = unsafe extern "C" fn(i64, usize, usize, usize, usize, usize, usize) -> i64;

#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn syscall() {
    #[cfg(target_arch = "x86_64")]
    core::arch::naked_asm!(
        "push rdi", "push rsi", "push rdx", "push rcx", "push r8", "push r9", "sub rsp, 8",
        "call {select}", "mov r11, rax",
        "add rsp, 8", "pop r9", "pop r8", "pop rcx", "pop rdx", "pop rsi", "pop rdi", "jmp r11",
        select = sym select,
    );
    #[cfg(target_arch = "aarch64")]
    core::arch::naked_asm!(
        "stp x29, x30, [sp, #-16]!", "stp x0, x1, [sp, #-16]!", "stp x2, x3, [sp, #-16]!", "stp x4, x5, [sp, #-16]!",
        "stp x6, x7, [sp, #-16]!",
        "bl {select}", "mov x16, x0",
        "ldp x6, x7, [sp], #16", "ldp x4, x5, [sp], #16", "ldp x2, x3, [sp], #16", "ldp x0, x1, [sp], #16",
        "ldp x29, x30, [sp], #16", "br x16",
        select = sym select,
    );
}

unsafe extern "C" fn select(number: i64) -> usize {
    let is_handled = match number {
        GETRANDOM => active() & RANDOM != 0,
        CLOCK_GETTIME | GETTIMEOFDAY | CLOCK_NANOSLEEP | NANOSLEEP | FUTEX => active() & CLOCK != 0,
        _ => false,
    };
    if is_handled { handle as *const () as usize } else { next(Call::syscall) }
}

unsafe extern "C" fn handle(number: i64, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> i64 {
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
            let replacement = futex(b, until);
            system(number, a, b, c, or_given(&replacement, until) as usize, e, f)
        }
        _ => system(number, a, b, c, d, e, f),
    }
}

/// The timeout of a futex wait for the kernel. Other operations use the argument otherwise.
unsafe fn futex(operation: usize, until: *const Timespec) -> Option<Timespec> {
    const CLOCK_REALTIME_FLAG: usize = 256;
    let clock = if operation & CLOCK_REALTIME_FLAG != 0 { REALTIME } else { MONOTONIC };
    match operation & 0x7f {
        0 => real_timeout(until),              // FUTEX_WAIT
        6 => real_deadline(REALTIME, until),   // FUTEX_LOCK_PI
        9 | 13 => real_deadline(clock, until), // FUTEX_WAIT_BITSET, FUTEX_LOCK_PI2
        11 => real_deadline(clock, until),     // FUTEX_WAIT_REQUEUE_PI
        _ => None,
    }
}
