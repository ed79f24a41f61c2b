//! The tracing runtime for native code: the functions that instrumented code calls at every place.
//!
//! It does nothing unless `UNFLAKE_TRACE` names a directory. `unflake-observe` documents what it
//! writes. The library does without Rust's standard library: it allocates nothing, has no start-up
//! code, and brings nothing along that the project could also have.

#![no_std]
#![allow(unsafe_op_in_unsafe_fn)] // Every function here has the contract of a C function.

mod delay_points;
mod file_accesses;
mod file_calls;
mod format;
mod process;
mod schedule;
mod system;
mod text;
mod thread;
mod thread_start;

use core::ffi::{c_char, c_int, c_void};

/// Called by clang and Rust builds at every place. A guard is 0 where tracing is off.
///
/// # Safety
/// Called by instrumented code only, with a guard of its own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __sanitizer_cov_trace_pc_guard(guard: *const u32) {
    let id = *guard;
    if id != 0 {
        thread::record(id);
        schedule::step(thread::current(), id);
        delay_points::step(thread::current(), id);
    }
}

/// Called when a program or library is loaded, possibly more than once for the same range.
///
/// # Safety
/// Called by instrumented code only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __sanitizer_cov_trace_pc_guard_init(from: *mut u32, to: *mut u32) {
    if process::is_on() && from < to && *from == 0 {
        process::add_guards(from, to);
    }
}

/// Called after the former, with address and kind of every place of the same range.
///
/// # Safety
/// Called by instrumented code only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __sanitizer_cov_pcs_init(from: *const [usize; 2], to: *const [usize; 2]) {
    if process::is_on() && from < to {
        process::add_places(from, to);
    }
}

/// Called by gcc builds at every place; the return address identifies the place.
///
/// # Safety
/// Called by instrumented code only.
#[cfg(target_arch = "x86_64")]
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn __sanitizer_cov_trace_pc() {
    // Naked, because the return address is at a known location only in the first instruction.
    core::arch::naked_asm!("mov rdi, qword ptr [rsp]", "jmp {}", sym record_call_site)
}

/// # Safety
/// Called by instrumented code only.
#[cfg(target_arch = "aarch64")]
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn __sanitizer_cov_trace_pc() {
    core::arch::naked_asm!("mov x0, x30", "b {}", sym record_call_site)
}

unsafe extern "C" fn record_call_site(address: usize) {
    if process::is_on() {
        let id = process::place_id(address);
        if id != 0 {
            thread::record(id);
            schedule::step(thread::current(), id);
            delay_points::step(thread::current(), id);
        }
    }
}

/// # Safety
/// Called by the program as the libc function of this name, which receives the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_create(
    thread: *mut usize,
    attributes: *const c_void,
    routine: system::Start,
    argument: *mut c_void,
) -> c_int {
    thread_start::create(thread, attributes, routine, argument)
}

/// # Safety
/// Called by the program as the libc function of this name, which receives the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_setname_np(thread: usize, name: *const c_char) -> c_int {
    thread_start::set_name(thread, name)
}

// The loader calls these when the library is loaded and when the process leaves by `exit`.
#[used]
#[unsafe(link_section = ".init_array")]
static ON_LOAD: unsafe extern "C" fn() = on_load;
#[used]
#[unsafe(link_section = ".fini_array")]
static ON_EXIT: unsafe extern "C" fn() = on_exit;

unsafe extern "C" fn on_load() {
    process::is_on();
}

unsafe extern "C" fn on_exit() {
    if process::is_on() {
        file_accesses::record_libraries();
    }
    thread::finish();
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    // SAFETY: does not return.
    unsafe { system::abort() }
}

// Rust's precompiled core library refers to the personality function of its frames. Nothing here
// unwinds, and the symbol must not be visible outside.
#[cfg(target_arch = "x86_64")]
core::arch::global_asm!(".globl rust_eh_personality", ".hidden rust_eh_personality", "rust_eh_personality:", "ud2");
#[cfg(target_arch = "aarch64")]
core::arch::global_asm!(".globl rust_eh_personality", ".hidden rust_eh_personality", "rust_eh_personality:", "brk #1");
